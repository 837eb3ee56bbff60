package runner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// piloted is a run with pilot trials of 10 s, of which that of a mode rises for so many seconds.
func piloted(rises map[string]float64, modes ...string) *scripted {
	s := scriptOf(modes...)
	s.study.Workloads, s.study.Pilot, s.study.Blocks = []study.Workload{bulk()}, quantity.WaitOf(10*time.Second), 1
	s.give = func(tr *trialRun) {
		if !tr.Pilot() {
			return
		}
		series := &result.Series{Metric: "goodput", Interval: 0.1}
		for i := range 100 {
			level := 1e9 + 1e5*float64(i%5)
			if float64(i) < 10*rises[tr.Mode] {
				level = 5e8
			}
			series.Values = append(series.Values, level)
		}
		tr.out.Series = series
	}
	return s
}

// Method 1.4: a pilot trial of each mode sets the warm-up of the bulk trials, for all modes alike,
// and is itself in no cell. A resumed run keeps to it without new pilots.
func TestPilot(t *testing.T) {
	rises := map[string]float64{"host": 3, "netns/macvlan": 1}
	s := piloted(rises, "host", "netns/macvlan")
	must.Do(t, s.runs(t))
	if p := s.run.Pilots; len(p) != 2 || p[0].Warmup == nil || *p[0].Warmup != 3 || *p[1].Warmup != 1 || p[1].Workload != "tcp_stream" {
		t.Errorf("pilots %+v", p)
	}
	if l := s.run.Lengths; len(l) != 1 || l[0].FromBlock != 1 || l[0].Warmup != 3 || l[0].Duration != 1 {
		t.Errorf("lengths %+v, want a warm-up of 3 s", l)
	}
	for i, tr := range s.trials {
		if pilot := i < 2; tr.Pilot != pilot || pilot && (tr.Block != 0 || tr.Warmup != 0 || tr.Window != 10) || !pilot && (tr.Block != 1 || tr.Warmup != 3 || tr.Window != 1) {
			t.Errorf("trial %d is %+v", i+1, tr)
		}
	}
	for _, c := range s.run.Cells {
		must.EqualFor(t, fmt.Sprintf("trials of cell %+v", c), 1, c.N)
	}
	again := piloted(rises, "host", "netns/macvlan")
	again.earlier = s.trials[:2]
	must.Do(t, again.runs(t))
	if l := again.run.Lengths; len(again.trials) != 2 || again.trials[0].Pilot || len(l) != 1 || l[0].Warmup != 3 {
		t.Errorf("resumed: %v, lengths %+v", again.told(), l)
	}
}

// A pilot that fails in both attempts costs its mode nothing but the warm-up, with a warning.
func TestPilotFails(t *testing.T) {
	s := piloted(nil, "host")
	s.give = func(tr *trialRun) {
		if tr.Pilot() {
			tr.err = errors.New("it broke")
		}
	}
	must.Do(t, s.runs(t))
	if s.run.Trials != (result.Tally{OK: 1, Failed: attempts}) || s.mode("host").Status != result.ModeMeasured || !strings.Contains(s.warned("pilot_failed"), "it broke") {
		t.Errorf("trials %v, warnings %+v", s.told(), s.run.Warnings)
	}
}

// A longer warm-up of the study is kept, whatever pilots show.
func TestPilotLeavesLongerWarmup(t *testing.T) {
	s := piloted(map[string]float64{"host": 1}, "host")
	s.study.Workloads[0].Warmup = quantity.WaitOf(3200 * time.Millisecond)
	must.Do(t, s.runs(t))
	must.True(t, len(s.run.Pilots) == 1 && s.trials[1].Warmup == 3.2, "pilots %+v, a trial with %g s of warm-up", s.run.Pilots, s.trials[1].Warmup)
}

// From block 2 on the cost pass has every mode at one rate, half of the slowest mode's; the stopping
// rule ignores it.
func TestCostPass(t *testing.T) {
	s := settling()
	s.study.Workloads = []study.Workload{bulk()}
	s.study.CostPass = study.CostPass{Rate: quantity.PassAuto, FromBlock: 2, Every: 1, Times: 1, Warmup: quantity.WaitOf(100 * time.Millisecond), Duration: quantity.Duration(500 * time.Millisecond)}
	must.Do(t, s.runs(t))
	c := s.run.CostPass
	must.Require(t, c != nil && c.Missing == "" && c.Block == 1 && c.Workload == "tcp_stream" && c.Of == "netns/macvlan" && c.Rate >= 2.2e9 && c.Rate <= 2.24e9, "cost pass %+v", c)
	n := map[string]int{}
	for _, tr := range s.trials {
		switch {
		case tr.Workload == "tcp_stream" && tr.Rate == 0:
		case tr.Workload == study.CostPassID && tr.Block == 2 && tr.Rate == c.Rate && tr.Window == 0.5:
			n[tr.Mode]++
		default:
			t.Errorf("%s in block %d at %g bit/s", tr.Workload, tr.Block, tr.Rate)
		}
	}
	must.EqualFor(t, fmt.Sprintf("trials of the pass %v, stopping %+v", n, s.run.Stopping), []any{1, 1, result.StopSettled}, []any{n["host"], n["netns/macvlan"], s.run.Stopping.Reason})
}

// After the last block the tail pass has every mode on one schedule, at half of the slowest mode's rate, in eight rounds; it
// changes no other cell. A resumed run keeps its rate and repeats nothing.
func TestTailPass(t *testing.T) {
	s := scriptOf("host", "netns/bridge")
	s.study.Tails = study.On
	must.Do(t, s.runs(t))
	rates, ordinary := map[float64]int{}, 0
	for _, tr := range s.trials {
		if tr.TailRate == 0 {
			ordinary++
			continue
		}
		rates[tr.TailRate]++
		must.True(t, tr.Window == 3 && tr.Workload == "tcp_rr", "%+v", tr)
	}
	must.Require(t, ordinary == 4 && len(rates) == 1, "%d trials, and those of the tail pass by rate %v", ordinary, rates)
	least := math.Inf(1)
	for _, c := range s.run.Cells {
		if c.Metric == "transaction_rate" {
			least = min(least, *c.Value)
			must.EqualFor(t, "blocks of the rate", 2, c.N)
		}
	}
	for rate, n := range rates {
		must.True(t, n == 16 && rate <= least/2*1.02 && rate >= least/2*0.98, "%d trials at %g/s, half of %g/s", n, rate, least)
	}
	resumed := scriptOf("host", "netns/bridge")
	resumed.study.Tails, resumed.earlier = study.On, s.trials[:len(s.trials)-5]
	must.Do(t, resumed.runs(t))
	must.True(t, len(resumed.trials) == 5 && resumed.trials[0].TailRate == s.trials[len(s.trials)-1].TailRate, "resumed: %d trials, %+v", len(resumed.trials), resumed.trials)
}

// Every 500th request of a path takes 100 ms, so that this is its 99.9th percentile: the pass gives it in an interval, with a
// verdict. In the closed loop it is the 2 us that the trials say, which have no verdict without the pass, and the cell says why.
func TestTailPassJudges(t *testing.T) {
	for _, tails := range []string{study.Off, study.On} {
		s := scriptOf("host", "netns/bridge")
		s.study.Tails = tails
		s.give = func(tr *trialRun) {
			tr.out.Metrics["rtt_p999"] = 2e-6
			if tr.TailRate() == 0 {
				return
			}
			durations := map[float64]int64{}
			for i := range 15000 {
				took := 1e-6 * (1 + float64(i%100)/100)
				if tr.Mode == "netns/bridge" && i%500 == 0 {
					took = 0.1
				}
				durations[took]++
			}
			tr.out.Distributions = []result.Distribution{*result.Distribute("rtt", durations)}
		}
		must.Do(t, s.runs(t))
		at := slices.IndexFunc(s.run.Cells, func(c result.Cell) bool { return c.Metric == "rtt_p999" && c.Mode == "netns/bridge" })
		must.Require(t, at >= 0, "no 99.9th percentile: %+v", s.run.Cells)
		c := s.run.Cells[at]
		if tails == study.Off {
			must.True(t, c.Value != nil && math.Abs(*c.Value-2e-6) <= 1e-12 && c.Ratio == nil && c.Verdict == "" && c.Tail == nil, "without the pass: %+v", c)
			must.Contain(t, c.Unjudged, "not judged: it needs the tail pass (--tails)")
			continue
		}
		must.True(t, c.CI != nil && c.CI[0] <= 0.1 && c.CI[1] >= 0.1 && c.CI[1] <= 1.05*c.CI[0] && c.Verdict == result.Worse && c.Unjudged == "",
			"with the pass: %+v, interval %v", c, c.CI)
		must.Equal(t, int64(8*15000), c.Tail.Exchanges)
	}
}

// A workload that is verified is measured with both tools, and the run says whether they agree.
func TestVerifyWith(t *testing.T) {
	s := scriptOf("host", "netns/macvlan")
	s.study.Workloads = []study.Workload{bulk()}
	s.study.Workloads[0].VerifyWith = "iperf3"
	must.Do(t, s.runs(t))
	n := map[string]int{}
	for _, tr := range s.trials {
		n[tr.Workload]++
	}
	must.EqualFor(t, fmt.Sprintf("trials %v", n), []any{4, 4}, []any{n["tcp_stream"], n["tcp_stream.iperf3"]})
	if a := s.run.Agreements; len(a) != 1 || a[0].N != 2 || a[0].Ratio == nil || a[0].Mode != "netns/macvlan" {
		t.Errorf("agreements %+v", a)
	}
}

// A run keeps the study's names, makes the comparisons that the study requests, and reports what it
// left out: modes that cannot be had, and limits without effect.
func TestNames(t *testing.T) {
	s := scriptOf()
	s.study.Modes = []study.Mode{
		{Mode: "host", ID: "raw"}, {Mode: "netns/bridge", ID: "one", Title: "mine", Description: "as asked"},
		{Mode: "netns/bridge", ID: "two"}, {Mode: "elsewhere", ID: "vm"},
	}
	s.study.Limits = study.Limits{Client: study.Limit{CPUs: 1}}
	s.study.Scenarios = []study.Scenario{{ID: "A", Mode: "raw", Workload: "tcp_rr"}, {ID: "B", Title: "the one", Mode: "one", Workload: "tcp_rr"}, {ID: "V", Mode: "vm", Workload: "tcp_rr"}}
	s.study.Compare = []study.Comparison{{A: study.SideOf("B"), B: study.SideOf("A")}, {ID: "modes", A: study.SideOf("two"), B: study.SideOf("one")}, {A: study.SideOf("V"), B: study.SideOf("A")}}
	must.Do(t, s.runs(t))
	one, vm := s.mode("one"), s.mode("vm")
	must.EqualFor(t, one, []any{"netns/bridge", "mine", "as asked", "raw", result.ModeMeasured}, []any{one.Mode, one.Title, one.Description, one.Baseline, one.Status})
	must.EqualFor(t, fmt.Sprintf("%+v, trials %+v", vm, s.run.Trials), []any{result.ModeUnsupported, "it is not to be had", 6}, []any{vm.Status, vm.Reason, s.run.Trials.OK})
	must.True(t, len(s.run.Scenarios) == 3 && s.run.Scenarios[1] == (result.Scenario{ID: "B", Title: "the one", Mode: "one", Workload: "tcp_rr"}), "scenarios %+v", s.run.Scenarios)
	for id, figures := range map[string]bool{"B/A": true, "modes": true, "V/A": false} {
		i := slices.IndexFunc(s.run.Comparisons, func(c result.Comparison) bool { return c.ID == id })
		must.True(t, i >= 0 && figures == (s.run.Comparisons[i].Ratio != nil) && figures != (s.run.Comparisons[i].Reason != ""), "comparison %s: %+v", id, s.run.Comparisons)
	}
	must.Contain(t, s.warned("limits_skipped"), "raw, one, two, vm,")
}
