package runner

import (
	"context"
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/report/say"
	"tare/internal/result"
	"tare/internal/warning"
)

// set is what is ruled out together: all modes with a workload in a block. Their
// ratios need trials that are close in time, and so one of them alone cannot be
// made up for later.
type set struct {
	block    int
	workload string
}

// owed lists the trials of the plan that are to be run once more, in the order in
// which their sets were ruled out: those of each set with an invalid trial, but for
// what has been run once more already. The second outcome stands.
func owed(planned []plan.Trial, ran []result.Trial) []plan.Trial {
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

// makeUp runs the sets of which a trial was ruled out once more, at the end of the
// session: what disturbed them may have passed by then.
func (r *run) makeUp(ctx context.Context) error {
	todo := r.measurable(owed(r.plan.Trials, r.trials))
	if len(todo) == 0 {
		return nil
	}
	if n := result.Count(analysis.Ordinary(r.trials)); r.hopeless(n, len(slices.DeleteFunc(slices.Clone(todo), plan.Trial.Costing))) {
		return nil // and the run is noisy, which says it all
	}
	r.todo = append(slices.Clone(r.todo[:r.done]), todo...)
	for i, group := range plan.Groups(todo) {
		if limit := r.limit(); limit > 0 && time.Since(r.began)+r.takes(group) > limit {
			r.warn(warning.MaxTime, "run", "%d of %d groups of trials with one that was ruled out were not run again: they would have ended after the time limit of %s",
				len(plan.Groups(todo))-i, len(plan.Groups(todo)), say.Duration(limit))
			return nil
		}
		if err := r.together(ctx, group); err != nil {
			return err
		}
		r.done += len(group)
	}
	return nil
}

// hopeless is whether the run would be noisy even if every trial that is run once
// more counted.
func (r *run) hopeless(n result.Tally, more int) bool {
	most := r.cfg.Study.Invalid.Most
	return most.On() && float64(n.Invalid) > most.Of*float64(n.OK+n.Invalid+more)
}
