package view

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	page "tare/internal/report/html"
	"tare/internal/report/text"
	"tare/internal/report/view/combination"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

func combinations() map[string]result.Combination {
	one := sampleCombination(1, 4)
	for i := range one.Ratios {
		r := &one.Ratios[i]
		r.Unit, r.N = result.UnitRun, 4
	}
	two := sampleCombination(2, 2)
	for i := range two.Ratios {
		r := &two.Ratios[i]
		r.Next, r.NextVerdict, r.NoNext, r.Verdict = nil, "", "a range takes at least 3 machines: the difference of two is one number, which does not show a spread", result.CannotTell
	}
	return map[string]result.Combination{"three": sampleCombination(3, 5), "one": one, "two": two, "many": sampleCombination(100, 300), "empty": {}, "hostile": hostileCombination()}
}

// sampleCombination is a combination of so many runs of so many machines. The first mode is worse everywhere, the second on average
// only, and the third the same.
func sampleCombination(machines, runs int) result.Combination {
	c := result.Combination{Study: "overlays", Margin: 0.05}
	for m := range machines {
		c.Machines = append(c.Machines, result.CombinedMachine{Machine: fmt.Sprintf("Xeon 84%02d, 4 CPUs", m), Facts: []result.Fact{{Name: "cpu_model", Value: fmt.Sprintf("Intel Xeon 84%02d", m)}, {Name: "cpus", Value: "4"}}})
	}
	units := make([]result.CombinedPart, machines)
	for i := range runs {
		m := i % machines
		c.Machines[m].Runs++
		c.Runs = append(c.Runs, result.CombinedRun{ID: fmt.Sprintf("%04d", i), Path: fmt.Sprintf("tare-runs/web%d-%d", m, i), Started: time.Date(2026, 11, 1+i%28, 3, 0, 0, 0, time.UTC), Status: result.RunComplete, Build: result.Build{Version: "1.2"}, Machine: m})
		units[m].Machine, units[m].Runs = m, append(units[m].Runs, i)
	}
	if machines == 1 {
		units = nil
		for i := range runs {
			units = append(units, result.CombinedPart{Runs: []int{i}})
		}
	}
	c.Runs[1].Differs = []result.Difference{{Scope: "study", Name: "blocks", Before: "7", After: "12"}}
	for _, w := range []struct{ workload, metric, unit string }{{"tcp_rr", "transaction_rate", "s/transaction"}, {"tcp_rr", "cpu_cost_transactions", "s/1000 transactions"}, {"tcp_rr", "rtt_p999", ""}} {
		info, _ := result.MetricNamed(w.metric)
		for i, mode := range []string{"docker/bridge", "docker/overlay", "docker/host"} {
			mean, apart := []float64{0.86, 0.52, 1.002}[i], []float64{0.04, 0.3, 0.002}[i]
			if info.Better == result.Lower {
				mean = 1 / mean
			}
			verdicts := []result.Verdict{result.Worse, result.Worse, result.Same}
			next := []result.Verdict{result.Worse, result.CannotTell, result.Same}
			r := result.CombinedRatio{Mode: mode, Baseline: "host", Workload: w.workload, Metric: w.metric, Better: info.Better, Unit: result.UnitMachine, N: machines,
				Ratio: &mean, RatioCI: &result.Interval{mean * (1 - apart/2), mean * (1 + apart/2)}, Verdict: verdicts[i], Spread: apart / 3,
				Next: &result.Interval{mean * (1 - apart), mean * (1 + apart)}, NextVerdict: next[i]}
			if i == 1 {
				r.Next[0], r.Next[1] = 0.3, 1.1
			}
			if i == 2 {
				r.Spread = 0
			}
			if w.unit != "" {
				r.Time, r.TimeUnit = &result.Interval{1.9e-6 * float64(i+1), 4.2e-6 * float64(i+1)}, w.unit
				if strings.HasPrefix(w.unit, "s/1000") {
					r.Time = &result.Interval{1.9e-3 * float64(i+1), 4.2e-3 * float64(i+1)}
				}
			}
			for n, u := range units {
				u.Ratio = mean * (1 + apart*math.Sin(float64(n)))
				u.RatioCI = &result.Interval{u.Ratio * 0.98, u.Ratio * 1.02}
				r.Units = append(r.Units, u)
			}
			c.Ratios = append(c.Ratios, r)
		}
	}
	c.LeftOut = []result.CombinedLeftOut{{Run: 0, Mode: "docker/ipvlan", Reason: "unsupported: the kernel has no ipvlan"}, {Run: 1, Mode: "docker/bridge", Workload: "tcp_crr", Reason: "no other run has it"}}
	return c
}

// hostileCombination has hostile names, numbers that no run has, and indices of nothing.
func hostileCombination() result.Combination {
	e := evilText + strings.Repeat("w", 3000)
	huge, nan := math.MaxFloat64, math.NaN()
	part := result.CombinedPart{Machine: 0, Runs: []int{0, 1}, Ratio: huge, RatioCI: &result.Interval{-huge, huge}}
	return result.Combination{Study: e, Margin: nan, Machines: []result.CombinedMachine{{Machine: e, Facts: []result.Fact{{Name: e, Value: e}}, Runs: -1}, {}},
		Runs: []result.CombinedRun{{ID: e, Path: e, Status: result.RunStatus(e), Build: result.Build{Version: e}, Machine: 77, Differs: []result.Difference{{Scope: e, Name: e, Before: e, After: e}}}, {Machine: -1}},
		Ratios: []result.CombinedRatio{
			{Mode: e, Baseline: e, Workload: e, Metric: e, Better: result.Direction(e), Unit: result.CombinedUnit(e), N: -1, Ratio: &huge, RatioCI: &result.Interval{nan, huge}, Verdict: result.Verdict(e), Spread: nan,
				Next: &result.Interval{5e-324, huge}, NextVerdict: result.Verdict(e), NoNext: e, Time: &result.Interval{-huge, huge}, TimeUnit: e,
				Units: []result.CombinedPart{part, {Machine: 99, Runs: []int{0}, Ratio: 1}, {Machine: 0, Runs: []int{-1, 99}, Ratio: 1}, {Ratio: 1}, {Runs: []int{0}, Ratio: nan}, {Runs: []int{0}, Ratio: -1}}},
			{Mode: "no ratio", Units: []result.CombinedPart{part}},
			{Mode: "zero", Ratio: new(0.0)},
			{Mode: "alone", Ratio: new(0.5), Spread: huge, Time: &result.Interval{nan, 1}},
		},
		LeftOut: []result.CombinedLeftOut{{Run: 0, Mode: e, Workload: e, Reason: e}, {Run: 99}, {Run: -1}, {Run: 1}}}
}

func TestCombinationGolden(t *testing.T) {
	for _, name := range []string{"three", "one", "two"} {
		c := combinations()[name]
		golden(t, "combination-"+name+".txt", text.Write(combination.Document(c, combination.Options{Command: "tare combine --full web1 web2"}), text.Options{Width: 100}))
	}
	c := combinations()["three"]
	golden(t, "combination-three.full.txt", text.Write(combination.Document(c, combination.Options{Full: true}), text.Options{Width: 100}))
	golden(t, "combination-three.view", dump(combination.Document(c, combination.Options{Version: "1.2"})))
}

func TestCombinationFits(t *testing.T) {
	for name, c := range combinations() {
		for _, width := range []int{40, 80, 100} {
			for _, full := range []bool{false, true} {
				for line := range strings.Lines(string(text.Write(combination.Document(c, combination.Options{Full: full}), text.Options{Width: width}))) {
					if line = strings.TrimSuffix(line, "\n"); wording.Width(line) > width || strings.ContainsAny(line, "\x1b\u009b\u202e\u2066") {
						t.Errorf("%s at %d: %q", name, width, line)
					}
				}
			}
		}
	}
}

// A page of many runs is bounded.
func TestCombinationManyRuns(t *testing.T) {
	c := sampleCombination(1000, 1000)
	written := string(page.Write(combination.Document(c, combination.Options{})))
	must.True(t, len(written) <= 1<<20, "%d bytes", len(written))
	must.Contain(t, written, ">960 more<", "forest-1", "next machine")
}
