package schedule

import (
	"slices"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study/quantity"
)

// set identifies trials that become invalid together: all modes with one workload in one
// block. Their ratios need trials that are close in time, so a single one cannot be
// repeated later.
type set struct {
	block    int
	workload string
}

// requeued lists the trials that must be repeated, in the order in which their sets
// became invalid: all trials that ran of each set with an invalid trial, except sets that
// were already repeated. The second outcome is final.
func requeued(planned func(block int) []plan.Trial, ran []outcome) []plan.Trial {
	var sets []set
	type again struct {
		set
		mode string
	}
	made, measured := map[again]bool{}, map[again]bool{}
	for _, t := range ran {
		s := set{t.block, t.workload}
		if !t.aside() {
			measured[again{s, t.mode}] = true
		}
		switch {
		case t.aside(): // it counts in no cell
		case t.requeued && t.status != result.TrialFailed:
			made[again{s, t.mode}] = true
		case t.status == result.TrialInvalid && !slices.Contains(sets, s):
			sets = append(sets, s)
		}
	}
	var out []plan.Trial
	for _, s := range sets {
		for _, t := range planned(s.block) {
			if a := (again{s, t.Mode}); t.Workload.ID == s.workload && measured[a] && !made[a] {
				t.Requeued = true
				out = append(out, t)
			}
		}
	}
	return out
}

// Requeued are the trials to repeat at the end of the session, when the disturbance may
// have ended. There are none of a workload that would remain noisy anyway.
func (sc *Schedule) Requeued() []plan.Trial {
	todo := sc.Measurable(requeued(sc.Plan.Block, sc.outcomes))
	again := map[string]int{}
	for _, t := range todo {
		again[t.Workload.ID]++
	}
	return slices.DeleteFunc(todo, func(t plan.Trial) bool {
		return !t.InCostPass() && tooManyInvalid(sc.cfg.Study.Invalid.Most, sc.tallies[t.Workload.ID], again[t.Workload.ID])
	})
}

// tooManyInvalid reports whether a workload would be noisy even if every repeated trial were
// valid.
func tooManyInvalid(most quantity.Share, n result.Tally, more int) bool {
	return most.On() && float64(n.Invalid) > most.Of*float64(n.OK+n.Invalid+more)
}
