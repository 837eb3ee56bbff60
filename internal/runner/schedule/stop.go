package schedule

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/warning"
)

// Enough says, before a block, whether the run ends instead: every ratio is settled
// and the extra blocks are run, or the block would end after the time limit. It is
// decided anew from the trials each time, so that a run that is resumed decides as
// it would have.
func (sc *Schedule) Enough(block int) bool {
	if block > 1 && sc.cfg.Study.Stop != nil {
		if _, halt := sc.decide(block - 1); halt == stats.Settled {
			return true
		}
	}
	sc.late = !sc.inTime(sc.takes(sc.BlockTrials(block)) + sc.remaking(block))
	return sc.late
}

// takes is how long trials will take, as far as the blocks so far tell.
func (sc *Schedule) takes(trials []plan.Trial) time.Duration {
	return time.Duration(max(1, sc.pace) * float64(sc.Plan.Estimate(trials)))
}

// InTime says whether trials would end before the time limit.
func (sc *Schedule) InTime(trials []plan.Trial) bool { return sc.inTime(sc.takes(trials)) }

func (sc *Schedule) inTime(more time.Duration) bool {
	limit := sc.Limit()
	return limit <= 0 || time.Since(sc.Began)+more <= limit
}

// remaking is how long what is made anew before a block will take, to be taken down
// and to be made.
func (sc *Schedule) remaking(block int) time.Duration {
	var sum time.Duration
	for _, m := range sc.cfg.Modes() {
		if took := sc.cfg.SetupTime(m.ID); m.Status == result.ModeMeasured && sc.cfg.Study.Renew.Due(block, took) {
			sum += 2 * took
		}
	}
	return sum
}

// Limit is how long the run may take, 0 for as long as it likes: what the study
// says or, where it ends by itself, what was announced with some slack; of a run that
// is resumed, what is left of it.
func (sc *Schedule) Limit() time.Duration {
	switch {
	case sc.cfg.Study.MaxTime > 0:
		return sc.cfg.Study.MaxTime.Std()
	case sc.cfg.Study.Stop != nil:
		return time.Duration(plan.Slack * float64(sc.Announced))
	}
	return 0
}

// decide applies the rule of stopping to blocks 1 to n, one after the other.
func (sc *Schedule) decide(n int) (stats.Stopping, stats.Halt) {
	stop := sc.cfg.Study.Stop
	rule := stats.Stopping{MinBlocks: stop.MinBlocks, ExtraBlocks: stop.ExtraBlocks, MaxBlocks: sc.Plan.Blocks, Width: stop.Width, Margin: sc.cfg.Study.Margin}
	halt := stats.GoOn
	for block := 1; block <= n && halt == stats.GoOn; block++ {
		var ratios []stats.LogRatio
		for _, o := range sc.ratios(block) {
			ratios = append(ratios, o.Ratio)
		}
		rule, halt = rule.After(block, ratios...)
	}
	return rule, halt
}

// ratios are what the run waits for: those of workloads that run in every block,
// but for what was dropped and what has no ratio, because a value is 0.
func (sc *Schedule) ratios(last int) []analysis.ModeRatio {
	in := analysis.Input{Modes: sc.cfg.Modes()}
	base := map[string]string{}
	for _, m := range in.Modes {
		base[m.ID] = m.Baseline
	}
	for _, w := range sc.Plan.Workloads {
		if w.Every <= 1 && w.Times == 0 && w.ID != study.CostPassID {
			in.Workloads = append(in.Workloads, w.Name())
		}
	}
	for _, t := range sc.Trials {
		if t.Block <= last {
			in.Trials = append(in.Trials, t)
		}
	}
	return slices.DeleteFunc(analysis.Ratios(in), func(o analysis.ModeRatio) bool {
		return !o.Known || sc.gaveUp(o.Mode, o.Workload) || sc.gaveUp(base[o.Mode], o.Workload)
	})
}

// Stopped records why no more blocks were added after n of them.
func (sc *Schedule) Stopped(n int) {
	s := &result.Stopping{Blocks: n, MinBlocks: sc.Plan.Blocks, MostBlocks: sc.Plan.Blocks, Reason: result.StopFixed}
	sc.cfg.Report.Stopping = s
	if stop := sc.cfg.Study.Stop; stop != nil {
		s.MinBlocks, s.ExtraBlocks, s.Width = min(stop.MinBlocks+stop.ExtraBlocks, sc.Plan.Blocks), stop.ExtraBlocks, stop.Width
		rule, halt := sc.decide(n)
		s.SettledAt, s.Reason = rule.SettledAt, result.StopCap
		if halt == stats.Settled {
			s.Reason = result.StopSettled
		}
		for _, o := range sc.ratios(n) {
			if !rule.Settles(o.Ratio) {
				s.Unsettled = append(s.Unsettled, unsettled(o))
			}
		}
	}
	switch {
	case n == sc.Plan.Blocks:
	case sc.late:
		s.Reason = result.StopTime
		sc.cfg.Warn(warning.MaxTime, "run", "stopped after block %d of %d: the next would have ended after the time limit of %s",
			n, sc.Plan.Blocks, wording.Duration(sc.Limit()))
	case s.Reason != result.StopSettled:
		s.Reason = result.StopInterrupted
	}
	s.Text = stopText(*s)
	if s.Reason != result.StopFixed {
		sc.cfg.Tell(live.Decision{Text: s.Text})
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
	blocks := wording.Count(s.Blocks, "block", "blocks")
	aim := fmt.Sprintf("known to within %s, or shown to be the same", wording.Percent(s.Width))
	switch s.Reason {
	case result.StopSettled:
		text := fmt.Sprintf("stopped after %s: after block %d every ratio was %s", blocks, s.SettledAt, aim)
		if extra := s.Blocks - s.SettledAt; extra > 0 {
			text += fmt.Sprintf(", and %d more were run", extra)
		}
		return text
	case result.StopCap:
		return fmt.Sprintf("stopped after %s, the most allowed: %s not %s", blocks, wording.Count(len(s.Unsettled), "ratio is", "ratios are"), aim)
	case result.StopTime:
		return fmt.Sprintf("stopped after %s: one more would have ended after the time limit", blocks)
	case result.StopInterrupted:
		return fmt.Sprintf("ended after %s of at most %d", blocks, s.MostBlocks)
	}
	return fmt.Sprintf("ran %s, as fixed beforehand", blocks)
}
