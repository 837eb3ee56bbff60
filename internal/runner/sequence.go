package runner

import (
	"context"
	"fmt"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/driver"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/schedule"
	"tare/internal/warning"
	"tare/internal/wording"
)

// blocks runs the trials block by block until the schedule ends the run, and repeats
// invalid sets at the end.
func (r *run) blocks(ctx context.Context) error {
	r.schedule.Begin()
	r.schedule.Forwarded(r.forwarded())
	err := r.runBlocks(ctx)
	r.schedule.Stopped(r.schedule.Finished())
	if err != nil {
		return err
	}
	if err := r.requeueInvalid(ctx); err != nil {
		return err
	}
	if err := r.tails(ctx); err != nil {
		return err
	}
	return r.profiles(ctx)
}

// forwarded are the modes whose packets a process forwards.
func (r *testbed) forwarded() (ids []string) {
	for _, s := range r.tested {
		if s.path != nil && s.topology != nil && driver.Forwarded(s.path.Rules, s.topology.Nodes) {
			ids = append(ids, s.mode.ID)
		}
	}
	return ids
}

// runBlocks runs the blocks: interleaved trials together, the others one by one. The
// decision to run another block is made only between blocks, so that all modes are
// measured equally often.
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

// block runs the rest of one block. The ratio of its duration to the estimate adjusts the
// estimates of later blocks, and that of each search those of later searches.
func (r *run) block(ctx context.Context, block int) error {
	rest := r.schedule.BlockTrials(block)
	estimate := r.schedule.Plan.Estimate(schedule.WithoutSearches(rest))
	var took time.Duration // of the others
	for _, group := range plan.Groups(rest) {
		began, patience := time.Now(), r.patience
		if err := r.runGroup(ctx, group); err != nil {
			return err
		}
		r.schedule.Done += len(group)
		long := time.Since(began) - (patience - r.patience)
		if group[0].IsSearch() {
			r.schedule.RecordSearch(group, long)
		} else {
			took += long
		}
	}
	r.schedule.RecordTime(schedule.WithoutSearches(rest), took, estimate)
	r.provisional(block)
	return r.recordSession()
}

// requeueInvalid repeats the sets that contain an invalid trial, at the end of the
// session, when the disturbance may have ended.
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

// tails runs the tail pass, after all trials that count in other cells: its rates are half of what they reached. Modes are
// recreated between its rounds as between blocks.
func (r *run) tails(ctx context.Context) error {
	todo := r.schedule.Tails()
	r.schedule.Append(todo)
	for i, t := range todo {
		one := []plan.Trial{t}
		if !r.schedule.InTime(one) {
			r.warn(warning.MaxTime, "run", "%d of %d trials of the tail pass were skipped: they would have exceeded the time limit of %s", len(todo)-i, len(todo), wording.Duration(r.schedule.Limit()))
			r.schedule.Append(nil)
			return nil
		}
		if i > 0 && t.Block != todo[i-1].Block {
			if err := r.recreateDue(ctx, t.Block); err != nil {
				return err
			}
		}
		if err := r.runGroup(ctx, one); err != nil {
			return err
		}
		r.schedule.Done++
	}
	return nil
}

// profiles runs the trials that only sample stacks, after all trials that count.
func (r *run) profiles(ctx context.Context) error {
	todo := r.schedule.Unprofiled()
	if len(todo) == 0 {
		return nil
	}
	// Without stack sampling these trials have no purpose.
	if can, err := r.observer.CanSample(); err != nil || !can {
		return err
	}
	r.schedule.Append(todo)
	for i, t := range todo {
		one := []plan.Trial{t}
		if !r.schedule.InTime(one) {
			r.warn(warning.MaxTime, "run", "%d of %d trials that sample stacks were skipped: they would have exceeded the time limit of %s", len(todo)-i, len(todo), wording.Duration(r.schedule.Limit()))
			return nil
		}
		if err := r.runGroup(ctx, one); err != nil {
			return err
		}
		r.schedule.Done++
	}
	return nil
}

// provisionalAfter is the block after which a run reports intermediate results: the first
// after which an interval exists.
const provisionalAfter = 2

// manyTrials is the number of trials from which intermediate results are not computed
// after every block, because it takes too long.
const manyTrials = 5000

// provisional reports intermediate results after the block provisionalAfter and, if the
// run reports progress, after later blocks. They contain no intervals and no verdicts: this prevents
// optional stopping.
func (r *run) provisional(block int) {
	again := r.cfg.Progress > 0 && block > provisionalAfter && (r.schedule.Recorded() < manyTrials || block%10 == 0)
	if block != provisionalAfter && !again || r.schedule.Plan.Blocks <= block {
		return
	}
	cells, _ := verdict.Judge(verdict.Input{Modes: r.modes(), Workloads: plan.Names(r.cfg.Study), Values: r.schedule.Values(), Rule: analysis.RuleOf(r.cfg.Study, nil)})
	for i := range cells {
		c := &cells[i]
		c.CI, c.Judgement = nil, result.Judgement{Ratio: c.Ratio}
	}
	r.tell(live.Provisional{Blocks: block, Cells: cells})
}

// attempts is how many times a trial is tried in its block. If all attempts fail, it is
// not tried in later blocks.
const attempts = 2

// runGroup runs the trials of a group, and repeats those that failed.
func (r *run) runGroup(ctx context.Context, group []plan.Trial) error {
	pending := group
	for attempt := 1; attempt <= attempts; {
		if err := r.recreateLost(ctx, pending); err != nil {
			return err
		}
		if pending = r.schedule.Measurable(pending); len(pending) == 0 {
			break
		}
		r.tell(live.TrialStarted{Done: r.schedule.Done, Total: len(r.schedule.Todo), Block: group[0].Block, Blocks: max(r.schedule.Plan.Blocks, group[0].Block), Modes: modesOf(pending),
			Workload: group[0].Workload.ID, Attempt: attempt, Remaining: r.schedule.Estimate(r.schedule.Rest())})
		var again []plan.Trial
		failed := false
		for _, part := range plan.Groups(pending) {
			more, anyFailed, err := r.attempt(ctx, part, attempt)
			if err != nil {
				return err
			}
			again, failed = append(again, more...), failed || anyFailed
		}
		if pending = again; failed {
			attempt++
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

// attempt runs a group of trials and records them. It returns those that must be tried
// again, and whether one of them failed: those that were wrong for their path, and are
// repeated in another form, have not.
func (r *run) attempt(ctx context.Context, trials []plan.Trial, attempt int) (again []plan.Trial, failed bool, err error) {
	group := r.measure(ctx, trials, attempt)
	if ctx.Err() != nil {
		// An interrupted trial is not recorded, not even as failed.
		return nil, false, ctx.Err()
	}
	for _, tr := range group {
		if err := r.record(tr.conclude(r.last + 1)); err != nil {
			return nil, false, err
		}
		if tr.shown != nil {
			tr.shown.Trial, tr.tested.proof = r.last, tr.shown
		}
		if next, ok := r.reschedule(tr); ok {
			again = append(again, next)
			continue
		}
		switch {
		case tr.err == nil:
		case tr.out.Void:
			r.settleMode(tr.tested, result.ModeVoid, tr.err.Error())
		case attempt == attempts && tr.Aside():
			// What decides by such trials reports it; the mode has no trial yet that counts.
		case attempt == attempts:
			r.dropWorkload(tr)
		default:
			again, failed = append(again, tr.Trial), true
		}
	}
	return again, failed, nil
}

// measureGroup runs a group of trials, computes their metrics and applies the rules that
// make one invalid.
func (r *measurement) measureGroup(ctx context.Context, trials []plan.Trial, attempt int) []*trialRun {
	group := r.trialRuns(trials, attempt)
	if r.waitBeforeGroup(ctx, group) == nil {
		r.observer.ObserveGroup(ctx, observedTrials(group), func() {
			r.drive(ctx, group)
			for _, tr := range group {
				tr.observed.ReadFailure(ctx)
			}
		})
	}
	if ctx.Err() != nil {
		return group
	}
	for _, tr := range group {
		tr.evaluate()
	}
	r.checkTransients(group)
	for _, tr := range group {
		tr.explain(ctx)
		r.observer.RecordCPUCost(tr.observed, tr.cpuUse())
		tr.observed.ReadConntrack(ctx)
	}
	r.markInvalid(group)
	return group
}

// drive runs the trials of a group as their traffic requires.
func (r *measurement) drive(ctx context.Context, group []*trialRun) {
	switch {
	case group[0].IsSearch():
		r.observer.Observe(observedTrials(group), func() { r.searches(ctx, group) })
		return
	case group[0].Sliced():
		r.runInterleaved(ctx, group)
		return
	case group[0].SetsUp():
		r.runSetUp(ctx, group[0])
		return
	}
	for _, tr := range group {
		r.runWhole(ctx, tr)
	}
}

// dropWorkload stops measuring the workload of a trial for its mode, and the mode if no
// workload is left.
func (r *run) dropWorkload(tr *trialRun) {
	reason := fmt.Sprintf("a trial of %s failed %d times in block %d: %v", tr.Workload.ID, attempts, tr.Block, tr.err)
	if last := r.schedule.Drop(tr.Mode, tr.Workload.ID); !last {
		r.warn(warning.WorkloadFailed, tr.Mode+" "+tr.Workload.ID, "%s; it is not repeated", reason)
		return
	}
	r.settleMode(tr.tested, result.ModeFailed, reason)
}
