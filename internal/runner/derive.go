package runner

import (
	"slices"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// Verified lists the workloads of a study that are weighed with a second tool.
func Verified(s study.Study) []analysis.Verified {
	var out []analysis.Verified
	twins := plan.Twins(s)
	for _, w := range s.Workloads {
		if w.VerifyWith != "" {
			out = append(out, analysis.Verified{Workload: w.Name(), Twin: twins[w.Name()], Tool: w.VerifyWith})
		}
	}
	return out
}

// Scenarios are those of a study, as results have them: one of a sweep for each rate.
func Scenarios(s study.Study) []result.Scenario {
	var out []result.Scenario
	for _, sc := range plan.Scenarios(s) {
		out = append(out, result.Scenario(sc))
	}
	return out
}

// Asked lists the comparisons that a study asks for, those of sweeps for each rate.
func Asked(s study.Study) []analysis.Asked {
	var out []analysis.Asked
	for _, c := range s.Compare {
		suffixes, sides := plan.Sides(s, slices.Concat(c.A.Names(), c.B.Names())...)
		for i, names := range sides {
			a, b := names[:len(c.A.Names())], names[len(c.A.Names()):]
			out = append(out, analysis.Asked{ID: c.Name() + suffixes[i], Title: c.Title, A: a, B: b, Expect: c.Expect})
		}
	}
	return out
}

// Rule is how the cells of a study are judged, whose trials came out as given: with
// too many ruled out, they tell nothing.
func Rule(s study.Study, trials []result.Trial) analysis.Rule {
	return analysis.Rule{Margin: s.Margin, Indicative: s.Profile == study.Quick, Noisy: noisy(trials, s.Invalid)}
}
