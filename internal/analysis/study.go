package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// verified lists the workloads of a study that are weighed with a second tool.
func verified(s study.Study) []Verified {
	var out []Verified
	twins := plan.Verifications(s)
	for _, w := range s.Workloads {
		if w.VerifyWith != "" {
			out = append(out, Verified{Workload: w.Name(), Twin: twins[w.Name()], Tool: w.VerifyWith})
		}
	}
	return out
}

// scenarios are those of a study, as results have them: one of a sweep for each rate.
func scenarios(s study.Study) []result.Scenario {
	var out []result.Scenario
	for _, sc := range plan.Scenarios(s) {
		out = append(out, result.Scenario(sc))
	}
	return out
}

// asked lists the comparisons that a study asks for, those of sweeps for each rate.
func asked(s study.Study) []ComparisonRequest {
	var out []ComparisonRequest
	for _, c := range s.Compare {
		suffixes, sides := plan.Sides(s, slices.Concat(c.A.Names(), c.B.Names())...)
		for i, names := range sides {
			a, b := names[:len(c.A.Names())], names[len(c.A.Names()):]
			out = append(out, ComparisonRequest{ID: c.Name() + suffixes[i], Title: c.Title, A: a, B: b, Expect: c.Expect})
		}
	}
	return out
}

// RuleOf is how the cells of a study are judged, whose trials came out as given: with
// too many ruled out, they tell nothing.
func RuleOf(s study.Study, trials []result.Trial) Rule {
	return Rule{Margin: s.Margin, Indicative: s.Profile == study.Quick, Noisy: noisy(trials, s.Invalid)}
}

// Ordinary leaves out the trials of the cost pass.
func Ordinary(trials []result.Trial) []result.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Workload == study.CostPassID })
}

// noisy says why a run is not fit to judge: more of its trials were ruled out than
// the study allows. Empty: it is fit. The cost pass, which alone runs outside of
// turns as a rule, does not decide about the figures of the others.
func noisy(trials []result.Trial, rules study.Invalid) string {
	n := result.Count(Ordinary(trials))
	all := n.OK + n.Invalid
	if !rules.Most.On() || n.Invalid == 0 || float64(n.Invalid) <= rules.Most.Of*float64(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d trials were ruled out, more than %s: no difference is to be believed", n.Invalid, all, percent(rules.Most.Of))
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// measured are the workloads of a study, with that of its cost pass.
func measured(s study.Study) []study.Workload {
	all := plan.Workloads(s)
	if pass, _, ok := plan.CostPass(s); ok {
		all = append(all, pass.Workload)
	}
	return all
}

// ModeOf is a mode of a study as results have it before anything became of it. Its title
// is that of the study, or the one given, and baseline is what its driver compares it with.
func ModeOf(s study.Study, id, title, baseline string) result.Mode {
	asked, _ := s.ModeNamed(id)
	m := result.Mode{
		ID: id, Title: cmp.Or(asked.Title, title), Description: asked.Description, Baseline: s.BaselineOf(asked, baseline),
		Control: s.Control && id == study.ControlID,
	}
	if asked.Mode != id {
		m.Mode = asked.Mode
	}
	return m
}
