package engines_test

import (
	"slices"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// liveRestoreOff is the variant whose containers end with their engine.
func liveRestoreOff() map[string]string { return map[string]string{"live_restore": study.Off} }

// succeeding builds a mode with an event in which another server takes the place of the first one.
func succeeding(t *testing.T, mode, event string, asked study.Engine) (*drivertest.Setup, driver.Event) {
	t.Helper()
	drivertest.NeedEngine(t)
	o := driver.Order{Mode: mode, Pairs: 2, Engine: asked, Events: []string{event}}
	if event == engines.EngineRestart {
		o.With = liveRestoreOff()
	}
	s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), o))
	return s, must.Get(s.Path.EventNamed(event))(t)
}

// While requests are in progress, the container of the first server is removed and another one publishes its port.
func TestEndpointReplaced(t *testing.T) {
	for _, mode := range []string{"docker/published", "docker/bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			succeeds(t, mode, study.EndpointReplaced, study.Engine{})
		})
	}
}

// While requests are in progress, the engine of the server's host is restarted, its containers end and it starts them again.
func TestEnginesRestartOfContainers(t *testing.T) {
	for _, mode := range []string{"docker/published", "docker/bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			succeeds(t, mode, engines.EngineRestart, study.Engine{})
		})
	}
}

// The same with a current engine, whose rules are of iptables or of nftables, and without its proxies.
func TestEnginesSuccessor(t *testing.T) {
	needCurrent(t)
	for _, asked := range []study.Engine{
		{Lab: study.CurrentEngine}, {Lab: study.CurrentEngine, Firewall: study.FirewallNftables}, {Lab: study.CurrentEngine, UserlandProxy: study.Off},
	} {
		for _, event := range []string{study.EndpointReplaced, engines.EngineRestart} {
			t.Run(event+" "+asked.Firewall+" "+asked.UserlandProxy, func(t *testing.T) {
				t.Parallel()
				succeeds(t, "docker/published", event, asked)
			})
		}
	}
}

func succeeds(t *testing.T, mode, event string, asked study.Engine) {
	t.Helper()
	s, e := succeeding(t, mode, event, asked)
	p := drivertest.Params("http")
	p.KeepAlive = study.Off
	daemon, proxies := engines.Running(t, s.Path)
	must.Do(t, s.Path.Lost())
	r := s.TrialWithEvent(t, e, p, 24*time.Second, false) // a restart may take seconds on a busy machine
	unchanged := map[string]string{study.EndpointReplaced: "b/server/port.published is still ", engines.EngineRestart: " runs as before"}
	must.Fail(t, e.Happened(r.Before, r.Before), unchanged[event])
	idle := r.After
	idle["b/server.successor/veth.tx_bytes"] = 0
	must.Fail(t, e.Happened(r.Before, idle), "b/server.successor/veth.tx_bytes went from 0 to 0")
	r.After = must.Get(e.State(t.Context()))(t)
	must.Do(t, r.Undo(t.Context()))

	one, other := r.Turns()
	seen := r.Client.Window.Event
	if one.Messages == 0 || other.Messages == 0 || seen == nil || seen.Due != r.Due || seen.Gap <= 0 {
		t.Errorf("%d requests answered, and %d in its place: %+v", one.Messages, other.Messages, seen)
	}
	t.Logf("%d requests answered, and %d in its place; a gap of %.3g s, from %.3g s to %.3g s, %d of %d answered, %v",
		one.Messages, other.Messages, seen.Gap, seen.Began, seen.Ended, seen.Answered, seen.Due, seen.Failed)
	newDaemon, newProxies := engines.Running(t, s.Path)
	must.Equal(t, event == engines.EngineRestart, daemon != newDaemon)
	must.True(t, len(newProxies) == len(proxies) && (len(proxies) == 0 || !slices.Equal(proxies, newProxies)), "the proxies were %v and are %v", proxies, newProxies)

	carried := []driver.Carried{driver.CarriedBy(r.Client, r.Server)}
	whole := s.Snapshot(t)
	must.Fail(t, s.Path.Prove(r.Counters, whole, carried), "counter b/")
	for from, of := range e.Elsewhere {
		whole[of] += r.After[from] - r.Before[from]
	}
	must.Do(t, s.Path.Prove(r.Counters, whole, carried))
	must.Fail(t, s.Path.Lost(), "the container of the server has ended in the event, and the mode is set up again")
}

// A container that is not started, or does not get the port, is no replacement, and one that was only made is gone afterwards.
func TestEndpointNotReplaced(t *testing.T) {
	s, e := succeeding(t, "docker/published", study.EndpointReplaced, study.Engine{})
	before := must.Get(e.State(t.Context()))(t)
	undo := must.Get(e.Prepare(t.Context()))(t)
	prepared := must.Get(e.State(t.Context()))(t)
	must.Fail(t, e.Happened(before, prepared), "b/server/port.published is still ")
	must.Do(t, undo(t.Context()))
	must.Equal(t, before, must.Get(e.State(t.Context()))(t))
	must.Do(t, s.Path.Lost())
	_, _, err := s.Trial(t, drivertest.Params("http"), false)
	must.Do(t, err)
}

// Variants without what such an event makes again do not have it, and say why. The setting needs the event.
func TestSuccessorsOfVariants(t *testing.T) {
	i := slices.IndexFunc(engines.Docker{}.Modes(), func(m driver.Mode) bool { return m.ID == "docker/published" })
	m := engines.Docker{}.Modes()[i]
	replaced, restarted := study.Workload{Kind: "http", Event: study.EndpointReplaced}, study.Workload{Kind: "http", Event: engines.EngineRestart}
	for _, c := range []struct {
		of   study.Workload
		with map[string]string
		want string
	}{
		{replaced, nil, ""},
		{restarted, liveRestoreOff(), ""},
		{replaced, map[string]string{"dnat": driver.Off}, "the engine writes the rules again that dnat: off leaves out, for the container that takes the place of another"},
		{replaced, map[string]string{"cgroup": driver.Off}, "the engine starts the server that takes the place of another in the control groups that cgroup: off leaves out"},
		{restarted, map[string]string{"cgroup": driver.Off}, ""},
		{restarted, map[string]string{"cgroup": driver.Off, "live_restore": study.Off}, "the engine starts the server that takes the place of another in the control groups that cgroup: off leaves out"},
		{replaced, map[string]string{"qdisc": "fq"}, "in the event endpoint_replaced the engine makes other devices, to which settings are not applied; leave out qdisc"},
		{study.Workload{Kind: "tcp_rr", Event: study.EndpointReplaced}, nil, "its flows stop with their connections, which are those of the server that is replaced; use http"},
	} {
		must.Equal(t, c.want, m.WhyNot(c.of, traffic.Spec{}, c.with))
	}
	drivertest.NeedEngine(t)
	o := drivertest.Order(t, "docker/published", 1, nil)
	o.With = liveRestoreOff()
	_, err := engines.Docker{}.Provision(t.Context(), o)
	must.FailLine(t, "without the event", err, "docker/published is unsupported here: live_restore decides what lives on in the event engine_restart, which no workload has; leave it out")
}

// Each variant of engine_restart says how its engines run.
func TestLiveRestoreFact(t *testing.T) {
	s, _ := succeeding(t, "docker/published", engines.EngineRestart, study.Engine{})
	must.True(t, slices.Contains(s.Path.Facts, result.Fact{Name: "b live-restore", Value: study.Off}), "%v", s.Path.Facts)
}
