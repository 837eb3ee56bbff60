package runner

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/say"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
)

// enough says, before a block, whether the run ends instead: every ratio is settled
// and the extra blocks are run, or the block would end after the time limit. It is
// decided anew from the trials each time, so that a run that is resumed decides as
// it would have.
func (r *run) enough(block int) bool {
	if block > 1 && r.cfg.Study.Stop != nil {
		if _, halt := r.decide(block - 1); halt == stats.Settled {
			return true
		}
	}
	limit := r.limit()
	r.late = limit > 0 && time.Since(r.began)+r.takes(r.of(block))+r.remaking(block) > limit
	return r.late
}

// takes is how long trials will take, as far as the blocks so far tell.
func (r *run) takes(trials []plan.Trial) time.Duration {
	return time.Duration(max(1, r.pace) * float64(r.plan.Estimate(trials)))
}

// remaking is how long what is made anew before a block will take, to be taken down
// and to be made.
func (r *run) remaking(block int) time.Duration {
	var sum time.Duration
	for _, s := range r.stages {
		if s.status == result.ModeMeasured && r.cfg.Study.Renew.Due(block, s.took) {
			sum += 2 * s.took
		}
	}
	return sum
}

// limit is how long the run may take, 0 for as long as it likes: what the study
// says or, where it ends by itself, what was announced with some slack; of a run that
// is resumed, what is left of it.
func (r *run) limit() time.Duration {
	switch {
	case r.cfg.Study.MaxTime > 0:
		return r.cfg.Study.MaxTime.Std()
	case r.cfg.Study.Stop != nil:
		return time.Duration(plan.Slack * float64(r.announced))
	}
	return 0
}

// decide applies the rule of stopping to blocks 1 to n, one after the other.
func (r *run) decide(n int) (stats.Stopping, stats.Halt) {
	stop := r.cfg.Study.Stop
	rule := stats.Stopping{MinBlocks: stop.MinBlocks, ExtraBlocks: stop.ExtraBlocks, MaxBlocks: r.plan.Blocks, Width: stop.Width, Margin: r.cfg.Study.Margin}
	halt := stats.GoOn
	for block := 1; block <= n && halt == stats.GoOn; block++ {
		var ratios []stats.LogRatio
		for _, o := range r.ratios(block) {
			ratios = append(ratios, o.Ratio)
		}
		rule, halt = rule.After(block, ratios...)
	}
	return rule, halt
}

// ratios are what the run waits for: those of workloads that run in every block,
// but for what was dropped and what has no ratio, because a value is 0.
func (r *run) ratios(last int) []analysis.ModeRatio {
	in := analysis.Input{Modes: r.modes()}
	for _, w := range r.plan.Workloads {
		if w.Every <= 1 && w.Times == 0 && w.ID != study.CostPassID {
			in.Workloads = append(in.Workloads, w.Name())
		}
	}
	for _, t := range r.trials {
		if t.Block <= last {
			in.Trials = append(in.Trials, t)
		}
	}
	return slices.DeleteFunc(analysis.Ratios(in), func(o analysis.ModeRatio) bool {
		return !o.Known || r.gaveUp(o.Mode, o.Workload) || r.gaveUp(r.stage(o.Mode).mode.Baseline, o.Workload)
	})
}

// stopped records why no more blocks were added after n of them.
func (r *run) stopped(n int) {
	s := &result.Stopping{Blocks: n, MinBlocks: r.plan.Blocks, MostBlocks: r.plan.Blocks, Reason: result.StopFixed}
	r.out.Stopping = s
	if stop := r.cfg.Study.Stop; stop != nil {
		s.MinBlocks, s.ExtraBlocks, s.Width = min(stop.MinBlocks+stop.ExtraBlocks, r.plan.Blocks), stop.ExtraBlocks, stop.Width
		rule, halt := r.decide(n)
		s.SettledAt, s.Reason = rule.SettledAt, result.StopCap
		if halt == stats.Settled {
			s.Reason = result.StopSettled
		}
		for _, o := range r.ratios(n) {
			if !rule.Settles(o.Ratio) {
				s.Unsettled = append(s.Unsettled, unsettled(o))
			}
		}
	}
	switch {
	case n == r.plan.Blocks:
	case r.late:
		s.Reason = result.StopTime
		r.warn("max_time", "run", "stopped after block %d of %d: the next would have ended after the time limit of %s",
			n, r.plan.Blocks, say.Duration(r.limit()))
	case s.Reason != result.StopSettled:
		s.Reason = result.StopInterrupted
	}
	s.Text = stopText(*s)
	if s.Reason != result.StopFixed {
		r.tell(live.Told{Text: s.Text})
	}
}

func unsettled(o analysis.ModeRatio) result.Unsettled {
	u := result.Unsettled{Mode: o.Mode, Workload: o.Workload, Metric: o.Metric}
	if o.Ratio.N >= 2 {
		w := o.Ratio.HalfWidth(0.95)
		u.Width = &w
	}
	return u
}

// stopText is why a run stopped, in words.
func stopText(s result.Stopping) string {
	blocks := say.Count(s.Blocks, "block", "blocks")
	aim := fmt.Sprintf("known to within %s, or shown to be the same", say.Percent(s.Width))
	switch s.Reason {
	case result.StopSettled:
		text := fmt.Sprintf("stopped after %s: after block %d every ratio was %s", blocks, s.SettledAt, aim)
		if extra := s.Blocks - s.SettledAt; extra > 0 {
			text += fmt.Sprintf(", and %d more were run", extra)
		}
		return text
	case result.StopCap:
		return fmt.Sprintf("stopped after %s, the most allowed: %s not %s", blocks, say.Count(len(s.Unsettled), "ratio is", "ratios are"), aim)
	case result.StopTime:
		return fmt.Sprintf("stopped after %s: one more would have ended after the time limit", blocks)
	case result.StopInterrupted:
		return fmt.Sprintf("ended after %s of at most %d", blocks, s.MostBlocks)
	}
	return fmt.Sprintf("ran %s, as fixed beforehand", blocks)
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
	again := r.cfg.Progress > 0 && block > provisionalAfter && (len(r.trials) < manyTrials || block%10 == 0)
	if block != provisionalAfter && !again || r.plan.Blocks <= block {
		return
	}
	cells, _ := analysis.Cells(r.modes(), plan.Names(r.cfg.Study), r.trials, analysis.RuleOf(r.cfg.Study, nil))
	for i := range cells {
		c := &cells[i]
		c.Verdict, c.P, c.BlocksNeeded = "", nil, nil
	}
	r.tell(live.Provisional{Blocks: block, Cells: cells})
}
