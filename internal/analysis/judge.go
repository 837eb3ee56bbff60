// Package analysis is what follows from the trials of a run: cells, comparisons, sums and
// warnings. It is pure: it reads no file and no clock, and writes nothing down.
package analysis

import (
	"math"
	"slices"

	"tare/internal/result"
	"tare/internal/stats"
)

// Pairing says which values of a mode and its baseline belong together.
type Pairing string

// The pairings.
const (
	// PairBlocks compares values of one block: what its trials share cancels.
	PairBlocks Pairing = ""
	// PairNone compares all values with all: Welch's test of the logarithms.
	PairNone Pairing = "none"
)

// Rule is how the cells of a run are judged. Margin is the relative difference
// that still counts as the same, 0.05 for 5 %. Indicative marks every cell of a
// run too short for more than a hint. Noisy, unless empty, says why the run is not
// fit to judge: figures and intervals stay, every verdict is [result.CannotTell].
type Rule struct {
	Margin     float64
	Indicative bool
	Pairing    Pairing
	Noisy      string
}

// Input is what there is to judge: modes and workloads in the order of the cells,
// and the trials. Metrics are those that count, in order; nil stands for [result.MetricsOf] the trials.
type Input struct {
	Modes     []result.Mode
	Workloads []string
	Metrics   []result.Metric
	Trials    []result.Trial
	Rule      Rule
}

// Cells judges the trials of a run in the metrics of [result.MetricsOf] them, as [Judge] does.
func Cells(modes []result.Mode, workloads []string, trials []result.Trial, rule Rule) ([]result.Cell, []result.Warning) {
	return Judge(Input{Modes: modes, Workloads: workloads, Trials: trials, Rule: rule})
}

// Judge sums up trials, one cell for each workload, metric and measured mode that
// has a value, and says what a careful reader must know about them.
//
// Only ok trials of measured modes count, and no pilots. Of several for the same
// block, mode and workload the last one in Trials counts. The value is a mode's
// own, over all its trials. The ratio is over the blocks in which both the mode and
// its baseline have a trial, so that a block which lacks one of them is left out of
// this pair alone; by the paired log-ratio interval, Holm's correction over the
// modes of one workload and metric, and the test of equivalence of [stats.Decide].
// Without pairing it is over all values of both. A control, which is no claim about
// a mode, is corrected alone.
//
// A ratio is unknown where no block has both or where a value is 0, as a count of
// retransmits may be. The verdict is then [result.CannotTell] and N counts the mode's own
// trials. Only a cell whose mode has a baseline has a verdict.
//
// Where a trial of a cell shows no more than that a rate is as high as this, because
// the generator could not keep up with its schedule or a search ended at its most,
// the cell is a lower bound; of the verdicts only one that holds for every value
// above the bound remains.
//
// The codes of the warnings are unknown_metric, bad_value, baseline_missing,
// beats_baseline, control_differs and two_bands, and those of the notes of the
// trials.
func Judge(in Input) ([]result.Cell, []result.Warning) {
	if in.Metrics == nil {
		in.Metrics = result.MetricsOf(in.Trials)
	}
	tab := tabulate(in.Modes, in.Workloads, in.Trials)
	warnings := append(tab.leftOut(in), tab.noted(in)...)
	var cells []result.Cell
	for _, workload := range in.Workloads {
		for _, m := range in.Modes {
			if m.Status == result.ModeMeasured && m.Baseline != "" && tab.has(m.ID, workload) && !tab.has(m.Baseline, workload) {
				warnings = append(warnings, baselineMissing(m, in.Modes, workload))
			}
		}
		for _, metric := range in.Metrics {
			f := family{metric: metric, rule: in.Rule}
			for _, m := range in.Modes {
				f.add(tab, m, workload)
			}
			f.judge()
			cells = append(cells, f.cells...)
			warnings = append(warnings, f.warnings()...)
		}
	}
	return cells, warnings
}

// family is the cells of one workload and metric, with the modes' values.
type family struct {
	metric  result.Metric
	rule    Rule
	cells   []result.Cell
	control []bool
	values  [][]reading
}

func (f *family) add(t table, m result.Mode, workload string) {
	own := t.values(m.ID, workload, f.metric.Name)
	if len(own) == 0 {
		return
	}
	c := result.Cell{
		Mode: m.ID, Workload: workload, Metric: f.metric.Name, Unit: f.metric.Unit, Better: f.metric.Better,
		N: len(own), Baseline: m.Baseline, Indicative: f.rule.Indicative,
	}
	c.Value, c.CI = summary(own)
	c.AtLeast = t.limited(m.ID, workload, f.metric)
	c.Bands = bands(own)
	c.Lossy = lossy(f.metric, own)
	c.Unpaired = m.Baseline != "" && f.rule.Pairing == PairNone
	f.cells, f.control, f.values = append(f.cells, c), append(f.control, m.Control), append(f.values, own)
}

// judge compares what has a baseline: the modes together, controls each alone.
func (f *family) judge() {
	var modes []judged
	for i := range f.cells {
		c := &f.cells[i]
		if c.Baseline == "" {
			continue
		}
		c.Verdict, c.Margin = result.CannotTell, f.rule.Margin
		base := slices.IndexFunc(f.cells, func(b result.Cell) bool { return b.Mode == c.Baseline })
		if base < 0 {
			continue
		}
		l, ok := compare(f.values[i], f.values[base], f.rule.Pairing)
		if !ok {
			continue
		}
		j := judged{cell: c, ratio: l, mayRise: c.AtLeast, mayFall: f.cells[base].AtLeast, oneSender: true}
		if f.rule.Pairing == PairBlocks {
			c.N = l.N
		}
		if f.control[i] {
			judge([]judged{j}, f.rule)
		} else {
			modes = append(modes, j)
		}
	}
	judge(modes, f.rule)
}

// warnings are those about the cells of the metric that stands for its workload.
func (f *family) warnings() []result.Warning {
	if !f.metric.Primary {
		return nil
	}
	var out []result.Warning
	for _, c := range f.cells {
		if c.Bands != nil {
			out = append(out, twoBands(c))
		}
	}
	for i, c := range f.cells {
		switch {
		case f.control[i] && (c.Verdict == result.Better || c.Verdict == result.Worse):
			out = append(out, controlDiffers(c))
		case c.Verdict == result.Better:
			out = append(out, beatsBaseline(c))
		}
	}
	return out
}

// summary is the mean of a mode's own trials with its 95 % interval, nil where
// unknown: geometric, or arithmetic if a trial gave 0, which has no logarithm.
// Trials that all gave 0 do not say how near to 0 the mean is: no interval.
func summary(own []reading) (*float64, *result.Interval) {
	xs := plain(own)
	mean := stats.GeoMeanInterval
	if slices.Min(xs) == 0 {
		mean = stats.MeanInterval
	}
	e, err := mean(xs, 0.95)
	if err != nil || !finite(e.Value) {
		return nil, nil // tabulate lets no value through that could cause it
	}
	if !e.HasInterval || !finite(e.Lo) || !finite(e.Hi) || slices.Max(xs) == 0 {
		return &e.Value, nil
	}
	// Nothing measured here can be negative, and an interval cut off at what is
	// possible covers as often.
	return &e.Value, &result.Interval{max(0, e.Lo), e.Hi}
}

// bands are the two levels that values fall into, nil if they do not.
func bands(own []reading) *result.Bands {
	b, ok := stats.TwoBands(plain(own))
	if !ok {
		return nil
	}
	return &result.Bands{Low: result.Band(b.Low), High: result.Band(b.High)}
}

// lossy counts the values of a ratio of loss that are above 0, nil for any other
// metric.
func lossy(m result.Metric, own []reading) *result.Lossy {
	if m.Name != "loss_ratio" {
		return nil
	}
	l := result.Lossy{Trials: len(own)}
	for _, r := range own {
		if r.value > 0 {
			l.Lossy++
		}
	}
	upper, ok := stats.ClopperPearsonUpper(l.Lossy, l.Trials, 0.95)
	if !ok {
		return nil
	}
	l.Upper = upper
	return &l
}

// compare pairs the values of the blocks that both have, or takes all of both. A
// pair with a 0 leaves the ratio unknown: leaving out that block would favour one
// side.
func compare(own, base []reading, pairing Pairing) (stats.LogRatio, bool) {
	var l stats.LogRatio
	var err error
	if pairing == PairNone {
		l, err = stats.Unpaired(plain(own), plain(base))
	} else {
		l, err = stats.Paired(inBoth(own, base))
	}
	return l, err == nil && finite(l.Ratio()) && l.Ratio() > 0
}

// judged is a cell with the ratio that it is judged by.
type judged struct {
	cell  *result.Cell
	ratio stats.LogRatio
	// expect is the ratio that would be no news, 0 for 1.
	expect float64
	// mayRise and mayFall say that the true ratio may lie above or below the one
	// measured, because a value in it is only a lower bound; oneSender that it is of
	// two values of the same traffic, so that the same sender made both.
	mayRise, mayFall, oneSender bool
}

// judge fills in what is known of cells that are corrected together.
func judge(family []judged, rule Rule) {
	ratios, ps := make([]stats.LogRatio, len(family)), make([]float64, len(family))
	for i, j := range family {
		ratios[i] = j.ratio
		if j.expect > 0 {
			ratios[i].Mean -= math.Log(j.expect)
		}
		ps[i] = ratios[i].P()
	}
	ps = stats.Holm(ps)
	for i, j := range family {
		c := j.cell
		c.Ratio = known(j.ratio.Ratio())
		if lo, hi, ok := j.ratio.Interval(0.95); ok && finite(lo) && finite(hi) {
			c.RatioCI = &result.Interval{lo, hi}
		}
		c.P = known(ps[i])
		c.Detectable = known(ratios[i].Detectable())
		if rule.Noisy != "" {
			c.Verdict = result.CannotTell // more of the same would not help
			continue
		}
		c.Verdict = verdict(stats.Decide(ratios[i], ps[i], rule.Margin), ratios[i].Mean, c.Better)
		if c.Verdict == result.CannotTell {
			if n, ok := stats.BlocksNeeded(ratios, i, rule.Margin); ok {
				c.BlocksNeeded = &n
			}
		}
		if j.oneSender {
			levelVerdict(c, j.mayRise || j.mayFall)
		} else {
			boundVerdict(c, j.mayRise, j.mayFall)
		}
	}
}

func verdict(a stats.Answer, logRatio float64, better result.Direction) result.Verdict {
	switch a {
	case stats.Different:
		if (logRatio > 0) == (better == result.Higher) {
			return result.Better
		}
		return result.Worse
	case stats.Small:
		return result.Small
	case stats.Same:
		return result.Same
	}
	return result.CannotTell
}

// known is nil for what JSON cannot say and a reader cannot use.
func known(x float64) *float64 {
	if !finite(x) {
		return nil
	}
	return &x
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
