package history

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/analysis/changes"
	"tare/internal/analysis/identity"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/stats/changepoint"
	"tare/internal/unit"
)

// MinEarlier is the minimum number of comparable earlier runs for a check: with fewer the spread
// from run to run is too uncertain to show any but huge changes.
const MinEarlier = 5

// CheckAlarms is the rate of false alarms of a check: the probability, at most, with which a run
// without any change shows one, for the worse or for the better, in any mode, workload and metric.
// A series of twenty checks without a change thus has one for the worse, which is half of them,
// with a probability of at most 5 %.
const CheckAlarms = 0.005

// mostTail is how many of the last runs, with the one that is checked, are compared together with
// those before: a change too small to be seen in one run is seen in several.
const mostTail = 3

// CheckOptions are how a run is checked: against how many of the last comparable runs, in which
// metrics (nil: see [Counts]), and what counts as the same. With Within, a change that is shown to
// be within the margin is [result.Small]; else every change that is shown is worse or better.
type CheckOptions struct {
	Last    int
	Metrics []string
	Margin  float64
	Within  bool
}

// Check judges a run by the comparable runs that started before it: runs of the same study, by
// its hash, on the same machine, that are not too noisy to judge. The spread of each ratio from
// run to run is estimated from these, within the stretches between changes of its level, and the
// last stretch is what the run is compared with. Each change is that of the last one, two or three
// runs, whichever shows it most clearly, provided that all of them are on the same side; Holm's
// correction is over all modes, workloads, metrics and these three. Numbers of values in the
// result count runs. A value that is a lower bound is not judged, and judges none. Where nothing
// can be judged, Basis has the reason.
//
// Two tests must both show a change: Student's t of the means, which is exact for normal logarithms
// of ratios, and [stats.SameSideP], which allows for heavier tails. If the runs that are checked have
// wider intervals of their own than those before, the difference of their variances is added.
func Check(runs []Run, checked Run, opt CheckOptions) result.Changes {
	c := check{opt: opt, basis: &result.Basis{Last: opt.Last, FalseAlarms: CheckAlarms, Runs: []result.RunRef{}}}
	out := result.Changes{After: refTo(checked.Run), Environment: []result.Difference{}, Refused: []result.Refusal{}, Modes: []result.ModeChange{}, Cells: []result.Change{}, Basis: c.basis}
	if checked.Run.Noisy != "" {
		out.Noisy = "the run is too noisy to judge: " + checked.Run.Noisy
	}
	c.choose(runs, checked)
	if n := len(c.earlier); n > 0 {
		latest := c.earlier[n-1].Run
		out.Before, out.Environment, out.Modes = refTo(latest), changes.Environment(latest, checked.Run), changes.ModeChanges(latest, checked.Run)
		out.Missing = changes.Missing(pairsOf(c.earlier[n-1], opt.Metrics), pairsOf(checked, opt.Metrics), checked.Run.Modes)
		out.Machine = identity.Differences(latest, checked.Run) // of one machine, by its calibration at most
		out.Warnings = identity.Warning(out.Machine)
	}
	if c.basis.Reason == "" {
		out.Cells = c.judge(checked, out.Noisy != "")
	}
	return out
}

// pairsOf lists the pairs of a mode and a workload whose ratios a run has in the metrics.
func pairsOf(r Run, metrics []string) []result.Pair {
	var out []result.Pair
	for _, p := range points(r, metrics) {
		out = append(out, result.Pair{Mode: p.key.mode, Workload: p.key.workload})
	}
	return out
}

// check is a run during Check.
type check struct {
	opt     CheckOptions
	basis   *result.Basis
	earlier []Run // that it is judged by, oldest first
}

// choose finds the runs that a run is judged by.
func (c *check) choose(runs []Run, checked Run) {
	key, facts := identity.Of(checked.Run)
	c.basis.Machine, c.basis.Facts = identity.Name(facts), facts
	if checked.Hash == "" {
		c.basis.Reason = "the run does not record what decides its results, so no earlier run is known to be comparable"
		return
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		return r.Path == checked.Path || r.Problem == "" && r.Run.ID != "" && r.Run.ID == checked.Run.ID
	})
	kept, out := sorted(runs, checked.Hash, checked.Study, c.opt.Metrics)
	for _, r := range kept {
		reason := ""
		if other, facts := identity.Of(r.Run); other != key {
			reason = "it ran on another machine: " + identity.Name(facts)
			if reason == "it ran on another machine: "+c.basis.Machine {
				reason = "it ran on another machine, with other facts: " + factsText(facts)
			}
		}
		switch {
		case reason != "":
		case !r.Run.Started.Before(checked.Run.Started):
			reason = "it did not start before the run that is checked"
		case r.Run.Noisy != "":
			reason = "it is too noisy to judge: " + r.Run.Noisy
		default:
			c.earlier = append(c.earlier, r)
			continue
		}
		out = append(out, result.LeftOut{Path: r.Path, ID: r.Run.ID, Reason: reason})
	}
	c.basis.LeftOut = out
	if c.opt.Last > 0 {
		c.earlier = c.earlier[max(0, len(c.earlier)-c.opt.Last):]
	}
	for _, r := range c.earlier {
		c.basis.Runs = append(c.basis.Runs, refTo(r.Run))
	}
	if n := len(c.earlier); n < MinEarlier {
		c.basis.Reason = fmt.Sprintf("%s, and at least %d are required to know how much ratios vary from run to run", unit.Count(n, "comparable earlier run", "comparable earlier runs"), MinEarlier)
	}
}

func factsText(facts []result.Fact) string {
	text := ""
	for i, f := range facts {
		if i > 0 {
			text += ", "
		}
		text += f.Name + " " + f.Value
	}
	return text
}

func refTo(r result.Run) result.RunRef {
	return result.RunRef{ID: r.ID, Started: r.Started.Format(time.RFC3339), Status: r.Status, Profile: r.Profile, Tare: r.Tare}
}

// stretch is the series that a ratio is judged by.
type stretch struct {
	change result.Change
	tests  []test // of the last one, two, ... runs; none if there are too few runs
}

// test compares the last runs with those before.
type test struct {
	ratio      stats.LogRatio // of the means
	base, tail []float64      // the values before, and of the last runs
	spread     float64
	p          float64 // of both tests of [Check]; 1 if the last runs are not all on one side
	wider      float64 // as of [stats.SameSideP]
}

// finish sets p, the larger of those of the two tests. Without spread it is that of the means.
func (t test) finish() test {
	change, nearest := mean(t.tail)-mean(t.base), math.Inf(1)
	for _, y := range t.tail {
		off := y - mean(t.base)
		if off*change < 0 {
			t.p = 1
			return t
		}
		nearest = min(nearest, math.Abs(off))
	}
	t.p = t.ratio.P()
	if t.spread > 0 {
		t.p = max(t.p, stats.SameSideP(nearest/t.spread, len(t.tail), len(t.base), t.ratio.DF, t.wider))
	}
	return t
}

// detectable is the smallest relative change that is shown four times of five, at a two-sided level of
// [CheckAlarms] for so many tests; NaN or +Inf where it is unknown.
func (t test) detectable(tests int) float64 {
	byMean := t.ratio.DetectableAmong(int(math.Round(0.05/CheckAlarms)) * tests)
	if !(t.spread > 0) {
		return byMean
	}
	level := CheckAlarms / float64(tests)
	nearest := t.spread * stats.SameSideDistance(level, len(t.tail), len(t.base), t.ratio.DF, t.wider)
	se := t.ratio.SD / math.Sqrt(float64(t.ratio.N))
	return max(byMean, math.Expm1(nearest+stats.TQuantile(0.80, t.ratio.DF)*se))
}

// judge compares each ratio of the run.
func (c *check) judge(checked Run, noisy bool) []result.Change {
	at := map[seriesKey]int{}
	var keys []seriesKey
	series := [][]point{}
	last := points(checked, c.opt.Metrics)
	for _, p := range last {
		at[p.key] = len(keys)
		keys, series = append(keys, p.key), append(series, nil)
	}
	for _, r := range c.earlier {
		for _, p := range points(r, c.opt.Metrics) {
			if i, known := at[p.key]; known && !p.bound && !r.Run.NoisyIn(p.key.workload) {
				series[i] = append(series[i], p)
			}
		}
	}
	level := FalseAlarms / float64(max(1, len(keys)))
	var all []stretch
	var ps []float64
	for i, p := range last {
		s := stretchOf(series[i], p, level)
		s.change.Margin = c.opt.Margin
		all = append(all, s)
		for _, t := range s.tests {
			ps = append(ps, t.p)
		}
	}
	adjusted := stats.Holm(ps)
	out := []result.Change{}
	for _, s := range all {
		n := len(s.tests)
		out = append(out, c.decide(s, adjusted[:n], len(ps), noisy || checked.Run.NoisyIn(s.change.Workload)))
		adjusted = adjusted[n:]
	}
	return out
}

// stretchOf is the series of a ratio: earlier points and the one that is checked. Changes of
// level among the earlier ones are found at a level of significance.
func stretchOf(earlier []point, checked point, level float64) stretch {
	s := stretch{change: result.Change{Mode: checked.key.mode, Workload: checked.key.workload, Metric: checked.key.metric, Unit: checked.unit, Better: checked.better,
		BeforeN: len(earlier), After: &checked.ratio, AfterCI: checked.ci, AfterN: 1, Judgement: result.Judgement{Verdict: result.CannotTell}}}
	ys := make([]float64, len(earlier))
	for i, p := range earlier {
		ys[i] = math.Log(p.ratio)
	}
	if len(ys) > 0 {
		before := math.Exp(mean(ys))
		ratio := checked.ratio / before
		s.change.Before, s.change.Ratio = &before, &ratio
	}
	if len(ys) < MinEarlier || checked.bound {
		return s
	}
	stretches := divided(ys, changepoint.Find(ys, level, seed))
	latest := stretches[len(stretches)-1]
	variances := errorVariances(append(slices.Clone(earlier), checked))
	extra := func(n int) float64 { // what the last runs vary by more than those before, within a run
		if variances == nil {
			return 0
		}
		from := len(variances) - n
		return max(0, mean(variances[from:])-mean(variances[:from])) / float64(n)
	}
	for n := 1; n <= mostTail && len(latest)-(n-1) >= changepoint.MinSegment; n++ {
		base, tail := latest[:len(latest)-(n-1)], append(slices.Clone(latest[len(latest)-(n-1):]), math.Log(checked.ratio))
		stretches[len(stretches)-1] = base
		sd, df := spread(stretches)
		if df < MinEarlier-2 {
			break
		}
		t := test{base: base, tail: tail, spread: sd, wider: 1}
		if sd > 0 {
			t.wider = math.Sqrt(1 + extra(n)*float64(n)/(sd*sd))
		}
		se := math.Sqrt(sd*sd*(1/float64(len(base))+1/float64(n)) + extra(n))
		t.ratio = stats.LogRatio{N: len(base), Mean: mean(tail) - mean(base), SD: se * math.Sqrt(float64(len(base))), DF: float64(df)}
		s.tests = append(s.tests, t.finish())
	}
	return s
}

// errorVariances are the squared standard errors of the logarithms of ratios within their runs,
// nil if one of them has no interval.
func errorVariances(ps []point) []float64 {
	var out []float64
	for _, p := range ps {
		if p.ci == nil {
			return nil
		}
		effect, ok := stats.EffectOf(p.ratio, p.ci[0], p.ci[1], p.n, p.df)
		if !ok {
			return nil
		}
		out = append(out, effect.StdErr()*effect.StdErr())
	}
	return out
}

// decide is the change of a ratio, from its tests with their adjusted p values; of is how many
// tests there are in all.
func (c *check) decide(s stretch, adjusted []float64, of int, noisy bool) result.Change {
	out := s.change
	if len(s.tests) == 0 {
		return out
	}
	chosen, shown := 0, false
	for i, t := range s.tests {
		if adjusted[i] < CheckAlarms && (!shown || t.p < s.tests[chosen].p) {
			chosen, shown = i, true
		}
	}
	t := s.tests[chosen]
	before, ratio, p := math.Exp(mean(t.base)), t.ratio.Ratio(), adjusted[chosen]
	out.Before, out.BeforeN, out.AfterN, out.Ratio, out.P, out.Spread = &before, len(t.base), len(t.tail), &ratio, &p, &t.spread
	if chosen > 0 {
		after := math.Exp(mean(t.tail))
		out.After, out.AfterCI = &after, nil
	}
	if lo, hi, ok := t.ratio.Interval(0.95); ok {
		out.RatioCI = &result.Interval{lo, hi}
	}
	if d := t.detectable(of); !math.IsNaN(d) && !math.IsInf(d, 0) {
		out.Detectable = &d
	}
	within := t.ratio.Equivalent(c.opt.Margin)
	switch {
	case noisy:
	case shown && within && c.opt.Within:
		out.Verdict = result.Small
	case shown && (t.ratio.Mean > 0) == (out.Better == result.Higher):
		out.Verdict = result.Better
	case shown:
		out.Verdict = result.Worse
	case within:
		out.Verdict = result.Same
	}
	return out
}
