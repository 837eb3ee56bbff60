package plan

import (
	"slices"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/workloads"
)

// Profiles are the trials that only sample stacks, for a study that asks for sampling but
// has no cost pass to sample in. There is one for each mode and each workload that has a
// timed window, without slices; of a sweep only the first value. They run after the last
// block.
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
		if err != nil || !slices.Contains(t.Spec().Params, "duration") || w.WithLoad != "" || w.Event != "" { // samples do not tell a load from the exchanges, nor before an event from after it
			continue
		}
		one := variants(w)[0].Workload
		one.Slice = quantity.AtOnce
		for _, m := range s.ModeNames() {
			out = append(out, Trial{Block: max(1, s.Blocks), Mode: m, Workload: one, Profiled: true})
		}
	}
	return out
}
