package runner

import (
	"context"
	"slices"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
)

// remaining is the plan without what a resumed run has already.
func (r *run) remaining() []plan.Trial {
	return slices.DeleteFunc(slices.Clone(r.plan.Trials), func(t plan.Trial) bool {
		return slices.ContainsFunc(r.cfg.Done, func(d result.Trial) bool {
			return d.Status == result.TrialOK && d.Block == t.Block && d.Mode == t.Mode && d.Workload == t.Workload.ID
		})
	})
}

// blocks runs the trials in their order: those that take turns together, the
// others one by one. What was ruled out is made up for at the end.
func (r *run) blocks(ctx context.Context) error {
	r.plan = r.plan.Without(r.unready()...)
	r.todo, r.done = r.remaining(), 0
	began := time.Now()
	for _, group := range plan.Groups(r.todo) {
		if r.overtime(began, r.todo, r.done) {
			r.warn("max_time", "run", "stopped after block %d of %d: the next would have ended after the time limit of %s",
				group[0].Block-1, r.plan.Blocks, r.cfg.Study.MaxTime)
			break
		}
		if err := r.together(ctx, group); err != nil {
			return err
		}
		r.done += len(group)
	}
	return r.makeUp(ctx)
}

// makeUp runs the groups of which a trial was ruled out once more, at the end of
// the session.
func (r *run) makeUp(ctx context.Context) error {
	for _, group := range r.later {
		if err := r.together(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// unready lists the modes that are not there to be measured.
func (r *run) unready() []string {
	var out []string
	for _, s := range r.stages {
		if s.status != result.ModeMeasured {
			out = append(out, s.mode.ID)
		}
	}
	return out
}

// overtime says, at the first trial of a block, whether the block would end
// after the study's time limit.
func (r *run) overtime(began time.Time, todo []plan.Trial, i int) bool {
	limit := r.cfg.Study.MaxTime.Std()
	if limit == 0 || i > 0 && todo[i-1].Block == todo[i].Block {
		return false
	}
	var block []plan.Trial
	for _, t := range todo[i:] {
		if t.Block == todo[i].Block {
			block = append(block, t)
		}
	}
	return time.Since(began)+r.plan.Estimate(block) > limit
}
