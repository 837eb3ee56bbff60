package schedule

import (
	"slices"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// set is what is ruled out together: all modes with a workload in a block. Their
// ratios need trials that are close in time, and so one of them alone cannot be
// made up for later.
type set struct {
	block    int
	workload string
}

// requeued lists the trials of the plan that are to be run once more, in the order in
// which their sets were ruled out: those of each set with an invalid trial, but for
// what has been run once more already. The second outcome stands.
func requeued(planned []plan.Trial, ran []result.Trial) []plan.Trial {
	var sets []set
	type again struct {
		set
		mode string
	}
	made := map[again]bool{}
	for _, t := range ran {
		s := set{t.Block, t.Workload}
		switch {
		case t.Profiled: // it counts in no cell
		case t.Requeued && t.Status != result.TrialFailed:
			made[again{s, t.Mode}] = true
		case t.Status == result.TrialInvalid && !slices.Contains(sets, s):
			sets = append(sets, s)
		}
	}
	var out []plan.Trial
	for _, s := range sets {
		for _, t := range planned {
			if t.Block == s.block && t.Workload.ID == s.workload && !made[again{s, t.Mode}] {
				t.Requeued = true
				out = append(out, t)
			}
		}
	}
	return out
}

// Requeued are the trials to be run once more, at the end of the session: what disturbed
// them may have passed by then. None where the run would be noisy all the same, which
// says it all.
func (sc *Schedule) Requeued() []plan.Trial {
	todo := sc.Measurable(requeued(sc.Plan.Trials, sc.Trials))
	if len(todo) == 0 {
		return nil
	}
	if n := result.Count(analysis.Ordinary(sc.Trials)); tooManyInvalid(sc.cfg.Study.Invalid.Most, n, len(slices.DeleteFunc(slices.Clone(todo), plan.Trial.InCostPass))) {
		return nil
	}
	return todo
}

// tooManyInvalid is whether the run would be noisy even if every trial that is run once
// more counted.
func tooManyInvalid(most study.Share, n result.Tally, more int) bool {
	return most.On() && float64(n.Invalid) > most.Of*float64(n.OK+n.Invalid+more)
}
