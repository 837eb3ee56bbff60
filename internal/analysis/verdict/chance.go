package verdict

import (
	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// Chance is how many verdicts of a run are expected to be wrong although nothing is wrong with the measurements. Comparisons is the
// number of those that were judged, of which Verdicts have another verdict than [result.CannotTell], and Families the
// number of families that are corrected together.
type Chance struct{ Comparisons, Verdicts, Families int }

// level is that of each of the two tests of [stats.Decide], of the sign-flip test, and of a family after its correction.
const level = 1 - readings.Confidence

// Wrong is the largest expected number of wrong verdicts: of two equal modes that differ, of two that differ by more than the margin
// that they are the same within it, or that the difference is small. One true ratio allows only one of these, and the
// test against each has the level 5 %, so it is 5 % of the comparisons, corrected or not.
func (c Chance) Wrong() float64 { return level * float64(c.Comparisons) }

// WrongFamilies is the largest expected number of families in which a difference is claimed that does not exist.
func (c Chance) WrongFamilies() float64 { return level * float64(c.Families) }

// ChanceOf counts the cells, the comparisons that the study asks for, and the steps of a cost by parts. What is too noisy to judge, has
// too few blocks or no ratio has no part in it, nor have tests that give no verdict: of a ranking, of a crossing, of a claim. A
// metric that states another one in other units ([result.RestatedAs]) can only be wrong together with it, and counts with it.
func ChanceOf(run result.Run) Chance {
	var out Chance
	families := map[any]bool{}
	count := func(family any, verdict result.Verdict, judged bool) {
		if !judged || verdict == "" || run.Noisy != "" {
			return
		}
		out.Comparisons++
		families[family] = true
		if verdict != result.CannotTell {
			out.Verdicts++
		}
	}
	controls := map[string]bool{}
	for _, m := range run.Modes {
		controls[m.ID] = m.Control
	}
	type pair struct{ kind, with, without, workload, metric string }
	has := map[pair]bool{}
	for _, c := range run.Cells {
		has[pair{"cells", c.Mode, "", c.Workload, c.Metric}] = true
	}
	for _, c := range run.Comparisons {
		has[pair{"comparisons", c.ID, c.A.Workload, c.B.Workload, c.Metric}] = true
	}
	// restated reports whether a result is there in other units, too.
	restated := func(as pair) (too bool) {
		of, ok := result.RestatedAs(as.metric)
		as.metric = of
		return ok && has[as]
	}
	for _, c := range run.Cells {
		family := pair{"cells", "", "", c.Workload, c.Metric}
		if controls[c.Mode] {
			family.with = c.Mode
		}
		tested := c.P != nil && c.N >= stats.MinPairs || c.Tail != nil && c.RatioCI != nil
		count(family, c.Verdict, tested && !restated(pair{"cells", c.Mode, "", c.Workload, c.Metric}) && !run.NoisyIn(c.Workload))
	}
	for _, c := range run.Comparisons {
		noisy := false
		for _, t := range append(c.A.Terms(), c.B.Terms()...) {
			noisy = noisy || run.NoisyIn(t.Workload)
		}
		count(pair{kind: "comparisons", metric: c.Metric}, c.Verdict, c.P != nil && c.N >= stats.MinPairs && !restated(pair{"comparisons", c.ID, c.A.Workload, c.B.Workload, c.Metric}) && !noisy)
	}
	if run.CostByParts != nil {
		seen := map[pair]bool{}
		for _, c := range run.CostByParts.Costs {
			for _, steps := range [][]result.PartCost{c.Steps, c.Removals} {
				for _, s := range steps {
					step := pair{"ladder", s.With, s.Without, c.Workload, c.Metric}
					count(pair{kind: "ladder", metric: c.Metric}, s.Verdict, s.RatioCI != nil && !seen[step] && !run.NoisyIn(c.Workload))
					seen[step] = true
				}
			}
		}
	}
	out.Families = len(families)
	return out
}
