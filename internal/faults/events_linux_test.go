//go:build linux

package faults

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// eventful is a run whose trials have events, and what shows that the first of them is in effect.
type eventful struct {
	events   []string
	mode     string   // as a study writes it
	measured []string // modes, each with an event that it has
	inEffect func(*tested) bool
}

// A run that is killed while an event is in effect leaves nothing but what gc removes, keeps the trials that had finished, and goes on
// to its end when it is resumed.
func TestFaultsKilledInEvents(t *testing.T) {
	if !onMachine(t) {
		return
	}
	both := []string{"host link_down", "netns/bridge link_down"}
	killedIn(t, eventful{[]string{"link_down"}, "netns/bridge", both, inAnySpace(func(ns *linuxnet.NS) bool {
		running, err := ns.Links().HasCarrier("eth0")
		return err == nil && !running
	})})
	both = []string{"host policy_added", "netns/bridge policy_added"}
	killedIn(t, eventful{[]string{"policy_added"}, "netns/bridge", both, inAnySpace(func(ns *linuxnet.NS) bool {
		rules, _, err := ns.Rules().Policy()
		return err == nil && rules > 0
	})})
	both = []string{"host route_change", "netns/bridge route_change"}
	killedIn(t, eventful{[]string{"route_change"}, "netns/bridge", both, inAnySpace(func(ns *linuxnet.NS) bool {
		_, err := ns.Links().Stats("eth1")
		return err == nil
	})})
	both = []string{"host link_lost", "netns/bridge link_lost"}
	killedIn(t, eventful{[]string{"link_lost"}, "netns/bridge", both, inAnySpace(func(ns *linuxnet.NS) bool {
		_, err := ns.Links().Stats("eth1")
		running, err2 := ns.Links().HasCarrier("eth0")
		return err == nil && err2 == nil && !running
	})})
	replaced := []string{"host link_down", "netns/published endpoint_replaced", "netns/published link_down"} // host, the baseline, has no published port
	killedIn(t, eventful{[]string{study.EndpointReplaced, "link_down"}, "netns/published", replaced, inAnySpace(func(ns *linuxnet.NS) bool {
		first, err := ns.Rules().Translations("tare", 5201)
		second, err2 := ns.Rules().Translations("tare", 5202)
		return err == nil && err2 == nil && len(first) > 0 && maps.Equal(first, second)
	})})
}

// The same when an nginx has just replaced its workers.
func TestEnginesKilledInReload(t *testing.T) {
	if !onMachine(t) {
		return
	}
	drivertest.NeedProgram(t, testneed.Nginx, "nginx")
	mode := "{mode: proxy/http, id: proxy, with: {program: nginx, placement: server}}"
	measured := []string{"proxy proxy_reload", "host policy_added", "proxy policy_added"} // without a baseline a run has nothing to compare with
	killedIn(t, eventful{[]string{"proxy_reload", "policy_added"}, mode, measured, replaced()})
}

// The same when a Docker Engine has just been restarted.
func TestEnginesKilledInRestart(t *testing.T) {
	if !onMachine(t) {
		return
	}
	drivertest.NeedEngine(t)
	const restarted, added = "engine_restart", "policy_added"
	measured := []string{"docker/published " + restarted, "docker/published " + added, "host " + added}
	killedIn(t, eventful{[]string{restarted, added}, "docker/published", measured, othersRun(func(p proc) bool { return filepath.Base(p.args[0]) == "dockerd" })})
}

func killedIn(t *testing.T, e eventful) {
	t.Helper()
	t.Run(e.events[0], func(t *testing.T) {
		var g group
		for _, event := range e.events {
			duration := "2s"
			if event == "engine_restart" { // which takes longer than others
				duration = "10s"
			}
			g.workloads = append(g.workloads, fmt.Sprintf("workload: http, id: %s, event: %[1]s, transaction_rate: 100, flows: 2, response_size: 16KiB, duration: %s", event, duration))
		}
		r := prepared(t, attempt{group: g, mode: e.mode}, e.events[0])
		defer os.RemoveAll(r.home)
		before := take(t)
		r.start(r.args()...)
		if !r.until(func() bool { return strings.Count(r.stderr(), "ready: ") == 2 }) {
			t.Fatalf("the run has ended:\n%s", r.stderr())
		}
		had, err := r.killWhile(e.inEffect)
		must.Do(t, err)
		must.Equal(t, -1, r.wait())

		h := &harness{}
		h.collect(r)
		must.EqualFor(t, "left", "", before.settled(t))
		r.checkKept(had)
		r.resume()
		h.collect(r)
		must.EqualFor(t, "left of the continued run", "", before.settled(t))
		r.checkKept(had)

		var want []string
		for block := 1; block <= 2; block++ {
			for _, of := range e.measured {
				want = append(want, fmt.Sprintf("%d %s", block, of))
			}
		}
		slices.Sort(want)
		_, trials := must.Get2(read(r.out))(t)
		var got []string
		for _, tr := range trials {
			// Beside a load an event may outlast its window, which its trial says.
			if !tr.Aside() && (tr.Status == result.TrialOK || strings.Contains(tr.Reason, ": the event ")) {
				got = append(got, fmt.Sprintf("%d %s %s", tr.Block, tr.Mode, tr.Workload))
			}
		}
		slices.Sort(got)
		must.Equal(t, want, slices.Compact(got))
		must.Equal(t, result.RunComplete, contentOf(t, r.out).Status)
	})
}

// killWhile kills the controller while a condition holds that only the controller ends, and returns the trials that had finished.
func (r *tested) killWhile(holds func(*tested) bool) (had []byte, err error) {
	pid := r.cmd.Process.Pid
	for r.until(func() bool { return holds(r) }) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return nil, err
		}
		if !r.until(func() bool { return stopped(pid) }) {
			break
		}
		if holds(r) {
			return r.finished(), syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			return nil, err
		}
	}
	return nil, errTooLate
}

// stopped reports whether all threads of a process are stopped.
func stopped(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is valid
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if _, state, ok := strings.Cut(string(stat), ") "); err != nil && !errors.Is(err, syscall.ESRCH) || ok && state[0] != 'T' {
			return false
		}
	}
	return true
}

// replaced reports whether an nginx has other workers than when it was first called.
func replaced() func(*tested) bool {
	return othersRun(func(p proc) bool { return strings.HasPrefix(p.args[0], "nginx: worker process") })
}

// othersRun reports whether other processes of the run are of a kind than when it was first called.
func othersRun(are func(proc) bool) func(*tested) bool {
	var first []int
	return func(r *tested) bool {
		workers := r.ours(are)
		if first == nil {
			for _, p := range workers {
				first = append(first, p.pid)
			}
		}
		return slices.ContainsFunc(workers, func(p proc) bool { return !slices.Contains(first, p.pid) })
	}
}

// inAnySpace reports whether a condition holds in a network namespace of the run.
func inAnySpace(holds func(*linuxnet.NS) bool) func(*tested) bool {
	return func(r *tested) bool {
		return slices.ContainsFunc(r.spaces(), func(s space) bool {
			ns, err := linuxnet.OpenNS(s.path, s.path)
			if err != nil {
				return false // it has ended
			}
			defer ns.Close()
			return holds(ns)
		})
	}
}
