package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// fannedIn are requests of three clients of one server, of which one of each client is enough for a proof.
func fannedIn(kind string) study.Workload {
	w := exchanges(kind)
	w.FanIn, w.RequestSize, w.ResponseSize = 3, 16<<10, 16<<10
	if kind == "http" {
		w.KeepAlive, w.Flows = study.On, 2
		w.Slice, w.Warmup, w.Duration = quantity.AtOnce, quantity.WaitOf(200*time.Millisecond), quantity.Duration(time.Second)
	}
	return w
}

// oneServer are the modes of netns, of whose paths only the first pair's server can be started.
type oneServer struct{ netns.Driver }

func (d oneServer) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range p.Pairs[1:] {
		p.Pairs[1+i].Server.Launcher = unneeded{}
	}
	return p, nil
}

type unneeded struct{}

func (unneeded) Launch(context.Context, ...string) (transport.Conn, error) {
	return nil, errors.New("no client needs this server")
}

// Clients in sandboxes of their own have one server, in slices and in one piece: the path is proven, the server answered what all of them asked, and
// the values of the trial are those of all. No other server is started.
func TestFanIn(t *testing.T) {
	t.Parallel()
	modes := []string{"host", "netns/bridge"}
	run, trials := runStudy(t.Context(), t, oneServer{}, modes, func(s *study.Study) {
		s.Workloads = []study.Workload{fannedIn("tcp_rr"), fannedIn("http")}
	}, nil)
	for _, mode := range modes {
		m := modeOf(t, run, mode)
		if m.Status != result.ModeMeasured || m.Proof == nil || !m.Proof.Holds {
			t.Errorf("%s: %s %s, %+v", mode, m.Status, m.Reason, m.Proof)
		}
	}
	valid := 0
	for _, tr := range trials {
		if tr.Status != result.TrialOK {
			continue
		}
		valid++
		slowest, fastest := math.Inf(1), 0.0
		var sent int64
		for i, p := range tr.Pairs {
			slowest, fastest = min(slowest, p.Metrics["transaction_rate"]), max(fastest, p.Metrics["transaction_rate"])
			sent += p.Client.Sent
			if p.Server != nil || p.Metrics["transaction_rate"] <= 0 || p.Metrics["rtt_p50"] <= 0 {
				t.Errorf("%s of %s: client %d: %+v", tr.Workload, tr.Mode, i+1, p)
			}
		}
		must.Equal(t, 3, len(tr.Pairs))
		if all := tr.Metrics["transaction_rate"]; all < 3*slowest*0.9999 || all > 3*fastest*1.0001 {
			t.Errorf("%s of %s: %g/s, and the clients from %g/s to %g/s", tr.Workload, tr.Mode, all, slowest, fastest)
		}
		if tr.Server.Received != sent || tr.Client.Sent != sent {
			t.Errorf("%s of %s: the server received %d bytes, and the clients sent %d", tr.Workload, tr.Mode, tr.Server.Received, sent)
		}
	}
	must.True(t, valid == 4, "trials: %v", outcomes(trials))
}

// elsewhere are the modes of netns, on whose paths the device of the second server shows a part of the traffic.
type elsewhere struct{ netns.Driver }

func (d elsewhere) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	read := p.Snapshot
	p.Snapshot = func(ctx context.Context) (driver.Counters, error) {
		c, err := read(ctx)
		c["b/veth1.rx_bytes"] += c["b/veth0.rx_bytes"] / 3
		return c, err
	}
	return p, nil
}

// Traffic at the server of another pair makes the mode void: the clients did not all have the first one.
func TestFanInElsewhere(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, elsewhere{}, []string{"netns/bridge"}, func(s *study.Study) {
		w := fannedIn("tcp_rr")
		w.Slice, w.Duration = quantity.AtOnce, quantity.Duration(time.Second)
		s.Workloads = []study.Workload{w}
	}, nil)
	m := modeOf(t, run, "netns/bridge")
	must.Equal(t, result.ModeVoid, m.Status)
	must.Contain(t, m.Reason, "counter b/veth1.rx_bytes moved by")
	must.Contain(t, m.Reason, "no traffic is expected there")
	for _, tr := range trials {
		must.True(t, tr.Status != result.TrialOK && len(tr.Metrics) == 0, "%+v", tr)
	}
}

// single are the modes of netns, of which one cannot have several clients of one server.
type single struct{ netns.Driver }

const alone = "its clients share nothing"

func (d single) Modes() []driver.Mode {
	modes := d.Driver.Modes()
	for i := range modes {
		if modes[i].ID == "netns/bridge" {
			modes[i].Cannot = func(w study.Workload, _ traffic.Spec, _ map[string]string) string {
				if w.FanIn <= 1 {
					return ""
				}
				return alone
			}
		}
	}
	return modes
}

// A mode that cannot have several clients of one server is left out of the workload, with the reason.
func TestNoFanIn(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, single{}, []string{"host", "netns/bridge"}, func(s *study.Study) {
		s.Workloads = []study.Workload{exchanges("tcp_rr"), fannedIn("http")}
	}, nil)
	if warned := fmt.Sprint(run.Warnings); !strings.Contains(warned, alone) {
		t.Errorf("warnings: %s", warned)
	}
	for _, tr := range trials {
		must.True(t, tr.Mode == "host" || tr.Workload == "tcp_rr", "a trial of %s in %s", tr.Workload, tr.Mode)
	}
}
