package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// verified lists the workloads of a study that have a second traffic generator.
func verified(s study.Study) []verdict.Verified {
	var out []verdict.Verified
	verifications := plan.Verifications(s)
	for _, w := range plan.Workloads(s) {
		if w.VerifyWith != "" {
			out = append(out, verdict.Verified{Workload: w.Name(), Twin: verifications[w.Name()], Tool: w.VerifyWith})
		}
	}
	return out
}

// scenarios are those of a study as a result has them, one for each value of a sweep.
func scenarios(s study.Study) []result.Scenario {
	var out []result.Scenario
	for _, sc := range plan.Scenarios(s) {
		out = append(out, result.Scenario(sc))
	}
	return out
}

// asked lists the comparisons of a study, one for each value of a sweep.
func asked(s study.Study) []verdict.ComparisonRequest {
	var out []verdict.ComparisonRequest
	for _, c := range s.Compare {
		suffixes, sides := plan.Sides(s, slices.Concat(c.A.Names(), c.B.Names())...)
		for i, names := range sides {
			a, b := names[:len(c.A.Names())], names[len(c.A.Names()):]
			out = append(out, verdict.ComparisonRequest{ID: c.Name() + suffixes[i], Title: c.Title, A: a, B: b, Expect: c.Expect})
		}
	}
	return out
}

// RuleOf is the rule of a study with these trials: a workload is noisy if too many of its trials are invalid, and
// all is if every workload is. The trials of the passes do not count: those of the cost pass are usually the only ones that
// are not interleaved.
func RuleOf(s study.Study, trials []result.Trial) verdict.Rule {
	r := verdict.Rule{Margin: s.Margin, Indicative: s.Profile == study.Quick, NoisyIn: map[string]string{}}
	of := map[string]result.Tally{}
	for _, t := range Ordinary(trials) {
		n := of[t.Workload]
		n.Add(t.Status)
		of[t.Workload] = n
	}
	for w, n := range of {
		if n.OK+n.Invalid == 0 {
			delete(of, w) // all failed
		} else if why := noisy(n, s.Invalid); why != "" {
			r.NoisyIn[w] = why
		}
	}
	if len(of) > 0 && len(r.NoisyIn) == len(of) {
		r.Noisy = noisy(result.Count(Ordinary(trials)), s.Invalid)
	}
	return r
}

// Ordinary returns the trials without those of the cost pass, the sensitivity pass and the tail pass.
func Ordinary(trials []result.Trial) []result.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool {
		_, varied := result.VariedFrom(t.Workload)
		return varied || t.Workload == study.CostPassID || t.TailRate > 0
	})
}

// noisy is the reason why trials are too noisy to judge: more of them are invalid than the study allows. It is
// empty otherwise.
func noisy(n result.Tally, rules study.Invalid) string {
	all := n.OK + n.Invalid
	if !rules.Most.On() || n.Invalid == 0 || float64(n.Invalid) <= rules.Most.Of*float64(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d trials are invalid, more than %s: no verdict is possible", n.Invalid, all, verdict.Percent(rules.Most.Of))
}

// measured are the workloads of a study and that of its cost pass.
func measured(s study.Study) []study.Workload {
	all := plan.Workloads(s)
	if pass, _, ok := plan.CostPass(s); ok {
		all = append(all, pass.Workload)
	}
	return all
}

// ModeOf is a mode of a study as a result has it before the run. Its title is that of the
// study, or else the given one, and baseline is the one of its driver.
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
