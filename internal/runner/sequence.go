package runner

import (
	"context"
	"fmt"
	"time"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/warning"
)

// blocks runs the trials in their order, block by block, until it is enough. What
// was ruled out is made up for at the end.
func (r *run) blocks(ctx context.Context) error {
	r.schedule.Begin()
	err := r.runBlocks(ctx)
	r.schedule.Stopped(r.schedule.Finished())
	if err != nil {
		return err
	}
	if err := r.requeueInvalid(ctx); err != nil {
		return err
	}
	return r.profiles(ctx)
}

// runBlocks runs block after block: in each, those trials that take turns
// together, the others one by one. Whether one more is run is decided between blocks
// alone, so that every mode is measured as often as every other.
func (r *run) runBlocks(ctx context.Context) error {
	r.schedule.UpdateEstimates()
	for first := true; r.schedule.Done < len(r.schedule.Todo); first = false {
		block := r.schedule.Todo[r.schedule.Done].Block
		if r.schedule.Enough(block) {
			return nil
		}
		if !first {
			if err := r.recreateDue(ctx, block); err != nil {
				return err
			}
		}
		if err := r.block(ctx, block); err != nil {
			return err
		}
		r.schedule.UpdateEstimates()
	}
	return nil
}

// block runs what is left of one block. How long that took, beside the estimate,
// is how the time of the next is told.
func (r *run) block(ctx context.Context, block int) error {
	rest := r.schedule.BlockTrials(block)
	began, estimate := time.Now(), r.schedule.Plan.Estimate(rest)
	for _, group := range plan.Groups(rest) {
		if err := r.runGroup(ctx, group); err != nil {
			return err
		}
		r.schedule.Done += len(group)
	}
	r.schedule.RecordTime(time.Since(began), estimate)
	r.provisional(block)
	return nil
}

// requeueInvalid runs the sets of which a trial was ruled out once more, at the end of the
// session: what disturbed them may have passed by then.
func (r *run) requeueInvalid(ctx context.Context) error {
	todo := r.schedule.Requeued()
	if len(todo) == 0 {
		return nil
	}
	r.schedule.Append(todo)
	for i, group := range plan.Groups(todo) {
		if !r.schedule.InTime(group) {
			r.warn(warning.MaxTime, "run", "%d of %d groups with an invalid trial were not repeated: they would have ended after the time limit of %s",
				len(plan.Groups(todo))-i, len(plan.Groups(todo)), wording.Duration(r.schedule.Limit()))
			return nil
		}
		if err := r.runGroup(ctx, group); err != nil {
			return err
		}
		r.schedule.Done += len(group)
	}
	return nil
}

// profiles runs the trials that are only there to sample stacks, after all that count.
func (r *run) profiles(ctx context.Context) error {
	todo := r.schedule.Unprofiled()
	if len(todo) == 0 {
		return nil
	}
	// Where stacks cannot be sampled, the trials would be for nothing.
	if can, err := r.observer.CanSample(); err != nil || !can {
		return err
	}
	r.schedule.Append(todo)
	for i, t := range todo {
		one := []plan.Trial{t}
		if !r.schedule.InTime(one) {
			r.warn(warning.MaxTime, "run", "%d of %d trials to sample stacks were left out: they would have ended after the time limit of %s", len(todo)-i, len(todo), wording.Duration(r.schedule.Limit()))
			return nil
		}
		if err := r.runGroup(ctx, one); err != nil {
			return err
		}
		r.schedule.Done++
	}
	return nil
}

// provisionalAfter is the block after which a run tells what it has seen so far:
// the first with which an interval can be given.
const provisionalAfter = 2

// manyTrials is when judging them takes so long that it is not done after every block.
const manyTrials = 5000

// provisional tells what there is after so many blocks, once, or from then on after every
// block where somebody looks. No verdict is given away: a run that could be ended for it
// would be ended when it looks well.
func (r *run) provisional(block int) {
	again := r.cfg.Progress > 0 && block > provisionalAfter && (len(r.schedule.Trials) < manyTrials || block%10 == 0)
	if block != provisionalAfter && !again || r.schedule.Plan.Blocks <= block {
		return
	}
	cells, _ := analysis.Cells(r.modes(), plan.Names(r.cfg.Study), r.schedule.Trials, analysis.RuleOf(r.cfg.Study, nil))
	for i := range cells {
		c := &cells[i]
		c.Verdict, c.P, c.BlocksNeeded = "", nil, nil
	}
	r.tell(live.Provisional{Blocks: block, Cells: cells})
}

// attempts is how often a trial is tried in its block: what fails twice is not
// tried in later blocks.
const attempts = 2

// runGroup runs the trials of a group, and again those that failed.
func (r *run) runGroup(ctx context.Context, group []plan.Trial) error {
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
	group := r.trialRuns(trials, attempt)
	if err = r.waitBeforeGroup(ctx, group); err == nil {
		r.observer.ObserveGroup(ctx, seen(group), func() { r.drive(ctx, group) })
	}
	if ctx.Err() != nil {
		// What an interruption cut short is no result, not even a failed one.
		return nil, ctx.Err()
	}
	for _, tr := range group {
		tr.evaluate()
		r.observer.RecordCPUCost(tr.observed, tr.cpuUse())
		tr.observed.ReadConntrack(ctx)
	}
	r.markInvalid(group)
	for _, tr := range group {
		if err := r.record(tr.conclude(len(r.schedule.Trials) + 1)); err != nil {
			return nil, err
		}
		if tr.shown != nil {
			tr.shown.Trial, tr.tested.proof = len(r.schedule.Trials), tr.shown
		}
		switch {
		case tr.err == nil:
		case tr.out.Void:
			r.settleMode(tr.tested, result.ModeVoid, tr.err.Error())
		case attempt == attempts && (tr.Pilot() || tr.Profiled):
			// Its fate is told when the pilots are looked at: the mode has done nothing
			// yet that counts.
		case attempt == attempts:
			r.drop(tr)
		default:
			again = append(again, tr.Trial)
		}
	}
	return again, nil
}

// drive carries out the trials of a group in the way that their traffic takes.
func (r *run) drive(ctx context.Context, group []*trialRun) {
	switch {
	case group[0].IsSearch():
		r.observer.Observe(seen(group), func() { r.searches(ctx, group) })
		return
	case group[0].Sliced():
		r.runInterleaved(ctx, group)
		return
	}
	for _, tr := range group {
		r.runWhole(ctx, tr)
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

// drop gives up the workload of a trial for its mode, and the mode with the last
// of its workloads.
func (r *run) drop(tr *trialRun) {
	reason := fmt.Sprintf("a trial of %s failed %d times in block %d: %v", tr.Workload.ID, attempts, tr.Block, tr.err)
	if last := r.schedule.Drop(tr.Mode, tr.Workload.ID); !last {
		r.warn(warning.WorkloadFailed, tr.Mode+" "+tr.Workload.ID, "%s; it is not repeated", reason)
		return
	}
	r.settleMode(tr.tested, result.ModeFailed, reason)
}
