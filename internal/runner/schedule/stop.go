package schedule

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/warning"
	"tare/internal/wording"
)

// Enough decides before a block whether the run ends instead: either every ratio is
// settled and the extra blocks have run, or the block would exceed the time limit. It
// removes the trials from the block of which all ratios are settled. The decision depends
// only on the trials, so that a resumed run decides in the same way.
func (sc *Schedule) Enough(block int) bool {
	if block > 1 && sc.cfg.Study.Stop != nil {
		d := sc.decide(block - 1)
		if d.halt == stats.Settled {
			return true
		}
		sc.leave(block, d)
	}
	sc.timeUp = !sc.inTime(sc.Estimate(sc.BlockTrials(block)) + sc.recreateTime(block))
	return sc.timeUp
}

// Estimate estimates how long trials will take, corrected by the blocks and the searches so far.
func (sc *Schedule) Estimate(trials []plan.Trial) time.Duration {
	others, searches := sc.Plan.Estimate(trials), 0.0
	for _, group := range plan.Groups(trials) {
		if !group[0].IsSearch() {
			continue
		}
		own := sc.Plan.Estimate(group)
		others -= own
		factor := 1.0
		if p := sc.paces[group[0].Workload.Name()]; p.estimate > 0 {
			factor = max(1, float64(p.took)/float64(p.estimate))
		}
		searches += factor * float64(own)
	}
	return time.Duration(max(1, sc.pace)*float64(others) + searches)
}

// InTime reports whether trials would end before the time limit.
func (sc *Schedule) InTime(trials []plan.Trial) bool { return sc.inTime(sc.Estimate(trials)) }

func (sc *Schedule) inTime(more time.Duration) bool {
	limit := sc.Limit()
	return limit <= 0 || time.Since(sc.Began)+more <= limit
}

// recreateTime estimates how long it takes to recreate the modes that are due before a
// block.
func (sc *Schedule) recreateTime(block int) time.Duration {
	var sum time.Duration
	for _, m := range sc.cfg.Modes() {
		if took := sc.cfg.SetupTime(m.ID); m.Status == result.ModeMeasured && sc.cfg.Study.Recreate.Due(block, took) {
			sum += 2 * took
		}
	}
	return sum
}

// Limit is how long the run may take, 0 for no limit: the limit of the study or, for a
// run with a fixed length, the estimate with some slack. For a resumed run it is the
// remaining time.
func (sc *Schedule) Limit() time.Duration {
	switch {
	case sc.cfg.Study.MaxTime > 0:
		return sc.cfg.Study.MaxTime.Std()
	case sc.cfg.Study.Stop != nil:
		return time.Duration(plan.Slack * float64(sc.Announced))
	}
	return 0
}

// ratios are those that must settle: of workloads that run in every block, without those
// that were dropped and those that have no ratio because a value is 0.
func (sc *Schedule) ratios(last int) []verdict.ModeRatio {
	in := verdict.Input{Modes: sc.cfg.Modes(), Values: sc.values.Until(last)}
	base := map[string]string{}
	for _, m := range in.Modes {
		base[m.ID] = m.Baseline
	}
	for _, w := range sc.Plan.Workloads {
		if w.Every <= 1 && w.Times == 0 && w.ID != study.CostPassID {
			in.Workloads = append(in.Workloads, w.Name())
		}
	}
	return slices.DeleteFunc(verdict.Ratios(in), func(o verdict.ModeRatio) bool {
		return !o.Known || sc.gaveUp(o.Mode, o.Workload) || sc.gaveUp(base[o.Mode], o.Workload)
	})
}

// Stopped records why no block was added after n blocks.
func (sc *Schedule) Stopped(n int) {
	s := &result.Stopping{Blocks: n, MinBlocks: sc.Plan.Blocks, MostBlocks: sc.Plan.Blocks, Reason: result.StopFixed}
	sc.cfg.Report.Stopping = s
	if stop := sc.cfg.Study.Stop; stop != nil {
		s.MinBlocks, s.ExtraBlocks = min(stop.MinBlocks+stop.ExtraBlocks, sc.Plan.Blocks), stop.ExtraBlocks
		s.Width, s.EffectWidth = stop.Width, stop.EffectWidth
		d := sc.decide(n)
		s.SettledAt, s.Left, s.Reason = d.settledAt, len(sc.left), result.StopCap
		if d.halt == stats.Settled {
			s.Reason = result.StopSettled
		}
		for _, o := range sc.ratios(n) {
			if rule, known := d.rules[metricOf(o)]; !known || !rule.Settles(o.Ratio) {
				s.Unsettled = append(s.Unsettled, unsettled(o))
			}
		}
	}
	switch {
	case n == sc.Plan.Blocks:
	case sc.timeUp:
		s.Reason = result.StopTime
		sc.cfg.Warn(warning.MaxTime, "run", "stopped after block %d of %d: the next would have exceeded the time limit of %s",
			n, sc.Plan.Blocks, wording.Duration(sc.Limit()))
	case s.Reason != result.StopSettled:
		s.Reason = result.StopInterrupted
	}
	s.Text = stopText(*s)
	if s.Reason != result.StopFixed {
		sc.cfg.Tell(live.Decision{Text: s.Text})
	}
}

func unsettled(o verdict.ModeRatio) result.Unsettled {
	u := result.Unsettled{Mode: o.Mode, Workload: o.Workload, Metric: o.Metric}
	if o.Ratio.N >= 2 {
		w := o.Ratio.HalfWidth(0.95)
		u.Width = &w
	}
	return u
}

// stopText is the reason why a run stopped.
func stopText(s result.Stopping) string {
	blocks := wording.Count(s.Blocks, "block", "blocks")
	aim := wording.Settled(s.Width, s.EffectWidth)
	switch s.Reason {
	case result.StopSettled:
		text := fmt.Sprintf("stopped after %s: after block %d every ratio was %s", blocks, s.SettledAt, aim)
		if extra := s.Blocks - s.SettledAt; extra > 0 {
			text += fmt.Sprintf(", and %d more have run", extra)
		}
		if s.Left > 0 {
			text += fmt.Sprintf("; %s settled before and left earlier", wording.Count(s.Left, "mode with a workload", "modes with a workload"))
		}
		return text
	case result.StopCap:
		return fmt.Sprintf("stopped after %s, the most allowed: %s not %s", blocks, wording.Count(len(s.Unsettled), "ratio is", "ratios are"), aim)
	case result.StopTime:
		return fmt.Sprintf("stopped after %s: another would have exceeded the time limit", blocks)
	case result.StopInterrupted:
		return fmt.Sprintf("ended after %s of at most %d", blocks, s.MostBlocks)
	}
	return fmt.Sprintf("ran %s, as fixed beforehand", blocks)
}
