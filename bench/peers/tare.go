package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tare/bench/harness"
	"tare/internal/agent"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// trial is the result of a run of tare.
type trial struct {
	metrics        map[string]float64
	client, server traffic.Report
	cpu            time.Duration // of both agents, their starts included
}

// trial runs tare once, with new agents, like a peer. p is complete except for the
// address, the token and the CPUs.
func (s *testbed) trial(ctx context.Context, at cpuPlacement, p traffic.Params) (trial, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Warmup+p.Duration+harness.TrialGrace)
	defer cancel()
	before, err := harness.CPUTime(unix.RUSAGE_CHILDREN)
	if err != nil {
		return trial{}, err
	}
	client, server, err := s.agents(ctx)
	if err != nil {
		return trial{}, err
	}
	p.Token = harness.Token // the congestion control is that of the route, as for peers without an option for it
	t, err := s.drive(ctx, at, p, client, server)
	// Both must end, because the CPU time of a process is known only after waiting for
	// it.
	if err := errors.Join(err, client.Close(), server.Close()); err != nil {
		return trial{}, fmt.Errorf("tare %s: %w", p.Kind, err)
	}
	after, err := harness.CPUTime(unix.RUSAGE_CHILDREN)
	t.cpu = after - before
	return t, err
}

func (s *testbed) drive(ctx context.Context, at cpuPlacement, p traffic.Params, client, server *agent.Client) (t trial, err error) {
	work, err := workloads.Named(p.Kind)
	if err != nil {
		return t, err
	}
	sp := p
	sp.CPU, sp.Address = at.server, net.JoinHostPort(s.target(), "0")
	p.CPU = at.client
	port, err := server.Listen(ctx, sp)
	if err != nil {
		return t, err
	}
	p.Address = net.JoinHostPort(s.target(), strconv.Itoa(int(port)))
	served := make(chan error, 1)
	go func() {
		var err error
		if t.server, err = server.Report(ctx); err == nil {
			// This fails if the client has already ended, and is then not needed.
			_ = client.SendPeerReport(ctx, t.server)
		}
		served <- err
	}()
	if t.client, err = client.Dial(ctx, p); err == nil {
		_ = server.SendPeerReport(ctx, t.client) // the same
	} else {
		_ = server.Abort(ctx) // it would wait until its own time limit
	}
	if serr := <-served; err == nil {
		err = serr
	}
	if got := t.client.Congestion; err == nil && got != "" && got != harness.Congestion {
		err = fmt.Errorf("its connections have congestion control %s, not %s", got, harness.Congestion)
	}
	if err == nil {
		t.metrics, _ = work.Metrics(p, t.client, t.server)
	}
	return t, err
}

// metric is a metric of a run of tare. It is an error if it is missing.
func (t trial) metric(name string) (float64, error) {
	v, ok := t.metrics[name]
	if !ok {
		return 0, fmt.Errorf("tare reported no %s", name)
	}
	return v, nil
}
