package engines_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"syscall"
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

// restartable builds a mode whose engine can be restarted.
func restartable(t *testing.T, mode string, asked study.Engine) (*drivertest.Setup, driver.Event) {
	t.Helper()
	drivertest.NeedEngine(t)
	s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 1, Engine: asked, Events: []string{engines.EngineRestart}}))
	return s, must.Get(s.Path.EventNamed(engines.EngineRestart))(t)
}

// While requests are in progress, the engine of the server's host is restarted: another dockerd and other proxies run, the containers and
// the agents in them are as before, and the path is proven by rules that the engine has written again, in this trial and in the next one.
func TestEngineRestart(t *testing.T) {
	for _, mode := range []string{"docker/published", "docker/bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			restarts(t, mode, study.Engine{})
		})
	}
}

// The same with a current engine, whose rules are of iptables or of nftables, and without its proxies.
func TestEnginesRestart(t *testing.T) {
	for _, asked := range []study.Engine{
		{Lab: study.CurrentEngine}, {Lab: study.CurrentEngine, Firewall: study.FirewallNftables}, {Lab: study.CurrentEngine, UserlandProxy: study.Off},
	} {
		t.Run(asked.Firewall+" "+asked.UserlandProxy, func(t *testing.T) {
			t.Parallel()
			restarts(t, "docker/published", asked)
		})
	}
}

func restarts(t *testing.T, mode string, asked study.Engine) {
	t.Helper()
	s, e := restartable(t, mode, asked)
	p := drivertest.Params("http")
	p.KeepAlive = study.Off
	daemon, proxies := engines.Running(t, s.Path)
	r := s.TrialWithEvent(t, e, p, 24*time.Second, false) // a restart may take seconds on a busy machine
	must.Fail(t, e.Happened(r.After, r.After), "runs as before")
	must.Fail(t, e.Happened(driver.Counters{"b/container.process_7": 1}, r.After), "b/container.process_7 has ended, and with it the container")
	accepted := maps.Clone(r.After)
	accepted["b/port:5201.accepted_connections"] += 1000
	must.Fail(t, e.Happened(r.Before, accepted), "the rules of port 5201 translated", "connections, and processes of host b accepted")
	kept := maps.Clone(r.After) // connections of which one was opened again, past the rules
	kept["b/port:5201.translated_connections"] = r.Before["b/port:5201.translated_connections"]
	kept["b/port:5201.accepted_connections"]++
	must.Fail(t, e.Happened(r.Before, kept), "the rules of port 5201 translated 0 connections, and processes of host b accepted")
	must.Do(t, r.Undo(t.Context()))
	seen := r.Client.Window.Event
	if seen == nil || seen.Due != r.Due || seen.Gap <= 0 {
		t.Fatalf("%+v", seen)
	}
	t.Logf("a gap of %.3g s, from %.3g s to %.3g s, %d of %d answered, %v", seen.Gap, seen.Began, seen.Ended, seen.Answered, seen.Due, seen.Failed)
	must.Do(t, s.Path.Lost())
	newDaemon, newProxies := engines.Running(t, s.Path)
	must.True(t, daemon != newDaemon, "dockerd is process %d as before", daemon)
	must.True(t, len(newProxies) == len(proxies) && (len(proxies) == 0) == (asked.UserlandProxy == study.Off), "the proxies were %v and are %v", proxies, newProxies)
	must.True(t, len(proxies) == 0 || !slices.Equal(proxies, newProxies), "the proxies are %v as before", proxies)
	whole := s.Snapshot(t)
	for from, of := range e.Elsewhere {
		t.Logf("%d connections were not translated", r.After[from]-r.Before[from])
		whole[of] += r.After[from] - r.Before[from]
	}
	must.Do(t, s.Path.Prove(r.Counters, whole, []driver.Carried{driver.CarriedBy(r.Client, r.Server)}))
	_, _, err := s.Trial(t, p, false)
	must.Do(t, err)
}

// A restart that is not over in time fails, and is over before the next trial. Where the engine does not come back, the path is lost.
func TestEngineRestartLate(t *testing.T) {
	s, e := restartable(t, "docker/published", study.Engine{})
	pid, _ := engines.Running(t, s.Path)
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
	late := func() (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("timed out"))
	}
	ctx, cancel := late()
	defer cancel()
	undo, err := e.Do(ctx)
	must.FailLine(t, "the event", err, "wait for the restarted engine on host b: timed out")
	must.Fail(t, s.Path.Lost(), "the engine on host b has not come back from its restart")
	must.Do(t, syscall.Kill(pid, syscall.SIGCONT))
	must.Do(t, undo(t.Context()))
	must.Do(t, s.Path.Lost())
	_, _, err = s.Trial(t, drivertest.Params("http"), false)
	must.Do(t, err)

	pid, _ = engines.Running(t, s.Path)
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
	ctx, cancel = late()
	defer cancel()
	undo, err = e.Do(ctx)
	must.FailLine(t, "the event", err, "timed out")
	must.Do(t, syscall.Kill(s.Path.Processes()[0], syscall.SIGKILL))
	must.FailLine(t, "the engine", undo(t.Context()), "wait for the restarted engine on host b: the engine on host b ended: ")
	must.Fail(t, s.Path.Lost(), "the engine on host b ended: ")
}

// A variant without the rules that an engine writes again when it is restarted has not the event, and says why.
func TestEngineRestartOfVariants(t *testing.T) {
	for _, m := range (engines.Docker{}).Modes() {
		has := slices.Contains(m.Events, engines.EngineRestart)
		must.EqualFor(t, m.ID, m.ID == "docker/published" || m.ID == "docker/bridge", has)
		if !has {
			continue
		}
		w := study.Workload{Kind: "http", Event: engines.EngineRestart}
		must.Equal(t, "", m.WhyNot(w, traffic.Spec{}, map[string]string{"cgroup": driver.Off, "seccomp": driver.Off}))
		for _, part := range []string{"dnat", "engine_chains"} {
			must.Equal(t, "an engine that is restarted writes the rules again that "+part+": off leaves out", m.WhyNot(w, traffic.Spec{}, map[string]string{part: driver.Off}))
			must.Equal(t, "", m.WhyNot(study.Workload{Kind: "http", Event: driver.PolicyAdded}, traffic.Spec{}, map[string]string{part: driver.Off}))
		}
	}
}

// Without a workload that has the event, the engine cannot be restarted, and it has the settings that it has otherwise.
func TestNoEngineRestart(t *testing.T) {
	drivertest.NeedEngine(t)
	s := drivertest.Provision(t, engines.Docker{}, "docker/published", nil)
	_, err := s.Path.EventNamed(engines.EngineRestart)
	must.Fail(t, err, "it has no event engine_restart, only link_down, policy_added, route_change")
	must.True(t, s.Path.Lost == nil && !slices.ContainsFunc(s.Path.Facts, func(f result.Fact) bool { return f.Name == "b live-restore" }), "it can be restarted: %v", s.Path.Facts)
}
