package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// start is when the first run of a test started.
func start() time.Time { return time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC) }

// lane is a series of made runs: the ratio of a mode in a metric, run by run.
type lane struct {
	mode, workload, metric string
	ratio                  func(run int) float64
}

// made are runs of one study a day apart, with these ratios. Their intervals are 1 % wide.
func made(n int, lanes ...lane) []Run {
	var out []Run
	for i := range n {
		r := result.Run{
			ID: fmt.Sprintf("run%03d", i), Started: start().AddDate(0, 0, i), Finished: start().AddDate(0, 0, i).Add(time.Hour), Status: result.RunComplete,
			Tare: result.Build{Version: "1.0"}, Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}},
			Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.18"}, {Name: "cpu_model", Value: "Model One"}, {Name: "cpus_online", Value: "4 (0-3)"}}}},
		}
		for _, l := range lanes {
			if !slices.ContainsFunc(r.Modes, func(m result.Mode) bool { return m.ID == l.mode }) {
				r.Modes = append(r.Modes, result.Mode{ID: l.mode, Status: result.ModeMeasured, Baseline: "host"})
			}
			ratio := l.ratio(i)
			if ratio == 0 {
				continue
			}
			m, ok := result.MetricNamed(l.metric)
			if !ok {
				panic("no metric " + l.metric)
			}
			r.Cells = append(r.Cells, result.Cell{Mode: l.mode, Baseline: "host", Workload: l.workload, Metric: l.metric, Unit: m.Unit, Better: m.Better, N: 12,
				Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{ratio * 0.995, ratio * 1.005}}})
		}
		out = append(out, Run{Path: "runs/" + r.ID, Study: "nets", Hash: "0123", Run: r})
	}
	return out
}

// steady is a level with noise of a relative size, that changes by a factor at each of the runs.
func steady(seed uint64, level, noise float64, changes map[int]float64) func(int) float64 {
	rng := rand.New(rand.NewPCG(seed, 22))
	var drawn []float64
	return func(run int) float64 {
		for len(drawn) <= run {
			drawn = append(drawn, rng.NormFloat64())
		}
		at := level
		for from, factor := range changes {
			if run >= from {
				at *= factor
			}
		}
		return at * math.Exp(noise*drawn[run])
	}
}

// planted are six series of sixty runs, of which three change.
func planted() []lane {
	return []lane{
		{"netns/bridge", "tcp_stream", "goodput", steady(1, 0.8, 0.01, nil)},
		{"netns/vxlan", "tcp_stream", "goodput", steady(2, 0.5, 0.01, map[int]float64{25: 0.93})},
		{"netns/bridge", "tcp_rr", "transaction_rate", steady(3, 0.7, 0.01, map[int]float64{20: 1.06, 40: 1 / 1.06})},
		{"netns/vxlan", "tcp_rr", "transaction_rate", steady(4, 0.6, 0.01, nil)},
		{"netns/bridge", "tcp_stream", "cpu_cost", steady(5, 1.3, 0.015, map[int]float64{50: 1.12})},
		{"netns/vxlan", "tcp_stream", "cpu_cost", steady(6, 1.9, 0.015, nil)},
	}
}

// A history of sixty runs shows exactly the changes that were planted, with their direction.
func TestPlantedChanges(t *testing.T) {
	type found struct {
		Series string
		Point  int
		Worse  bool
	}
	h := Of(made(60, planted()...), "0123", nil)
	var got []found
	for _, s := range h.Machines[0].Series {
		for _, c := range s.Changes {
			got = append(got, found{strings.Join([]string{s.Mode, s.Workload, s.Metric}, " "), c.Point, c.Worse})
			must.True(t, c.P > 0 && c.P <= FalseAlarms, "%s: p is %g", s.Mode, c.P)
		}
	}
	want := []found{
		{"netns/vxlan tcp_stream goodput", 25, true},
		{"netns/bridge tcp_rr transaction_rate", 20, false},
		{"netns/bridge tcp_rr transaction_rate", 40, true},
		{"netns/bridge tcp_stream cpu_cost", 50, true},
	}
	must.EqualFor(t, "change points", want, got)
	vxlan := h.Machines[0].Series[1]
	if c := vxlan.Changes[0]; math.Abs(c.Before-0.5) > 0.004 || math.Abs(c.After-0.465) > 0.004 {
		t.Errorf("the level changed from %.4f to %.4f, want 0.5 to 0.465", c.Before, c.After)
	}
	must.True(t, vxlan.Spread != nil && math.Abs(*vxlan.Spread-0.01) <= 0.003, "the spread within the stretches is not 1 %%: %v", vxlan.Spread)
	must.True(t, h.Study == "nets" && h.FalseAlarms == 0.05 && h.MinRuns == 10, "study %q, false alarms %g, at least %d runs", h.Study, h.FalseAlarms, h.MinRuns)
}

// Runs that are not of the history are left out, each with its reason, and the others remain.
func TestLeftOut(t *testing.T) {
	runs := made(12, lane{"netns/bridge", "tcp_rr", "transaction_rate", steady(1, 0.8, 0.01, nil)})
	runs[1].Hash = "4567"
	runs[2] = Run{Path: "runs/cut", Problem: "trials.ndjson:2: unexpected end"}
	runs[3].Run.Modes[1].Status, runs[3].Run.Modes[1].Reason, runs[3].Run.Cells = result.ModeVoid, "a counter did not move", nil
	runs[4].Run.Status, runs[4].Run.Cells, runs[4].Run.Modes = result.RunInterrupted, nil, nil
	runs[5].Hash = ""
	runs[6].Run.Started = time.Time{}
	runs[7].Run.ID = runs[0].Run.ID
	runs[8].Study, runs[8].Hash = "other", "89ab"
	want := map[string]string{
		"runs/run001": "other settings: its hash is 4567, not 0123", "runs/cut": "unexpected end", "runs/run003": "netns/bridge is void: a counter did not move",
		"runs/run004": "it is interrupted", "runs/run005": "does not record what decides", "runs/run006": "does not record when", "runs/run007": "a copy of runs/run000",
	}
	slices.Reverse(runs) // the order of the argument does not matter
	h := Of(runs, "0123", nil)
	for _, l := range h.LeftOut {
		must.True(t, strings.Contains(l.Reason, want[l.Path]) && want[l.Path] != "", "%s: %s; want %q", l.Path, l.Reason, want[l.Path])
		delete(want, l.Path)
	}
	must.True(t, len(want) == 0, "not left out: %v", want)
	must.EqualFor(t, "runs remain", 4, len(h.Machines[0].Runs))
	if h := Of(nil, "0123", nil); len(h.Machines) != 0 || len(h.LeftOut) != 0 {
		t.Errorf("a history of nothing: %v", h)
	}
}

// Each machine has a history of its own, the environment and the clock of each run are compared
// with those of the run before, and a run without a mode leaves a gap in its series.
func TestNotesAndMachines(t *testing.T) {
	const gap = 6
	runs := made(12, lane{"netns/bridge", "tcp_rr", "transaction_rate", func(run int) float64 {
		if run == gap {
			return 0
		}
		return 0.8
	}}, lane{"netns/vxlan", "tcp_rr", "transaction_rate", func(int) float64 { return 0.6 }})
	for _, i := range []int{3, 4} {
		runs[i].Run.Hosts = []result.Host{{Name: "a", Facts: []result.Fact{{Name: "cpu_model", Value: "Model Two"}, {Name: "cpus_online", Value: "4 (0-3)"}}}}
	}
	runs[7].Run.Hosts[0].Facts[0].Value = "6.19"
	runs[8].Run.Tare.Version = "1.1"
	runs[8].Run.Noisy = "load"
	runs[9].Run.Finished = runs[9].Run.Started.Add(-time.Minute)
	runs[10].Run.Status, runs[10].Run.Finished = result.RunInterrupted, runs[11].Run.Started.Add(time.Minute)
	h := Of(runs, "0123", nil)
	must.Require(t, len(h.Machines) == 2 && h.Machines[0].Machine == "Model One, 4 CPUs" && h.Machines[1].Machine == "Model Two, 4 CPUs" && len(h.Machines[1].Runs) == 2,
		"machines: %+v", h.Machines)
	one := h.Machines[0]
	at := func(id int) result.HistoryRun {
		i := slices.IndexFunc(one.Runs, func(r result.HistoryRun) bool { return r.ID == fmt.Sprintf("run%03d", id) })
		return one.Runs[i]
	}
	for id, want := range map[int]string{8: "too noisy to judge: load", 9: "clock was set back", 10: "interrupted", 11: "run run010 had not ended when it started"} {
		got := at(id).Note
		must.True(t, strings.Contains(got, want), "run %d has the note %q, want %q", id, got, want)
	}
	must.EqualFor(t, "an ordinary run has the note", "", at(1).Note)
	got := at(7).Changed
	must.True(t, len(got) == 1 && got[0].Name == "kernel" && got[0].After == "6.19", "the kernel changed in %v", got)
	var indexes []int
	for _, p := range one.Series[slices.IndexFunc(one.Series, func(s result.HistorySeries) bool { return s.Mode == "netns/bridge" })].Points {
		indexes = append(indexes, p.Run)
	}
	want := []int{0, 1, 2, 3, 5, 6, 7, 8, 9}
	must.True(t, slices.Equal(indexes, want), "the points are of runs %v, want %v", indexes, want)
	slower := made(9, lane{"netns/bridge", "tcp_rr", "transaction_rate", func(int) float64 { return 0.8 }})
	for i := range slower {
		ns := "81.0 ns"
		if i == 8 {
			ns = "140 ns"
		}
		slower[i].Run.Hosts[0].Facts = append(slower[i].Run.Hosts[0].Facts, result.Fact{Name: "calibration_syscall", Value: ns})
	}
	must.ContainFor(t, "a run on a slower machine has the note", Of(slower, "0123", nil).Machines[0].Runs[8].Note, "may have become another")
	c := Check(slower[:8], slower[8], CheckOptions{Last: 20, Margin: 0.05})
	must.True(t, len(c.Warnings) == 1 && len(c.Machine) == 1, "a run on a slower machine has the warnings %v", c.Warnings)
	late := made(9, lane{"netns/bridge", "tcp_rr", "transaction_rate", func(int) float64 { return 0.8 }})
	late[8].Run.Started, late[8].Run.Finished = late[8].Run.Started.AddDate(0, 0, 9), late[8].Run.Finished.AddDate(0, 0, 9)
	must.EqualFor(t, "a run after a gap has the note", "10 times the usual time after the run before", Of(late, "0123", nil).Machines[0].Runs[8].Note)
}

// Only ratios of the metrics asked for count, and none of a control.
func TestMetricsOfAHistory(t *testing.T) {
	runs := made(3, lane{"netns/bridge", "tcp_rr", "transaction_rate", steady(1, 0.8, 0.01, nil)}, lane{"netns/bridge", "tcp_rr", "rtt_p99", steady(2, 1.1, 0.01, nil)},
		lane{"control", "tcp_rr", "transaction_rate", steady(3, 1, 0.01, nil)})
	for i := range runs {
		runs[i].Run.Modes[2].Control = true
	}
	for want, metrics := range map[string][]string{"transaction_rate": nil, "rtt_p99": {"rtt_p99"}} {
		h := Of(runs, "0123", metrics)
		if s := h.Machines[0].Series; len(s) != 1 || s[0].Metric != want || s[0].Mode != "netns/bridge" || len(s[0].Points) != 3 || s[0].Spread == nil {
			t.Errorf("metrics %v give %+v", metrics, s)
		}
	}
}
