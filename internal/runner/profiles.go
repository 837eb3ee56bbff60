package runner

import (
	"context"
	"time"

	"tare/internal/plan"
	"tare/internal/report/say"
	"tare/internal/result"
	"tare/internal/warning"
)

// profiles runs the trials that are only there to sample stacks, after all that count.
func (r *run) profiles(ctx context.Context) error {
	todo := r.unprofiled()
	if len(todo) == 0 {
		return nil
	}
	// Where stacks cannot be sampled, the trials would be for nothing.
	if can, err := r.observer.CanSample(); err != nil || !can {
		return err
	}
	r.todo = append(r.todo[:r.done:r.done], todo...)
	for i, t := range todo {
		one := []plan.Trial{t}
		if limit := r.limit(); limit > 0 && time.Since(r.began)+r.takes(one) > limit {
			r.warn(warning.MaxTime, "run", "%d of %d trials to sample stacks were left out: they would have ended after the time limit of %s", len(todo)-i, len(todo), say.Duration(limit))
			return nil
		}
		if err := r.together(ctx, one); err != nil {
			return err
		}
		r.done++
	}
	return nil
}

// unprofiled are those of such trials that a resumed run has not run yet, as long as
// those that counted were.
func (r *run) unprofiled() []plan.Trial {
	var out []plan.Trial
	block := max(1, r.finished())
	for _, t := range r.measurable(plan.Profiles(r.cfg.Study)) {
		t.Block = block
		done := false
		for _, d := range r.trials {
			if d.Mode != t.Mode || d.Workload != t.Workload.ID {
				continue
			}
			done = done || d.Profiled && d.Status == result.TrialOK
			if !d.Aside() && d.Window > 0 {
				t.Workload = timed(t.Workload, duration(d.Warmup), duration(d.Window))
			}
		}
		if !done {
			out = append(out, t)
		}
	}
	return out
}
