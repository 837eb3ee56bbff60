package plan

import (
	"slices"

	"tare/internal/study"
	"tare/internal/traffic/workloads"
)

// Profiles are the trials that are only there to sample stacks: where a study wants
// them in any case and has no cost pass to sample them in. There is one of each mode
// with each workload that has a timed window, in one piece; of a sweep with its first
// rate alone. They stand behind the last block.
func Profiles(s study.Study) []Trial {
	if s.Evidence.Stacks != study.On {
		return nil
	}
	if _, _, passing := CostPass(s); passing {
		return nil
	}
	var out []Trial
	for _, w := range s.Workloads {
		t, err := workloads.Named(w.Kind)
		if err != nil || !slices.Contains(t.Spec().Params, "duration") {
			continue
		}
		one := rates(w)[0]
		one.Slice = study.AtOnce
		for _, m := range s.ModeNames() {
			out = append(out, Trial{Block: max(1, s.Blocks), Mode: m, Workload: one, Profiled: true})
		}
	}
	return out
}
