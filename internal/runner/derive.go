package runner

import (
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// Verified lists the workloads of a study that are weighed with a second tool.
func Verified(s study.Study) []result.Verified {
	var out []result.Verified
	twins := plan.Twins(s)
	for _, w := range s.Workloads {
		if w.VerifyWith != "" {
			out = append(out, result.Verified{Workload: w.Name(), Twin: twins[w.Name()], Tool: w.VerifyWith})
		}
	}
	return out
}

// Scenarios are those of a study, as results have them.
func Scenarios(s study.Study) []result.Scenario {
	var out []result.Scenario
	for _, sc := range s.Scenarios {
		out = append(out, result.Scenario(sc))
	}
	return out
}

// Asked lists the comparisons that a study asks for.
func Asked(s study.Study) []result.Asked {
	var out []result.Asked
	for _, c := range s.Compare {
		out = append(out, result.Asked{ID: c.Name(), Title: c.Title, A: c.A.Names(), B: c.B.Names(), Expect: c.Expect})
	}
	return out
}

// Rule is how the cells of a study are judged.
func Rule(s study.Study) result.Rule {
	return result.Rule{Margin: s.Margin, Indicative: s.Profile == study.Quick}
}
