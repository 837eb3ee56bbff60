package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// simulated is how the ratios of a simulated history vary from run to run: the relative standard
// deviation of rates, that of CPU costs, and what is common to all series of a run.
type simulated struct {
	name              string
	rates, cpu, share float64
	draw              func(*rand.Rand) float64
}

// series are runs of two modes with two workloads and their CPU costs, with a change of one rate
// by a factor from a run on.
func (s simulated) series(rng *rand.Rand, n, from int, factor float64) []Run {
	common := make([]float64, n)
	for i := range common {
		common[i] = s.draw(rng)
	}
	vary := func(sd float64, from int) func(int) float64 {
		own := make([]float64, n)
		for i := range own {
			own[i] = s.draw(rng)
		}
		return func(run int) float64 {
			y := 0.8 * math.Exp(sd*(math.Sqrt(s.share)*common[run]+math.Sqrt(1-s.share)*own[run]))
			if run >= from {
				y *= factor
			}
			return y
		}
	}
	var lanes []lane
	for i, mode := range []string{"netns/bridge", "netns/vxlan"} {
		at := n
		if i == 0 {
			at = from
		}
		lanes = append(lanes,
			lane{mode, "tcp_rr", "transaction_rate", vary(s.rates, at)}, lane{mode, "tcp_rr", "cpu_cost_transactions", vary(s.cpu, n)},
			lane{mode, "tcp_stream", "goodput", vary(s.rates, n)}, lane{mode, "tcp_stream", "cpu_cost", vary(s.cpu, n)})
	}
	return made(n, lanes...)
}

func worse(c result.Changes) (out []result.Change) {
	for _, x := range c.Cells {
		if x.Verdict == result.Worse {
			out = append(out, x)
		}
	}
	return out
}

func models() []simulated {
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	return []simulated{
		{"normal", 0.006, 0.012, 0, normal},
		{"normal, half of it common to all series", 0.006, 0.012, 0.5, normal},
		// Student's t with 6 degrees of freedom, scaled to a standard deviation of 1.
		{"heavy tails", 0.006, 0.012, 0, func(r *rand.Rand) float64 {
			chi := 0.0
			for range 6 {
				z := r.NormFloat64()
				chi += z * z
			}
			return r.NormFloat64() / math.Sqrt(chi/6) / math.Sqrt(6.0/4)
		}},
	}
}

// A workload of which the last of the earlier runs has ratios and the checked one none is missing, also if of the earlier
// ones only what a history needs is kept.
func TestCheckMissing(t *testing.T) {
	lost := func(run int) float64 {
		if run == 6 {
			return 0
		}
		return 0.8
	}
	level := func(int) float64 { return 0.8 }
	runs := made(7, lane{"netns/bridge", "tcp_rr", "transaction_rate", level}, lane{"netns/bridge", "tcp_crr", "connection_rate", lost}, lane{"netns/vxlan", "tcp_crr", "connection_rate", level})
	var k Kept
	for _, r := range runs[:6] {
		must.Do(t, k.Add(r))
	}
	must.Equal(t, []result.Pair{{Mode: "netns/bridge", Workload: "tcp_crr"}}, Check(k.Runs(), runs[6], CheckOptions{Last: 20, Margin: 0.05}).Missing)
	must.Equal(t, 0, len(Check(k.Runs()[:5], runs[5], CheckOptions{Last: 20, Margin: 0.05}).Missing))
}

// Of series of twenty runs without a change, at least 94 of 100 have no alarm in any of their
// checks, also with heavy tails; docs/method/statistics.md has the rates of more series.
func TestNoAlarmWithoutAChange(t *testing.T) {
	const histories = 60
	for _, model := range models()[1:] {
		rng := rand.New(rand.NewPCG(7, 8))
		alarmed, checks, alarms := 0, 0, 0
		for range histories {
			runs := model.series(rng, 20, 20, 1)
			found := false
			for i := 1; i < len(runs); i++ {
				c := Check(runs[:i], runs[i], CheckOptions{Last: 20, Margin: 0.05})
				must.Require(t, i < MinEarlier == (c.Basis.Reason != ""), "run %d: %q", i, c.Basis.Reason)
				checks++
				if len(worse(c)) > 0 {
					alarms++
					found = true
				}
			}
			if found {
				alarmed++
			}
		}
		t.Logf("%s: %d of %d histories with an alarm, %d of %d checks", model.name, alarmed, histories, alarms, checks)
		must.True(t, alarmed <= histories*6/100, "%s: %d of %d histories of 20 runs have an alarm", model.name, alarmed, histories)
	}
}

// A step of 3 % for the worse is found by one of the three checks after it.
func TestStepIsFoundWithinThreeRuns(t *testing.T) {
	const histories = 60
	for _, model := range models() {
		rng := rand.New(rand.NewPCG(9, 10))
		found := [3]int{}
		for range histories {
			runs := model.series(rng, 23, 20, 0.97)
			for after := range 3 {
				c := Check(runs[:20+after], runs[20+after], CheckOptions{Last: 20, Margin: 0.05})
				if slices.ContainsFunc(worse(c), func(x result.Change) bool { return x.Mode == "netns/bridge" && x.Metric == "transaction_rate" }) {
					found[after]++
					break
				}
			}
		}
		all := found[0] + found[1] + found[2]
		t.Logf("%s: found in the first run %d, second %d, third %d of %d", model.name, found[0], found[1], found[2], histories)
		must.True(t, all >= histories*95/100, "%s: a step of 3 %% was found within three runs in %d of %d histories", model.name, all, histories)
	}
}

// The change of a run is that of its ratio to the mean of those before, with the prediction
// interval of Student: mean -+ t s sqrt(1 + 1/n), by hand for five runs.
func TestCheckByHand(t *testing.T) {
	ratios := []float64{0.80, 0.81, 0.79, 0.80, 0.805, 0.70}
	runs := made(6, lane{"netns/bridge", "tcp_rr", "transaction_rate", func(run int) float64 { return ratios[run] }})
	c := Check(runs[:5], runs[5], CheckOptions{Last: 20, Margin: 0.05})
	must.Require(t, len(c.Cells) == 1 && c.Basis.Reason == "", "%d cells, %q", len(c.Cells), c.Basis.Reason)
	got := c.Cells[0]
	var ys []float64
	for _, r := range ratios[:5] {
		ys = append(ys, math.Log(r))
	}
	sd := 0.0
	for _, y := range ys {
		sd += (y - mean(ys)) * (y - mean(ys)) / 4
	}
	sd = math.Sqrt(sd)
	const t95 = 2.776445 // 4 degrees of freedom
	want := math.Exp(math.Log(0.70) - mean(ys) + t95*sd*math.Sqrt(1.2))
	must.True(t, math.Abs(got.RatioCI[1]-want) <= 1e-6 && got.BeforeN == 5 && got.AfterN == 1 && math.Abs(*got.Spread-sd) <= 1e-12,
		"upper limit %.7f of %d runs with spread %.6f, want %.7f and %.6f", got.RatioCI[1], got.BeforeN, *got.Spread, want, sd)
	must.True(t, got.Verdict == result.Worse, "a step of 12 %% is %s, p %g", got.Verdict, *got.P)
	within := Check(runs[:5], runs[5], CheckOptions{Last: 20, Margin: 0.25, Within: true})
	must.EqualFor(t, "a step of 12 %", result.Small, within.Cells[0].Verdict)
}

// A level that changed long ago does not widen the spread, and is not what a run is compared with.
func TestCheckAgainstTheLastStretch(t *testing.T) {
	runs := made(31, lane{"netns/bridge", "tcp_rr", "transaction_rate", steady(3, 0.8, 0.005, map[int]float64{15: 0.8, 30: 0.97})})
	c := Check(runs[:30], runs[30], CheckOptions{Last: 30, Margin: 0.05}).Cells[0]
	must.True(t, c.Verdict == result.Worse && c.BeforeN == 15 && math.Abs(*c.Before-0.64) <= 0.005 && *c.Spread <= 0.01,
		"%s against %.3f of %d runs with spread %.4f; want worse, 0.64 of 15, 0.005", c.Verdict, *c.Before, c.BeforeN, *c.Spread)
}

// What cannot be judged says why, and no verdict is given.
func TestCheckRefuses(t *testing.T) {
	rate := lane{"netns/bridge", "tcp_rr", "transaction_rate", steady(1, 0.8, 0.005, nil)}
	for _, c := range []struct {
		name, want string
		edit       func(runs []Run)
	}{
		{"another study", "0 comparable earlier runs", func(runs []Run) { runs[9].Hash = "4567" }},
		{"an unknown study", "does not record what decides", func(runs []Run) { runs[9].Hash = "" }},
		{"another machine", "0 comparable earlier runs", func(runs []Run) {
			runs[9].Run.Hosts = []result.Host{{Name: "a", Facts: []result.Fact{{Name: "cpu_model", Value: "Model Two"}}}}
		}},
		{"a clock that was set back", "0 comparable earlier runs", func(runs []Run) { runs[9].Run.Started = start().AddDate(-1, 0, 0) }},
		{"too few", "4 comparable earlier runs", func(runs []Run) {
			for i := range 5 {
				runs[i].Problem = "cut"
			}
		}},
	} {
		runs := made(10, rate)
		c.edit(runs)
		got := Check(runs[:9], runs[9], CheckOptions{Last: 20, Margin: 0.05})
		must.True(t, len(got.Cells) == 0 && strings.Contains(got.Basis.Reason, c.want), "%s: %d cells, %q", c.name, len(got.Cells), got.Basis.Reason)
		must.True(t, c.name == "an unknown study" || len(got.Basis.LeftOut) != 0, "%s: no run is named as left out", c.name)
	}
	for name, edit := range map[string]func(*result.Run){
		"a noisy run":   func(r *result.Run) { r.Noisy = "load" },
		"a lower bound": func(r *result.Run) { r.Cells[0].AtLeast = true },
		"a ratio to a lower bound": func(r *result.Run) {
			of := r.Cells[0]
			r.Cells = append(r.Cells, result.Cell{Mode: of.Baseline, Workload: of.Workload, Metric: of.Metric, AtLeast: true})
		},
	} {
		runs := made(10, rate)
		edit(&runs[9].Run)
		got := Check(runs[:9], runs[9], CheckOptions{Last: 20, Margin: 0.05})
		must.EqualFor(t, name, []any{result.CannotTell, runs[9].Run.Noisy != ""}, []any{got.Cells[0].Verdict, got.Noisy != ""})
		must.True(t, got.Noisy != "" || got.Cells[0].P == nil, "%s has a p", name)
	}
	runs := made(10, rate)
	runs[9].Run.Modes[1].Status, runs[9].Run.Cells = result.ModeVoid, nil
	got := Check(runs[:9], runs[9], CheckOptions{Last: 20, Margin: 0.05})
	must.True(t, len(got.Modes) == 1 && got.Modes[0].Lost(), "a lost mode is %v", got.Modes)
}
