package verdict

import (
	"math"
	"slices"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// paired are blocks of the host at 100 and of a mode with these log ratios, in units of 1 %.
func paired(logs ...float64) []result.Trial {
	var out []result.Trial
	for i, l := range logs {
		out = append(out, blocks.Row(i+1, "host", "goodput", 100), blocks.Row(i+1, "veth", "goodput", 100*math.Exp(l/100)))
	}
	return out
}

// A difference is one only if both tests show it.
func TestDifferenceByBothTests(t *testing.T) {
	for _, c := range []struct {
		name   string
		logs   []float64
		margin float64
		want   result.Verdict
		flip   float64 // 0: none
		warned bool
	}{
		{"all blocks on one side", []float64{-20, -22, -19, -21, -20, -18, -23}, 0.05, result.Worse, 2.0 / 128, false},
		{"too few for the second test", []float64{-20, -22, -19, -21, -20, -18}, 0.05, result.Worse, 0, false},
		{"two of seven on the other side", []float64{-22, -32, 1, -30, -22, -24, 1}, 0.05, result.CannotTell, 8.0 / 128, true},
		{"the same within the margin", []float64{-1.1, -1.6, 0.05, -1.5, -1.1, -1.2, 0.05}, 0.05, result.Same, 8.0 / 128, true},
	} {
		cells, warnings := Cells(blocks.HostAnd(), []string{"stream"}, paired(c.logs...), Rule{Margin: c.margin})
		got := cells[1]
		must.EqualFor(t, c.name, c.want, got.Verdict)
		must.True(t, (got.FlipP == nil) == (c.flip == 0) && (got.FlipP == nil || math.Abs(*got.FlipP-c.flip) <= 1e-12),
			"%s: p of the sign-flip test %v, want %g", c.name, got.FlipP, c.flip)
		if got.BlocksNeeded != nil && c.warned {
			t.Errorf("%s: %d more blocks would settle it by the t test", c.name, *got.BlocksNeeded)
		}
		must.EqualFor(t, c.name+": warned", c.warned, len(warnings) == 1 && warnings[0].Code == "tests_disagree")
	}
	cells, _ := Cells(blocks.HostAnd(), []string{"stream"}, paired(-20, -22, -19, -21, -20, -18, -23), Rule{Margin: 0.05, Pairing: PairNone})
	must.True(t, cells[1].FlipP == nil, "values without blocks have a sign-flip test")
}

// The packets of a second are the goodput in other units: their verdicts are one, and can be wrong once.
func TestChanceOfRestatedMetric(t *testing.T) {
	trials := paired(-20, -22, -19, -21, -20, -18, -23)
	for i := range trials {
		trials[i].Metrics["packet_rate"] = trials[i].Metrics["goodput"] / (8 * 36)
	}
	cells, _ := Cells(blocks.HostAnd(), []string{"stream"}, trials, Rule{Margin: 0.05})
	p := 0.01
	run := result.Run{Modes: blocks.HostAnd(), Cells: cells, Comparisons: []result.Comparison{
		{ID: "x", Metric: "goodput", N: 7, Judgement: result.Judgement{P: &p, Verdict: result.Worse}}, {ID: "x", Metric: "packet_rate", N: 7, Judgement: result.Judgement{P: &p, Verdict: result.Worse}},
	}}
	must.Require(t, len(cells) == 4 && math.Abs(*cells[1].Ratio-*cells[3].Ratio) <= 1e-12 && cells[1].Verdict == cells[3].Verdict, "%+v", cells)
	must.Equal(t, Chance{Comparisons: 2, Verdicts: 2, Families: 2}, ChanceOf(run))
	run.Cells, run.Comparisons = run.Cells[2:], run.Comparisons[1:]
	must.EqualFor(t, "of another program, without the goodput", Chance{Comparisons: 2, Verdicts: 2, Families: 2}, ChanceOf(run))
}

// The verdicts of the tail pass, which have an interval and no p, can be wrong as others can.
func TestChanceOfTails(t *testing.T) {
	cells, _ := Cells(Alike(1), []string{"rr"}, tailStudy(true), Rule{Margin: 0.05})
	of := func(tail bool) result.Run {
		return result.Run{Modes: Alike(1), Cells: slices.DeleteFunc(slices.Clone(cells), func(c result.Cell) bool { return (c.Tail != nil) != tail })}
	}
	must.Equal(t, Chance{Comparisons: 2, Verdicts: 2, Families: 2}, ChanceOf(of(true))) // the 99.9th and the 99.99th percentile
	must.Equal(t, len(of(false).Cells)/2, ChanceOf(of(false)).Families)
}

// The expected number of wrong verdicts counts what was judged, each family once.
func TestChanceOf(t *testing.T) {
	p, ci := 0.01, result.Interval{0.5, 0.6}
	cell := func(mode, metric string, n int, verdict result.Verdict) result.Cell {
		return result.Cell{Mode: mode, Workload: "rr", Metric: metric, N: n, Judgement: result.Judgement{P: &p, Verdict: verdict}}
	}
	run := result.Run{
		Modes: []result.Mode{{ID: "host"}, {ID: "control", Control: true}, {ID: "a"}, {ID: "b"}},
		Cells: []result.Cell{
			{Mode: "host", Workload: "rr", Metric: "m", N: 7},
			cell("control", "m", 7, result.Same), cell("a", "m", 7, result.Worse), cell("b", "m", 7, result.CannotTell),
			cell("a", "other", 7, result.Small), cell("b", "other", 2, result.CannotTell),
			{Mode: "a", Workload: "rr", Metric: "retransmits", N: 7, Judgement: result.Judgement{Verdict: result.Same}}, // 0 in both: no test
			{Mode: "a", Workload: "loud", Metric: "m", N: 7, Judgement: result.Judgement{P: &p, Verdict: result.CannotTell}},
		},
		NoisyWorkloads: []string{"loud"},
		Comparisons:    []result.Comparison{{ID: "x", A: result.Side{ID: "a", Workload: "rr"}, B: result.Side{ID: "b", Workload: "rr"}, Metric: "m", N: 7, Judgement: result.Judgement{P: &p, Verdict: result.Better}}},
		CostByParts: &result.CostByParts{Costs: []result.PartCosts{{Workload: "rr", Metric: "m",
			Steps:    []result.PartCost{{With: "b", Without: "a", RatioCI: &ci, Verdict: result.Worse}},
			Removals: []result.PartCost{{With: "b", Without: "a", RatioCI: &ci, Verdict: result.Worse}}}}},
	}
	got := ChanceOf(run)
	must.Equal(t, Chance{Comparisons: 6, Verdicts: 5, Families: 5}, got)
	must.True(t, math.Abs(got.Wrong()-0.3) <= 1e-12 && math.Abs(got.WrongFamilies()-0.25) <= 1e-12,
		"%g wrong, in %g families", got.Wrong(), got.WrongFamilies())
	run.Noisy = "load"
	must.Equal(t, Chance{}, ChanceOf(run))
}
