package plan

import (
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/study"
)

// Settings are what decides the trials of a resolved study: the traffic of each workload,
// each verification workload, each value of a sweep, the cost pass and the sensitivity pass; each mode with its
// options, limits and lab; and what applies to all. The names of all modes are among the
// latter, because the modes of a block take turns and are compared within it. Left out
// are names and texts, the seed, how many blocks there are and how often a workload runs
// in them, and how trials are judged.
func Settings(s study.Study) result.Settings {
	out := result.Settings{Modes: map[string]map[string]string{}, Workloads: map[string]map[string]string{}}
	out.Study = study.Flat(s.Fields(), study.Apart(s.Fields())...)
	names := slices.Clone(s.ModeNames())
	slices.Sort(names)
	out.Study["modes"] = strings.Join(names, ", ")
	for _, m := range s.Modes {
		lab := s.LabOf(m)
		m.Lab, m.Limits = &lab, m.Limits.Or(s.Limits)
		out.Modes[m.Name()] = study.Flat(m.Fields(), "id", "title", "description")
	}
	all := Workloads(s)
	if pass, _, passing := CostPass(s); passing {
		all = append(all, pass.Workload)
	}
	for _, v := range Varied(s) {
		all = append(all, v.Workload)
	}
	for _, w := range all {
		out.Workloads[w.Name()] = study.Flat(w.Fields(), "id", "verify_with", "every", "times")
	}
	return out
}
