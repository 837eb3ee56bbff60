package runner

import (
	"context"
	"slices"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
)

// learn takes from the trials so far how long those to come are.
func (r *run) learn() {
	r.warm()
	r.lengthen()
	r.choosePass()
}

// remaining is the plan without what a resumed run has already.
func (r *run) remaining() []plan.Trial {
	return slices.DeleteFunc(slices.Clone(r.plan.Trials), func(t plan.Trial) bool {
		return slices.ContainsFunc(r.cfg.Done, func(d result.Trial) bool {
			return !d.Profiled && d.Status != result.TrialFailed && d.Block == t.Block && d.Mode == t.Mode && d.Workload == t.Workload.ID
		})
	})
}

// blocks runs the trials in their order, block by block, until it is enough. What
// was ruled out is made up for at the end.
func (r *run) blocks(ctx context.Context) error {
	r.plan = r.plan.Without(r.unready()...)
	r.todo, r.done = r.remaining(), 0
	err := r.untilEnough(ctx)
	r.stopped(r.finished())
	if err != nil {
		return err
	}
	if err := r.makeUp(ctx); err != nil {
		return err
	}
	return r.profiles(ctx)
}

// untilEnough runs block after block: in each, those trials that take turns
// together, the others one by one. Whether one more is run is decided between blocks
// alone, so that every mode is measured as often as every other.
func (r *run) untilEnough(ctx context.Context) error {
	r.learn()
	for first := true; r.done < len(r.todo); first = false {
		block := r.todo[r.done].Block
		if r.enough(block) {
			return nil
		}
		if !first {
			if err := r.renew(ctx, block); err != nil {
				return err
			}
		}
		if err := r.block(ctx, block); err != nil {
			return err
		}
		r.learn()
	}
	return nil
}

// block runs what is left of one block. How long that took, beside the estimate,
// is how the time of the next is told.
func (r *run) block(ctx context.Context, block int) error {
	rest := r.of(block)
	began, estimate := time.Now(), r.plan.Estimate(rest)
	for _, group := range plan.Groups(rest) {
		if err := r.together(ctx, group); err != nil {
			return err
		}
		r.done += len(group)
	}
	r.pace = max(r.pace, float64(time.Since(began))/float64(max(estimate, 1)))
	r.provisional(block)
	return nil
}

// of lists the trials of a block that are still to run; those of one block follow
// each other.
func (r *run) of(block int) []plan.Trial {
	rest := r.todo[r.done:]
	if i := slices.IndexFunc(rest, func(t plan.Trial) bool { return t.Block != block }); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// finished is the last block that is run to its end.
func (r *run) finished() int {
	if r.done < len(r.todo) {
		return r.todo[r.done].Block - 1
	}
	return r.plan.Blocks
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
