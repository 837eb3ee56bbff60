package result

import (
	"math"
	"slices"

	"tare/internal/stats"
)

// Rule is how the cells of a run are judged. Margin is the relative difference
// that still counts as the same, 0.05 for 5 %. Indicative marks every cell of a
// run too short for more than a hint.
type Rule struct {
	Margin     float64
	Indicative bool
}

// Cells sums up the trials of a run, one cell for each workload (in the order
// given), metric (in the order of [Metrics]) and measured mode (in the order
// given) that has a value, and says what a careful reader must know about them.
//
// Only ok trials of measured modes count. Of several for the same block, mode and
// workload the last one in trials counts. The value is a mode's own, over all its
// trials. The ratio is over the blocks in which both the mode and its baseline
// have a trial, by the paired log-ratio interval, Holm's correction over the
// modes of one workload and metric, and the test of equivalence of [stats.Decide].
//
// A ratio is unknown where no block has both or where a value is 0, as a count of
// retransmits may be. The verdict is then [CannotTell] and N counts the mode's own
// trials. Only a cell whose mode has a baseline has a verdict.
//
// Where the generator could not keep up with its schedule in a trial of a cell, a
// rate of that cell is a lower bound; of the verdicts only one that holds for
// every value above the bound remains.
//
// The codes of the warnings are unknown_metric, bad_value, baseline_missing,
// beats_baseline and two_bands, and those of the notes of the trials.
func Cells(modes []Mode, workloads []string, trials []Trial, rule Rule) ([]Cell, []Warning) {
	measured := slices.DeleteFunc(slices.Clone(modes), func(m Mode) bool { return m.Status != ModeMeasured })
	tab, warnings := tabulate(measured, workloads, trials)
	warnings = append(warnings, tab.noted(measured, workloads)...)
	var cells []Cell
	for _, workload := range workloads {
		for _, m := range measured {
			if m.Baseline != "" && tab.has(m.ID, workload) && !tab.has(m.Baseline, workload) {
				warnings = append(warnings, baselineMissing(m, modes, workload))
			}
		}
		for _, metric := range Metrics() {
			family, more := tab.family(measured, workload, metric, rule)
			cells = append(cells, family...)
			warnings = append(warnings, more...)
		}
	}
	return cells, warnings
}

// family makes the cells of one workload and metric: those that are corrected
// together.
func (t table) family(measured []Mode, workload string, metric Metric, rule Rule) ([]Cell, []Warning) {
	var cells []Cell
	var warnings []Warning
	var ratios []stats.LogRatio // of the cells compared so far, at
	var at []int
	for _, m := range measured {
		own := t.values(m.ID, workload, metric.Name)
		if len(own) == 0 {
			continue
		}
		c := Cell{
			Mode: m.ID, Workload: workload, Metric: metric.Name, Unit: metric.Unit, Better: metric.Better,
			N: len(own), Baseline: m.Baseline, Indicative: rule.Indicative,
		}
		c.Value, c.CI = summary(own)
		c.AtLeast = metric.bounded() && t.limited(m.ID, workload)
		if m.Baseline != "" {
			c.Verdict, c.Margin = CannotTell, rule.Margin
			if l, ok := compare(own, t.values(m.Baseline, workload, metric.Name)); ok {
				ratios, at = append(ratios, l), append(at, len(cells))
			}
		}
		if w, ok := twoBands(c, own); ok && metric.Primary {
			warnings = append(warnings, w)
		}
		cells = append(cells, c)
	}
	judge(cells, ratios, at, rule.Margin)
	for i := range cells {
		base := slices.IndexFunc(cells, func(b Cell) bool { return b.Mode == cells[i].Baseline })
		cells[i].bound(base >= 0 && cells[base].AtLeast)
	}
	for _, c := range cells {
		if metric.Primary && c.Verdict == Better {
			warnings = append(warnings, beatsBaseline(c))
		}
	}
	return cells, warnings
}

// summary is the mean of a mode's own trials with its 95 % interval, nil where
// unknown: geometric, or arithmetic if a trial gave 0, which has no logarithm.
func summary(own []reading) (*float64, *Interval) {
	xs := plain(own)
	mean := stats.GeoMeanInterval
	if slices.Min(xs) == 0 {
		mean = stats.MeanInterval
	}
	e, err := mean(xs, 0.95)
	if err != nil || !finite(e.Value) {
		return nil, nil // tabulate lets no value through that could cause it
	}
	if !e.HasInterval || !finite(e.Lo) || !finite(e.Hi) {
		return &e.Value, nil
	}
	// Nothing measured here can be negative, and an interval cut off at what is
	// possible covers as often.
	return &e.Value, &Interval{max(0, e.Lo), e.Hi}
}

// compare pairs the values of the blocks that both have. A pair with a 0 leaves
// the ratio unknown: leaving out that block would favour one side.
func compare(own, base []reading) (stats.LogRatio, bool) {
	var x, b []float64
	for _, o := range own {
		if i := slices.IndexFunc(base, func(r reading) bool { return r.block == o.block }); i >= 0 {
			x, b = append(x, o.value), append(b, base[i].value)
		}
	}
	l, err := stats.Paired(x, b)
	return l, err == nil && finite(l.Ratio()) && l.Ratio() > 0
}

// judge fills in what is known of the cells at[i] from their ratios[i].
func judge(cells []Cell, ratios []stats.LogRatio, at []int, margin float64) {
	ps := make([]float64, len(ratios))
	for i, l := range ratios {
		ps[i] = l.P()
	}
	ps = stats.Holm(ps)
	for i, l := range ratios {
		c := &cells[at[i]]
		c.N = l.N
		c.Ratio = known(l.Ratio())
		if lo, hi, ok := l.Interval(0.95); ok && finite(lo) && finite(hi) {
			c.RatioCI = &Interval{lo, hi}
		}
		c.P = known(ps[i])
		c.Detectable = known(l.Detectable())
		c.Verdict = verdict(stats.Decide(l, ps[i], margin), *c.Ratio, c.Better)
		if c.Verdict == CannotTell {
			if n, ok := stats.BlocksNeeded(ratios, i, margin); ok {
				c.BlocksNeeded = &n
			}
		}
	}
}

func verdict(a stats.Answer, ratio float64, better Direction) Verdict {
	switch a {
	case stats.Different:
		if (ratio > 1) == (better == Higher) {
			return Better
		}
		return Worse
	case stats.Small:
		return Small
	case stats.Same:
		return Same
	}
	return CannotTell
}

// known is nil for what JSON cannot say and a reader cannot use.
func known(x float64) *float64 {
	if !finite(x) {
		return nil
	}
	return &x
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
