// Package changes compares two runs: the ratios that changed, and the conditions that differ.
package changes

import (
	"fmt"
	"slices"

	"tare/internal/analysis/identity"
	"tare/internal/analysis/readings"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/stats"
)

// RunTrials is a run with its trials. Serial is as of [Input]; see [verdict.SerialWorkloads].
type RunTrials struct {
	Run    result.Run
	Trials []result.Trial
	Serial []string
}

// Across compares a run with a later one: every cell that both have and that no refusal
// covers, in the order of the later run. Margin is the largest relative difference that
// counts as the same. Two runs are one sample of each: the intervals do not include what
// differs from run to run but not within a run, such as how a machine booted. A maximum
// has no verdict ([Uncompared]).
func Across(before, after RunTrials, refused []result.Refusal, margin float64) result.Changes {
	out := result.Changes{Before: refTo(before.Run), After: refTo(after.Run), Environment: Environment(before.Run, after.Run),
		Refused: append([]result.Refusal{}, refused...), Modes: ModeChanges(before.Run, after.Run), Missing: Missing(pairsOf(before.Run), pairsOf(after.Run), after.Run.Modes), Cells: []result.Change{}}
	out.Machine = identity.Differences(before.Run, after.Run)
	out.Warnings = identity.Warning(out.Machine)
	for _, t := range []struct{ which, noisy string }{{"earlier", before.Run.Noisy}, {"later", after.Run.Noisy}} {
		if t.noisy != "" {
			out.Noisy = fmt.Sprintf("the %s run is too noisy to judge: %s", t.which, t.noisy)
		}
	}
	b, a := sideOf(before), sideOf(after)
	for _, w := range workloadsOf(after.Run) {
		for _, metric := range a.metrics {
			if verdict.BeyondP99(metric.Name) {
				continue // judged within a run only, by trials of their own
			}
			var modes []changed
			for _, m := range after.Run.Modes {
				if m.Control || slices.ContainsFunc(refused, func(r result.Refusal) bool { return covers(r, m.ID, w) || covers(r, m.Baseline, w) && m.Baseline != "" }) {
					continue
				}
				if w == result.CostPassID && m.Baseline == "" && !sameRate(before.Run.CostPass, after.Run.CostPass) {
					continue // its rate is the offered one; ratios to it can be compared
				}
				if m.Baseline == "" && !samePace(before.Run, after.Run, w) {
					continue // the same
				}
				c, ok := changeOf(b, a, m, w, metric, margin)
				if !ok {
					continue
				}
				if len(out.Machine) == 0 { // a time is that of its machine; a ratio is less so
					c.Added = addedTo(b, a, m, w, metric)
				}
				modes = append(modes, c)
			}
			out.Cells = append(out.Cells, settled(modes, margin, out.Noisy != "" || before.Run.NoisyIn(w) || after.Run.NoisyIn(w))...)
		}
	}
	return out
}

// side is a run as a table of values.
type side struct {
	run     result.Run
	tab     readings.Columns
	metrics []result.Metric
	serial  []string
}

func sideOf(t RunTrials) side {
	return side{serial: t.Serial, run: t.Run, tab: readings.Tabulate(t.Run.Modes, workloadsOf(t.Run), t.Trials), metrics: result.MetricsOf(t.Trials)}
}

// workloadsOf lists the workloads of a run's cells, in order.
func workloadsOf(r result.Run) []string {
	var out []string
	for _, c := range r.Cells {
		if !slices.Contains(out, c.Workload) {
			out = append(out, c.Workload)
		}
	}
	return out
}

// changed is a change with the ratio that it is judged by.
type changed struct {
	result.Change
	ratio            stats.LogRatio
	known, none      bool // none: 0 in every trial of both runs
	mayRise, mayFall bool
}

// changeOf compares one cell of a mode with that of the earlier run. ok is false if either
// has no value, or the mode has another baseline there.
func changeOf(before, after side, m result.Mode, workload string, metric result.Metric, margin float64) (changed, bool) {
	c := changed{Change: result.Change{Mode: m.ID, Workload: workload, Metric: metric.Name, Unit: metric.Unit, Better: metric.Better,
		Own: m.Baseline == "", Judgement: result.Judgement{Verdict: result.CannotTell, Margin: margin}}}
	i := slices.IndexFunc(before.run.Modes, func(o result.Mode) bool { return o.ID == m.ID })
	if i < 0 || before.run.Modes[i].Baseline != m.Baseline {
		return c, false
	}
	own, was := after.tab.Values(m.ID, workload, metric.Name), before.tab.Values(m.ID, workload, metric.Name)
	if len(own) == 0 || len(was) == 0 {
		return c, false
	}
	if c.Own {
		c.Before, c.BeforeCI = verdict.Summary(was)
		c.After, c.AfterCI = verdict.Summary(own)
		c.BeforeN, c.AfterN = len(was), len(own)
		c.ratio, c.known = verdict.LogRatio(own, was, verdict.PairNone)
		c.none = verdict.NoneInEither(metric.Better, own, was, verdict.PairNone)
		c.mayRise, c.mayFall = after.tab.Limited(m.ID, workload, metric), before.tab.Limited(m.ID, workload, metric)
		return c, true
	}
	now, ok := verdict.LogRatio(own, after.tab.Values(m.Baseline, workload, metric.Name), verdict.PairBlocks)
	then, also := verdict.LogRatio(was, before.tab.Values(m.Baseline, workload, metric.Name), verdict.PairBlocks)
	if !ok || !also {
		return c, false
	}
	c.Before, c.BeforeCI, c.BeforeN = ratioOf(then)
	c.After, c.AfterCI, c.AfterN = ratioOf(now)
	c.ratio, c.known = now.Over(then), true
	c.mayRise = after.tab.Limited(m.ID, workload, metric) || before.tab.Limited(m.Baseline, workload, metric)
	c.mayFall = after.tab.Limited(m.Baseline, workload, metric) || before.tab.Limited(m.ID, workload, metric)
	return c, true
}

// addedTo is how much more time a mode adds to its baseline than in the earlier run, or takes if it has none: the difference
// of two means that share no blocks. Nil for a metric that is no time, a lower bound, or without an interval.
func addedTo(before, after side, m result.Mode, workload string, metric result.Metric) *result.Added {
	unit, _, ok := verdict.TimeOf(metric, slices.Contains(before.serial, workload) && slices.Contains(after.serial, workload))
	if !ok || verdict.Uncompared(metric.Name) {
		return nil
	}
	was, known := before.times(m, workload, metric)
	now, also := after.times(m, workload, metric)
	if !known || !also {
		return nil
	}
	d, err := stats.MeanDifference(readings.Plain(now), readings.Plain(was), readings.SetupsOf(now), readings.SetupsOf(was), readings.Confidence)
	if err != nil || !d.HasInterval || !readings.Finite(d.Value) || !readings.Finite(d.Lo) || !readings.Finite(d.Hi) {
		return nil
	}
	return &result.Added{Amount: result.Amount{Value: d.Value, CI: &result.Interval{d.Lo, d.Hi}, N: d.N}, Unit: unit}
}

// times are what a mode adds to its baseline block by block, or takes if it has none. ok is false if a value is a lower bound.
func (s side) times(m result.Mode, workload string, metric result.Metric) (times []readings.Reading, ok bool) {
	_, rate, _ := verdict.TimeOf(metric, true)
	own := readings.TimesOf(s.tab.Values(m.ID, workload, metric.Name), rate)
	if s.tab.Limited(m.ID, workload, metric) || m.Baseline != "" && s.tab.Limited(m.Baseline, workload, metric) {
		return nil, false
	}
	if m.Baseline == "" {
		return own, true
	}
	return readings.Differences(own, readings.TimesOf(s.tab.Values(m.Baseline, workload, metric.Name), rate)), true
}

func ratioOf(l stats.LogRatio) (*float64, *result.Interval, int) {
	r := l.Ratio()
	if lo, hi, ok := l.Interval(0.95); ok && readings.Finite(lo) && readings.Finite(hi) {
		return &r, &result.Interval{lo, hi}, l.N
	}
	return &r, nil, l.N
}

// settled judges the changes of one workload and metric: the modes as one family, each
// baseline alone.
func settled(changes []changed, margin float64, noisy bool) []result.Change {
	var together []verdict.Judged
	for i := range changes {
		c := &changes[i]
		if verdict.Uncompared(c.Metric) {
			c.Verdict = ""
			continue
		}
		if c.none && !noisy {
			c.Verdict = result.Same
		}
		if !c.known {
			continue
		}
		j := verdict.Judged{Into: &c.Judgement, Better: c.Better, Ratio: c.ratio, MayRise: c.mayRise, MayFall: c.mayFall, Noisy: noisy}
		if c.Own {
			verdict.JudgeFamily([]verdict.Judged{j}, verdict.Rule{Margin: margin})
			c.BlocksNeeded = nil // more blocks would only show more of the machine
		} else {
			together = append(together, j)
		}
	}
	verdict.JudgeFamily(together, verdict.Rule{Margin: margin})
	out := make([]result.Change, len(changes))
	for i, c := range changes {
		out[i] = c.Change
	}
	return out
}

func covers(r result.Refusal, mode, workload string) bool {
	return (r.Mode == "" || r.Mode == mode) && (r.Workload == "" || r.Workload == workload)
}

// samePace reports whether two runs have a workload at the same rate, or neither limits it.
func samePace(a, b result.Run, workload string) bool {
	x, y := a.PaceOf(workload), b.PaceOf(workload)
	return x == nil && y == nil || x != nil && y != nil && x.Rate == y.Rate
}

// sameRate reports whether two cost passes have the same rate.
func sameRate(a, b *result.CostPass) bool { return a != nil && b != nil && a.Rate == b.Rate }
