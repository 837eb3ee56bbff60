package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/runner"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// eventful are the modes of netns with one more event.
type eventful struct {
	netns.Driver
	event driver.Event
}

func (d eventful) Modes() []driver.Mode {
	modes := d.Driver.Modes()
	for i := range modes {
		modes[i].Events = append(modes[i].Events, d.event.Name)
	}
	return modes
}

func (d eventful) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err == nil {
		p.Events = append(p.Events, d.event)
	}
	return p, err
}

// scheduled are requests of a workload with an event, 500 per second.
func scheduled(kind, event string) study.Workload {
	w := exchanges(kind)
	w.ID, w.Flows, w.TransactionRate, w.Event = kind+"_"+event, 4, 500, event
	w.Slice, w.Warmup, w.Duration = quantity.AtOnce, quantity.WaitOf(200*time.Millisecond), quantity.Duration(3*time.Second)
	if kind == "http" {
		w.KeepAlive, w.RequestSize, w.ResponseSize = study.On, 0, 1<<10
	}
	return w
}

// While the link is down nothing is answered, for as long as it is down; requests of a trial without an event have no gap at all. The
// path is proven in both, the link is back for the next trial, a packet filter that is added lets everything through,
// a route that moves leads past the underlay, and when that is lost the rest of the trial is carried by another link.
func TestFaultsEventsOfALab(t *testing.T) {
	t.Parallel()
	modes := []string{"host", "netns/bridge"}
	run, trials := runStudy(t.Context(), t, netns.Driver{}, modes, func(s *study.Study) {
		calm := scheduled("http", "")
		calm.Duration = quantity.Duration(time.Second)
		s.Workloads = []study.Workload{scheduled("http", labdriver.LinkDown), scheduled("tcp_rr", labdriver.LinkDown), scheduled("http", driver.PolicyAdded), scheduled("http", driver.RouteChange), scheduled("http", driver.LinkLost), calm}
	}, nil)
	for _, mode := range modes {
		if m := modeOf(t, run, mode); m.Status != result.ModeMeasured {
			t.Errorf("%s: %s %s", mode, m.Status, m.Reason)
		}
	}
	valid := 0
	for _, tr := range trials {
		if tr.Status != result.TrialOK { // a busy machine takes long to make an event, and has the trial repeated
			must.Contain(t, tr.Reason, ": the event ")
			continue
		}
		valid++
		gap, has := tr.Metrics[result.LongestGap]
		rate, rated := tr.Metrics["transaction_rate"]
		if tr.Workload == "http_" {
			must.True(t, tr.Event == nil && !has && rated, "without an event: %+v, a gap of %g s, %g/s", tr.Event, gap, rate)
			continue
		}
		e := tr.Event
		if e == nil || !has || rated || e.Began <= 0 || e.Ended < e.Began || e.Due != 1500 || len(e.Changed) == 0 {
			t.Errorf("%s of %s: %+v, %v", tr.Workload, tr.Mode, e, tr.Metrics)
			continue
		}
		switch e.Name {
		case labdriver.LinkDown:
			if down := e.Ended - e.Began; gap < 0.2 || down < 0.2 || e.Changed["a/eth0.carrier_changes"] < 2 || e.Changed["b/eth0.carrier_changes"] < 2 {
				t.Errorf("%s of %s: down for %g s, a gap of %g s: %+v", tr.Workload, tr.Mode, down, gap, e)
			}
			if after, known := tr.Metrics[result.Recovery]; known && after < 0.15 {
				t.Errorf("%s of %s: back %g s after the event", tr.Workload, tr.Mode, after)
			}
		case driver.RouteChange: // the kernel ends masqueraded connections
			if e.Changed["a/eth1.tx_packets"] == 0 || e.Changed["b/eth1.rx_packets"] == 0 || tr.Counters["a/eth0.tx_bytes"] == 0 || tr.Mode == "host" && tr.Metrics[result.ConnectionsLost] != 0 {
				t.Errorf("%s of %s: %+v, %v", tr.Workload, tr.Mode, e, tr.Metrics)
			}
		case driver.LinkLost:
			if e.Changed["a/eth0.no_carrier"] != 1 || e.Changed["b/eth0.no_carrier"] != 1 || e.Changed["a/eth1.routes"] == 0 || e.Changed["a/eth1.rx_packets"] == 0 || tr.Mode == "host" && tr.Metrics[result.ConnectionsLost] != 0 {
				t.Errorf("%s of %s: %+v, %v", tr.Workload, tr.Mode, e, tr.Metrics)
			}
		case driver.PolicyAdded:
			delete(e.Failed, "not answered in the trial") // the last ones, on a busy machine; half of all if nothing passed after the event
			if e.Changed["b/policy.rules"] != 1000 || e.Changed["b/policy.passed_packets"] == 0 || len(e.Failed) > 0 || tr.Metrics["loss_ratio"] > 0.4 || tr.Metrics[result.ConnectionsLost] != 0 {
				t.Errorf("%s of %s: %+v, %v", tr.Workload, tr.Mode, e, tr.Metrics)
			}
		}
	}
	must.True(t, valid == 6*len(modes), "trials: %v", outcomes(trials))
}

// The server behind a published port is replaced by another one: each answers in its turn, the path is proven for both, and each trial
// finds the first one again. Of tcp_rr, whose flows would stop, the mode has no result.
func TestFaultsEndpointReplaced(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"netns/published", "host"}, func(s *study.Study) {
		s.Blocks = 2
		s.Workloads = []study.Workload{scheduled("http", study.EndpointReplaced), scheduled("tcp_rr", study.EndpointReplaced), scheduled("http", "")}
	}, nil)
	must.Equal(t, result.ModeMeasured, modeOf(t, run, "netns/published").Status)
	must.Contain(t, fmt.Sprint(run.Warnings), "its flows stop with their connections")
	valid := 0
	for _, tr := range trials {
		if tr.Workload == "http_" {
			continue
		}
		if tr.Status != result.TrialOK { // as above
			must.Contain(t, tr.Reason, ": the event ")
			continue
		}
		valid++
		e := tr.Event
		if tr.Mode != "netns/published" || e == nil || e.Due != 1500 || e.Changed["b/server.answered_requests"] == 0 || e.Changed["b/server2.answered_requests"] == 0 || e.Changed["b/server2/published.rules"] == 0 {
			t.Errorf("%s of %s: %+v", tr.Workload, tr.Mode, e)
		}
		if lost := tr.Metrics[result.ConnectionsLost]; lost < 4 {
			t.Errorf("%g of 4 connections were lost", lost)
		}
	}
	if valid != 2 {
		t.Errorf("trials: %v", outcomes(trials))
	}
}

// A server that ends without another in its place makes the mode void.
func TestFaultsEndpointNotReplaced(t *testing.T) {
	t.Parallel()
	nothing := driver.Event{
		Name: study.EndpointReplaced, Title: "nothing is replaced",
		State:    func(context.Context) (driver.Counters, error) { return driver.Counters{}, nil },
		Do:       func(context.Context) (func(context.Context) error, error) { return nil, nil },
		Happened: func(driver.Counters, driver.Counters) error { return nil },
	}
	run, _ := runStudy(t.Context(), t, eventful{event: nothing}, []string{"host"}, func(s *study.Study) {
		s.Workloads = []study.Workload{scheduled("http", study.EndpointReplaced)}
	}, nil)
	m := modeOf(t, run, "host")
	must.Equal(t, result.ModeVoid, m.Status)
	must.Contain(t, m.Reason, "the event endpoint_replaced did not happen: b answered ")
	must.Contain(t, m.Reason, "b#2 in its place 0")
}

// An event that does nothing makes the mode void, one that is refused or hangs fails it, and each is undone, also in the trial that an
// interruption ends.
func TestEventsThatFail(t *testing.T) {
	t.Parallel()
	var undone atomic.Int64
	undo := func(context.Context) error { undone.Add(1); return nil } //nolint:unparam // it is an undo of an event
	still := func(context.Context) (driver.Counters, error) { return driver.Counters{"a/thing": 7}, nil }
	moved := func(before, after driver.Counters) error { return driver.Moved(before, after, "a/thing", 1) }
	hang := func(ctx context.Context) (func(context.Context) error, error) {
		<-ctx.Done()
		return undo, ctx.Err()
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	for _, c := range []struct {
		name   string
		event  driver.Event
		status result.ModeStatus
		reason string
		undone int64
		limit  time.Duration
	}{
		{"nothing", driver.Event{State: still, Happened: moved, Do: func(context.Context) (func(context.Context) error, error) { return undo, nil }},
			result.ModeVoid, "the event happening did not happen: a/thing went from 7 to 7, not up by 1", 1, 0},
		{"refused", driver.Event{State: still, Happened: moved, Do: func(context.Context) (func(context.Context) error, error) {
			return undo, errors.New("permission denied")
		}}, result.ModeFailed, "make the event happening: permission denied", 2, 0},
		{"hangs", driver.Event{State: still, Happened: moved, Do: hang}, result.ModeFailed, "make the event happening: timed out after 1s", 2, time.Second},
		{"unprepared", driver.Event{Prepare: func(context.Context) (func(context.Context) error, error) {
			return undo, errors.New("no room")
		}}, result.ModeFailed, "prepare the event happening: no room", 2, 0},
		{"prepared, refused", driver.Event{State: still, Prepare: func(context.Context) (func(context.Context) error, error) {
			return func(ctx context.Context) error {
				must.True(t, undone.Load()%2 == 1, "what was prepared is undone before the event")
				return undo(ctx)
			}, nil
		}, Do: func(context.Context) (func(context.Context) error, error) {
			return undo, errors.New("permission denied")
		}}, result.ModeFailed, "make the event happening: permission denied", 4, 0},
		{"no state", driver.Event{State: func(context.Context) (driver.Counters, error) { return nil, errors.New("gone") }}, result.ModeFailed, "read the state before the event happening: gone", 0, 0},
	} {
		undone.Store(0)
		c.event.Name, c.event.Title = "happening", "something happens"
		w := scheduled("http", c.event.Name)
		w.Duration = quantity.Duration(3*time.Second + 3*c.limit) // the event is in its middle
		run, trials := runAs(t.Context(), t, eventful{event: c.event}, []string{"host"}, func(s *study.Study) { s.Workloads = []study.Workload{w} }, nil,
			func(cfg runner.Config) runner.Config { return runner.WithEventLimit(cfg, c.limit) })
		m := modeOf(t, run, "host")
		must.EqualFor(t, c.name, c.status, m.Status)
		must.ContainFor(t, c.name, m.Reason, c.reason)
		must.EqualFor(t, c.name+": undone", c.undone, undone.Load())
		for _, tr := range trials {
			must.True(t, tr.Status != result.TrialOK && len(tr.Metrics) == 0, "%s: %+v", c.name, tr)
		}
	}

	// An interruption during the event ends the run in order, with the event undone and nothing of the trial recorded.
	undone.Store(0)
	w := scheduled("http", "happening")
	run, trials := runStudy(interrupted, t, eventful{event: driver.Event{Name: "happening", State: still, Happened: moved, Do: func(ctx context.Context) (func(context.Context) error, error) {
		interrupt()
		return hang(ctx)
	}}}, []string{"host"}, func(s *study.Study) { s.Workloads = []study.Workload{w} }, nil)
	must.Equal(t, []any{int64(1), 0}, []any{undone.Load(), len(trials)})
	must.Equal(t, result.RunInterrupted, run.Status)
}

// stays is a driver whose event link_lost takes no link down.
type stays struct{ netns.Driver }

func (d stays) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range p.Events {
		if p.Events[i].Name == driver.LinkLost {
			p.Events[i].Do = func(context.Context) (func(context.Context) error, error) { return nil, nil }
		}
	}
	return p, nil
}

// A second link alone is no event: the mode is void if the first one was not lost.
func TestLinkThatStays(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, stays{}, []string{"host"}, func(s *study.Study) {
		s.Workloads = []study.Workload{scheduled("http", driver.LinkLost)}
	}, nil)
	m := modeOf(t, run, "host")
	must.Equal(t, result.ModeVoid, m.Status)
	must.Contain(t, m.Reason, "the event link_lost did not happen: a/eth0.carrier_changes went from")
	must.True(t, !slices.ContainsFunc(trials, func(tr result.Trial) bool { return tr.Status == result.TrialOK }), "trials %v", outcomes(trials))
}

// A mode that lacks the event of a workload is left out of it, with the reason.
func TestModeWithoutTheEvent(t *testing.T) {
	t.Parallel()
	run, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "host-local"}, func(s *study.Study) {
		s.Workloads = []study.Workload{scheduled("tcp_rr", driver.PolicyAdded)}
	}, nil)
	m := modeOf(t, run, "host-local")
	must.Equal(t, result.ModeUnsupported, m.Status)
	must.Contain(t, m.Reason, "it has no event policy_added, and no other")
	must.True(t, len(trials) != 0 && !slices.ContainsFunc(trials, func(tr result.Trial) bool { return tr.Mode != "host" }), "trials %v", outcomes(trials))
}
