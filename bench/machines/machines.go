// Package machines compares agents that are started through ssh with those that are started in a
// lab's namespaces directly: round trips between the same namespaces must not differ, and what
// the controller exchanges with its agents during a trial must be little.
package machines

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"syscall"
	"time"

	"tare/bench/harness"
	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/facts"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// The bounds: how far round trips may be apart, and the control traffic of a trial in bytes/s.
const (
	mostApart   = 0.02
	mostControl = 2000
)

// blocks is the number of pairs of trials.
const blocks = 20

// pair are the agents of the two ends, and the port of their servers.
type pair struct {
	client, server *agent.Client
	port           uint16
}

// Machines prints the comparison. It fails if a bound is exceeded.
func Machines(ctx context.Context, b harness.Options) (err error) {
	cpus, err := facts.CPUs("/")
	if err != nil {
		return err
	}
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	l, err := lab.Up(lab.Spec{Claim: claim, Label: "machines", MTU: lab.DefaultMTU, Offload: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s, err := startServers(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var pairs [2]pair
	defer func() {
		for _, p := range pairs {
			err = errors.Join(err, p.close())
		}
	}()
	if pairs[0], err = startPair(ctx, claim.ID, direct(l.A.NS), direct(l.B.NS), 7101); err != nil {
		return err
	}
	var far [2]*machine.Machine
	began := time.Now()
	for i, name := range []string{l.A.Name, l.B.Name} {
		if far[i], err = machine.Connect(ctx, claim.ID, name, machine.Address{Host: name}, s.options()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, far[i].Close(context.WithoutCancel(ctx))) }()
	}
	connected := time.Since(began)
	if pairs[1], err = startPair(ctx, claim.ID, far[0].User, far[1].User, 7102); err != nil {
		return err
	}
	started := time.Since(began) - connected
	p := params(b.WatchLong)
	byLab, bySSH, control, err := compare(ctx, s, pairs, p, l.B.Addr[0], cpus)
	if err != nil {
		return err
	}
	ratio, err := stats.Paired(bySSH, byLab)
	if err != nil {
		return err
	}
	whole, err := wholeTrial(ctx, s, pairs[1], p, l.B.Addr[0], cpus)
	if err != nil {
		return err
	}
	lo, hi, _ := ratio.Interval(0.90)
	harness.Title("Agents through ssh, and agents started in the same namespaces (%d pairs of trials of tcp_rr, %s each)", blocks, b.WatchLong)
	harness.Columns("what", "value", "bound")
	fmt.Printf("| round trips, through ssh against started directly | %.4f (90 %% interval %.4f to %.4f) | equal within %.0f %% |\n", ratio.Ratio(), lo, hi, 100*mostApart)
	fmt.Printf("| control traffic during a trial | %.0f B/s | %d B/s |\n", whole, mostControl)
	fmt.Printf("| control traffic during interleaved trials, with the requests of their slices | %.0f B/s | none |\n", control)
	fmt.Printf("| two connections, with a copy of the program each | %.2f s | none |\n", connected.Seconds())
	fmt.Printf("| two agents over them | %.2f s | none |\n\n", started.Seconds())
	if !ratio.Equivalent(mostApart) {
		return fmt.Errorf("round trips are not shown to be equal within %.0f %%: ratio %.4f", 100*mostApart, ratio.Ratio())
	}
	if whole > mostControl {
		return fmt.Errorf("the control traffic during a trial is %.0f B/s, more than %d", whole, mostControl)
	}
	return nil
}

// direct starts agents in a namespace, each in a session of its own, as those of two ssh servers
// are: the kernel divides a busy CPU among sessions first (sched_autogroup).
func direct(ns *linuxnet.NS) transport.Launcher {
	return transport.Local{Start: func(cmd *exec.Cmd) error {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return ns.Start(cmd)
	}}
}

func startPair(ctx context.Context, run string, client, server transport.Launcher, port uint16) (p pair, err error) {
	p.port = port
	if p.client, err = agent.Start(ctx, client, run, "a"); err != nil {
		return p, err
	}
	p.server, err = agent.Start(ctx, server, run, "b")
	return p, err
}

func (p pair) close() error {
	var errs []error
	for _, c := range []*agent.Client{p.client, p.server} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// params is the trial of one pair, in slices.
func params(long time.Duration) traffic.Params {
	const slice = 125 * time.Millisecond
	timed := slice - slice/traffic.SliceWarmup
	return traffic.Params{
		Workload: study.Workload{Kind: "tcp_rr", Streams: 1, RequestSize: 1, ResponseSize: 1, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), NoDelay: new(true), Congestion: harness.Congestion},
		Token:    harness.Token, Warmup: 100 * time.Millisecond, Duration: long, Slice: slice, Rounds: int((long + timed - 1) / timed),
	}
}

// begin begins a trial of a pair, with client and server on one CPU.
func (p pair) begin(ctx context.Context, w traffic.Params, to netip.Addr, cpus []int) (*agent.Trial, error) {
	w.Address = netip.AddrPortFrom(to, p.port).String()
	w.CPU = cpus[len(cpus)-1]
	return agent.Begin(ctx, p.client, p.server, w, w)
}

// compare runs interleaved trials of both pairs. It returns the round trips per second of
// each, and the control traffic of the pair through ssh in bytes/s of its slices.
func compare(ctx context.Context, s *servers, pairs [2]pair, w traffic.Params, to netip.Addr, cpus []int) (byLab, bySSH []float64, control float64, err error) {
	rng := rand.New(rand.NewPCG(1, 2))
	var bytes uint64
	var spent time.Duration
	for range blocks {
		figures, n, took, err := block(ctx, s, pairs, w, to, cpus, rng)
		if err != nil {
			return nil, nil, 0, err
		}
		byLab, bySSH = append(byLab, figures[0]), append(bySSH, figures[1])
		bytes, spent = bytes+n, spent+took
	}
	return byLab, bySSH, float64(bytes) / spent.Seconds(), nil
}

func block(ctx context.Context, s *servers, pairs [2]pair, w traffic.Params, to netip.Addr, cpus []int, rng *rand.Rand) (figures [2]float64, bytes uint64, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*(w.Warmup+2*w.Duration)+harness.TrialGrace)
	defer cancel()
	var trials [2]*agent.Trial
	for i, p := range pairs {
		if trials[i], err = p.begin(ctx, w, to, cpus); err == nil {
			_, err = trials[i].Open(ctx)
		}
		if err != nil {
			return figures, 0, 0, err
		}
	}
	for range w.Rounds {
		for _, i := range rng.Perm(len(pairs)) {
			before, err := s.carried()
			began := time.Now()
			if err == nil {
				_, err = trials[i].Slice(ctx, w.Slice)
			}
			if err != nil {
				return figures, 0, 0, err
			}
			if after, err := s.carried(); err == nil && i == 1 {
				bytes, took = bytes+after-before, took+time.Since(began)
			}
		}
	}
	for i, t := range trials {
		client, server, err := t.Close(ctx)
		if err == nil {
			figures[i], err = rate(w, client, server)
		}
		if err != nil {
			return figures, 0, 0, err
		}
	}
	return figures, bytes, took, nil
}

// rate is the number of round trips per second.
func rate(w traffic.Params, client, server traffic.Report) (float64, error) {
	work, err := workloads.Named(w.Kind)
	if err != nil {
		return 0, err
	}
	metrics, _ := work.Metrics(w, client, server)
	if metrics["transaction_rate"] <= 0 {
		return 0, errors.New("a trial exchanged nothing")
	}
	return metrics["transaction_rate"], nil
}

// The part of a trial without slices in which its control traffic is read: its beginning and its
// end are left out.
const (
	wholeLong  = 6 * time.Second
	wholeAfter = time.Second
	wholeFor   = 4 * time.Second
)

// wholeTrial returns the control traffic of a trial without slices in bytes/s.
func wholeTrial(ctx context.Context, s *servers, p pair, w traffic.Params, to netip.Addr, cpus []int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeLong+harness.TrialGrace)
	defer cancel()
	w.Slice, w.Rounds, w.Duration = 0, 0, wholeLong
	t, err := p.begin(ctx, w, to, cpus)
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := t.Run(ctx)
		ended <- err
	}()
	time.Sleep(wholeAfter)
	before, err1 := s.carried()
	time.Sleep(wholeFor)
	after, err2 := s.carried()
	if err := errors.Join(<-ended, err1, err2); err != nil {
		return 0, err
	}
	return float64(after-before) / wholeFor.Seconds(), nil
}
