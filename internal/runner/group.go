package runner

import (
	"context"
	"fmt"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/warning"
)

// attempts is how often a trial is tried in its block: what fails twice is not
// tried in later blocks.
const attempts = 2

// together runs the trials of a group, and again those that failed.
func (r *run) together(ctx context.Context, group []plan.Trial) error {
	pending := group
	for attempt := 1; attempt <= attempts; attempt++ {
		if pending = r.schedule.Measurable(pending); len(pending) == 0 {
			break
		}
		r.tell(live.TrialStarted{Done: r.schedule.Done, Total: len(r.schedule.Todo), Block: group[0].Block, Blocks: r.schedule.Plan.Blocks, Modes: modesOf(pending),
			Workload: group[0].Workload.ID, Attempt: attempt, Remaining: r.schedule.Plan.Estimate(r.schedule.Todo[min(r.schedule.Done, len(r.schedule.Todo)):])})
		var err error
		if pending, err = r.attempt(ctx, pending, attempt); err != nil {
			return err
		}
	}
	return nil
}

func modesOf(trials []plan.Trial) []string {
	var modes []string
	for _, t := range trials {
		modes = append(modes, t.Mode)
	}
	return modes
}

// attempt runs a group of trials and records them. It returns those that are to
// be tried again.
func (r *run) attempt(ctx context.Context, trials []plan.Trial, attempt int) (again []plan.Trial, err error) {
	lanes := r.lanes(trials, attempt)
	if err = r.settleDown(ctx, lanes); err == nil {
		r.observer.Group(ctx, seen(lanes), func() { r.drive(ctx, lanes) })
	}
	if ctx.Err() != nil {
		// What an interruption cut short is no result, not even a failed one.
		return nil, ctx.Err()
	}
	for _, l := range lanes {
		l.figure()
		r.observer.Bill(l.seen, l.use())
		l.seen.Tracked(ctx)
	}
	r.ruleOut(lanes)
	for _, l := range lanes {
		if err := r.record(l.conclude(len(r.schedule.Trials) + 1)); err != nil {
			return nil, err
		}
		if l.shown != nil {
			l.shown.Trial, l.stage.proof = len(r.schedule.Trials), l.shown
		}
		switch {
		case l.err == nil:
		case l.out.Void:
			r.settle(l.stage, result.ModeVoid, l.err.Error())
		case attempt == attempts && (l.Pilot() || l.Profiled):
			// Its fate is told when the pilots are looked at: the mode has done nothing
			// yet that counts.
		case attempt == attempts:
			r.drop(l)
		default:
			again = append(again, l.Trial)
		}
	}
	return again, nil
}

// drive carries out the trials of a group in the way that their traffic takes.
func (r *run) drive(ctx context.Context, lanes []*lane) {
	switch {
	case lanes[0].Searching():
		r.observer.Around(seen(lanes), func() { r.searches(ctx, lanes) })
		return
	case lanes[0].Sliced():
		r.inTurns(ctx, lanes)
		return
	}
	for _, l := range lanes {
		r.atOnce(ctx, l)
	}
}

func (r *run) record(t result.Trial) error {
	if err := r.cfg.Dir.Append(t); err != nil {
		return err
	}
	r.schedule.Trials = append(r.schedule.Trials, t)
	r.tell(live.TrialEnded{Trial: t})
	return nil
}

// drop gives up the workload of a lane for its mode, and the mode with the last
// of its workloads.
func (r *run) drop(l *lane) {
	reason := fmt.Sprintf("a trial of %s failed %d times in block %d: %v", l.Workload.ID, attempts, l.Block, l.err)
	if last := r.schedule.Drop(l.Mode, l.Workload.ID); !last {
		r.warn(warning.WorkloadFailed, l.Mode+" "+l.Workload.ID, "%s; it was not tried again", reason)
		return
	}
	r.settle(l.stage, result.ModeFailed, reason)
}
