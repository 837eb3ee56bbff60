//go:build linux

package cli_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// The run that the project promises: each mode beside its baseline, n = 4, an
// interval round each ratio, a verdict, and nothing left behind.
func TestQuickRun(t *testing.T) {
	needRoot(t)
	before := hostState(t)
	// The profile's blocks, and shorter waits and trials than its own. A trial whose path turns out to be slow runs alone: its load must not decide.
	dir := studyIn(t, "profile: quick\nsettle: 10ms\ninvalid: {steal: off, others: off, unsettled: off}\nworkloads:\n  - {workload: tcp_stream, warmup: 20ms, duration: 100ms}\n  - {workload: tcp_rr, warmup: 20ms, duration: 100ms}\n")
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--modes", "host,netns/bridge,netns/colocated,netns/ipvlan", "--json", "--out", out)
	p.ends(t, 0)
	run := readRun(t, out)
	must.Equal(t, result.RunComplete, run.Status)
	measured := map[string]string{"host": "", "host-local": "", "netns/bridge": "host", "netns/colocated": "host-local"}
	for _, m := range run.Modes {
		_, want := measured[m.ID]
		switch {
		case m.ID == "netns/ipvlan" && m.Status == result.ModeUnsupported:
			must.ContainFor(t, "ipvlan is unsupported without a reason that says so", m.Reason, "ipvlan")
		case m.ID == "netns/ipvlan":
			measured[m.ID] = "host" // this kernel has it
		case want && m.Status != result.ModeMeasured:
			t.Errorf("%s is %s: %s", m.ID, m.Status, m.Reason)
		}
	}
	for mode, baseline := range measured {
		for _, c := range []struct{ workload, metric string }{
			{"tcp_stream", "goodput"}, {"tcp_rr", "transaction_rate"}, {"tcp_rr", "rtt_p50"}, {"tcp_rr", "rtt_p99"},
		} {
			i := slices.IndexFunc(run.Cells, func(x result.Cell) bool {
				return x.Mode == mode && x.Workload == c.workload && x.Metric == c.metric
			})
			if i < 0 {
				t.Errorf("no cell %s %s %s", mode, c.workload, c.metric)
				continue
			}
			x := run.Cells[i]
			must.True(t, x.N == 7 && x.Value != nil && x.CI != nil, "%s %s %s: n %d, value %v, interval %v", mode, c.workload, c.metric, x.N, x.Value, x.CI)
			if baseline == "" {
				continue
			}
			must.True(t, x.Baseline == baseline && x.Verdict != "" && x.Ratio != nil && x.RatioCI != nil && x.RatioCI[0] <= *x.Ratio && x.RatioCI[1] >= *x.Ratio,
				"%s %s %s: baseline %q, ratio %v in %v, verdict %q", mode, c.workload, c.metric, x.Baseline, x.Ratio, x.RatioCI, x.Verdict)
		}
	}
	if found := left(t, run.ID); found != nil {
		t.Errorf("left behind: %v", found)
	}
	must.Equal(t, before, hostState(t))
}

// Ctrl-C ends a run in order, wherever it is: what was measured is kept, reported
// and can be gone on with.
func TestInterrupted(t *testing.T) {
	needLab(t)
	for name, trials := range map[string]int{"in set-up": 0, "in a trial": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := studyIn(t, longStudy)
			out := filepath.Join(dir, "run")
			p := start(t, dir, "run", "study.yaml", "--out", out)
			until(t, "the run to be under way", func() bool {
				return trials == 0 && exists(filepath.Join(out, store.StudyFile)) || trials > 0 && trialsIn(out) >= trials
			})
			if trials == 0 {
				time.Sleep(50 * time.Millisecond) // anywhere in the set-up will do
			}
			must.Do(t, p.cmd.Process.Signal(syscall.SIGINT))
			p.ends(t, 130)
			run, made := loaded(t, out)
			noneFailed(t, made)
			must.True(t, run.Status == result.RunInterrupted && run.Trials.OK >= trials, "status %s, trials %+v", run.Status, run.Trials)
			if found := left(t, run.ID); found != nil {
				t.Errorf("left behind: %v", found)
			}
			if p := start(t, dir, "report", out); p.wait(t) != 0 || !strings.Contains(p.stdout.String(), "nterrupted") {
				t.Errorf("report of an interrupted run:\n%s%s", p.stdout.String(), p.stderr.String())
			}
		})
	}
}

// An interrupted run goes on where it stopped, in the same order.
func TestResumed(t *testing.T) {
	t.Parallel()
	needLab(t)
	dir := studyIn(t, strings.Replace(longStudy, "blocks: 20", "blocks: 2", 1))
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--out", out, "--seed", "3")
	until(t, "three trials", func() bool { return trialsIn(out) >= 3 })
	must.Do(t, p.cmd.Process.Kill())
	p.wait(t)
	had := trialsIn(out)
	start(t, dir, "run", "--resume", out).ends(t, 0)
	run := readRun(t, out)
	must.True(t, run.Status == result.RunComplete && run.Trials.OK == 8 && trialsIn(out) == 8 && had < 8, "status %s, trials %+v after %d", run.Status, run.Trials, had)
	d := must.Get(store.Open(out))(t)
	defer d.Close()
	_, trials := must.Get2(d.Load())(t)
	p = start(t, dir, "plan", filepath.Join(out, "study.yaml"), "--order")
	p.ends(t, 0)
	var got []string
	seen := map[string]bool{}
	for _, tr := range trials { // one that did not suit its path is repeated
		if trial := fmt.Sprint(tr.Block, tr.Workload, tr.Mode); !seen[trial] {
			got, seen[trial] = append(got, tr.Workload+" "+tr.Mode), true
		}
	}
	var want []string
	_, order, _ := strings.Cut(p.stdout.String(), "TRIAL ")
	for line := range strings.Lines(order) {
		if f := strings.Fields(line); len(f) == 4 && f[0] != "BLOCK" {
			want = append(want, f[2]+" "+f[3])
		}
	}
	must.Equal(t, want, got)
	start(t, dir, "gc").ends(t, 0)
}

// After kill -9 the finished trials are whole, the agents end by themselves, and
// gc removes the rest.
func TestKilled(t *testing.T) {
	needLab(t)
	dir := studyIn(t, longStudy)
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--out", out)
	var all []int
	until(t, "two trials and the agents of both modes", func() bool { // which between blocks are made again
		all = descendants(p.cmd.Process.Pid)
		return trialsIn(out) >= 2 && len(all) >= 4
	})
	must.Do(t, p.cmd.Process.Kill())
	p.wait(t)
	// The claim is two seconds; the test's own patience is longer, because a
	// busy machine must not decide it. The time taken is logged.
	killed := time.Now()
	until(t, "the agents to end", func() bool { return gone(all) })
	t.Logf("%d agents gone after %s", len(all), time.Since(killed).Round(time.Millisecond))
	d := must.Get(store.Open(out))(t)
	defer d.Close()
	run, trials, err := d.Load()
	must.True(t, err == nil && run.Status == result.RunInterrupted && len(trials) >= 2, "status %s, %d trials, %v", run.Status, len(trials), err)
	start(t, dir, "gc").ends(t, 0)
	if p := start(t, dir, "gc"); p.wait(t) != 0 || !strings.Contains(p.stdout.String(), "nothing to remove") {
		t.Errorf("a second gc: %s%s", p.stdout.String(), p.stderr.String())
	}
	if p := start(t, dir, "report", out); p.wait(t) != 0 || !strings.Contains(p.stdout.String(), "netns/bridge") {
		t.Errorf("report of a killed run:\n%s%s", p.stdout.String(), p.stderr.String())
	}
}

// Two runs at once share no name, no address and no port, and know of each other.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	needLab(t)
	dir := studyIn(t, shortStudy())
	var ps []*program
	for _, name := range []string{"one", "two"} {
		ps = append(ps, start(t, dir, "run", "study.yaml", "--out", filepath.Join(dir, name)))
	}
	var addresses []map[string]bool
	warned := false
	for i, name := range []string{"one", "two"} {
		if code := ps[i].wait(t); code != 0 {
			t.Fatalf("run %s: exit code %d\n%s", name, code, ps[i].stderr.String())
		}
		run := readRun(t, filepath.Join(dir, name))
		warned = warned || slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == "other_run" })
		own := map[string]bool{}
		for _, m := range run.Modes {
			for _, n := range m.Topology.Nodes {
				for _, f := range n.Facts {
					if f.Name == "address" && !strings.HasPrefix(f.Value, "127.") && !strings.HasPrefix(f.Value, "::1") {
						own[f.Value] = true
					}
				}
			}
		}
		must.True(t, len(own) >= 4, "run %s shows only the addresses %v", name, own)
		addresses = append(addresses, own)
	}
	for a := range addresses[0] {
		must.True(t, !addresses[1][a], "both runs had %s", a)
	}
	must.True(t, warned, "neither run warned of the other")
}
