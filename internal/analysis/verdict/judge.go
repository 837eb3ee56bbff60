// Package verdict compares the values of modes: cells with their verdicts, rankings, comparisons, and what agrees with what.
package verdict

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
)

// Pairing says which values of a mode and of its baseline are compared.
type Pairing string

// The pairings.
const (
	// PairBlocks compares the values of each block: noise that its trials share cancels.
	PairBlocks Pairing = ""
	// PairNone compares all values of both: Welch's test of the logarithms, of set-ups where blocks share some.
	PairNone Pairing = "none"
)

// Rule is how the cells of a run are judged. Margin is the largest relative difference
// that counts as the same, 0.05 for 5 %. Indicative marks every cell of a run that is
// short; a cell whose blocks all share one set-up is marked in any run. Noisy is the reason why no verdict is possible, empty if there is none: values
// and intervals remain, and every verdict is [result.CannotTell]. NoisyIn has the reasons of
// workloads for which that is so while others are judged.
type Rule struct {
	Margin     float64
	Indicative bool
	Pairing    Pairing
	Noisy      string
	NoisyIn    map[string]string
}

// NoisyOf is the reason why no verdict is possible where values of these workloads are compared.
func (r Rule) NoisyOf(workloads ...string) string {
	why := r.Noisy
	for _, w := range workloads {
		why = cmp.Or(why, r.NoisyIn[w])
	}
	return why
}

// Input is what is judged: modes and workloads in the order of the cells, and the trials.
// Metrics are the metrics in order; nil is [result.MetricsOf] of the trials. Values stands
// for Trials if only their values are known; there are no warnings about notes then.
type Input struct {
	Modes     []result.Mode
	Workloads []string
	Metrics   []result.Metric
	Trials    []result.Trial
	Values    *readings.Table
	Rule      Rule
	// Serial are the workloads in which each exchange begins when the one before has ended, so that the inverse of their
	// rate is the time of one.
	Serial []string
}

// Table is the table of the modes with workloads.
func (in Input) Table(workloads []string) readings.Columns {
	if in.Values != nil {
		return in.Values.Of(in.Modes, workloads)
	}
	return readings.Tabulate(in.Modes, workloads, in.Trials)
}

// metrics are the metrics in order.
func (in Input) metrics() []result.Metric {
	switch {
	case in.Metrics != nil:
		return in.Metrics
	case in.Values != nil:
		return in.Values.Metrics()
	}
	return result.MetricsOf(in.Trials)
}

// Cells is [Judge] with the metrics of [result.MetricsOf].
func Cells(modes []result.Mode, workloads []string, trials []result.Trial, rule Rule) ([]result.Cell, []result.Warning) {
	return Judge(Input{Modes: modes, Workloads: workloads, Trials: trials, Rule: rule})
}

// Judge returns one cell for each workload, metric and measured mode that has a value,
// and the warnings about them.
//
// Only valid trials of measured modes count, and no pilots. Of several trials of one
// block, mode and workload the last one in Trials counts. The value is the mode's own,
// over all its trials. The ratio is over the blocks in which both the mode and its
// baseline have a trial: a block that lacks one of them is left out of this pair only.
// The verdict is that of [stats.Decide]: the paired interval of the log ratio, Holm's
// correction over the modes of one workload and metric, and a test of equivalence. A
// difference must also be shown by [stats.SignFlipP], where there are enough replicates.
// Without pairing, the ratio is over all values of both. A control is corrected alone,
// because its verdict is not a claim about a mode.
//
// A ratio is unknown where no block has both or where a value is 0. The verdict is then
// [result.CannotTell], and N counts the mode's own trials. It is [result.Same] without a
// ratio if both have no value other than 0 of a metric of which less is better, such as
// retransmits: none in either. Only a cell whose mode has a baseline has a verdict, and
// a maximum and memory have none ([Uncompared]). A percentile beyond the 99th is judged by the trials of the tail pass alone
// ([result.BeyondP99]).
//
// A cell is a lower bound where the generator could not keep its schedule in a trial, or
// a rate search ended at its highest load. Of the verdicts, only one that is true for
// every value above the bound remains.
//
// The codes of the warnings are unknown_metric, bad_value, baseline_missing,
// beats_baseline, control_differs, tests_disagree and two_bands, and those of the notes of the trials.
func Judge(in Input) ([]result.Cell, []result.Warning) {
	cells, warnings := JudgeEach(in, func(Family) {})
	return cells, warnings
}

// JudgeEach is [Judge], and also calls each for the cells of each workload and metric.
func JudgeEach(in Input, each func(Family)) (cells []result.Cell, warnings []result.Warning) {
	in.Metrics = in.metrics()
	tab := in.Table(in.Workloads)
	warnings = append(tab.LeftOut(in.Modes, in.Workloads, in.Metrics), tab.Noted(in.Modes, in.Workloads)...)
	for _, workload := range in.Workloads {
		for _, m := range in.Modes {
			if m.Status == result.ModeMeasured && m.Baseline != "" && tab.Has(m.ID, workload) && !tab.Has(m.Baseline, workload) && !onlyBaseline(m, in.Modes) {
				warnings = append(warnings, baselineMissing(m, in.Modes, workload))
			}
		}
		rule := in.Rule
		rule.Noisy = rule.NoisyOf(workload)
		for _, metric := range in.Metrics {
			f := Family{metric: metric, rule: rule, serial: slices.Contains(in.Serial, workload), at: map[string]int{}}
			for _, m := range in.Modes {
				f.add(tab, m, workload)
			}
			if q, ok := result.BeyondP99(metric.Name); ok {
				f.judgeTails(in, workload, q)
			} else {
				f.judge()
			}
			each(f)
			cells = append(cells, f.cells...)
			warnings = append(warnings, f.warnings()...)
		}
	}
	return cells, warnings
}

// Uncompared says whether a metric has values but no ratio and no verdict. The maximum of a trial has none: one
// exchange decides it, and the more exchanges a trial has, the larger it is, so that its spread over
// trials does not show what a mode costs. Nor has memory: a baseline has no processes of its own to compare with. The goodput of a load beside
// a workload tells under which load its values are.
func Uncompared(metric string) bool {
	return metric == "rtt_max" || metric == result.Memory || metric == result.LoadGoodput
}

// Family is the cells of one workload and metric, with the modes' values.
type Family struct {
	metric  result.Metric
	rule    Rule
	serial  bool // as of Input
	cells   []result.Cell
	at      map[string]int // the first cell of a mode
	control []bool
	values  [][]readings.Reading
	bands   []*levels // of the cells; nil: the values do not form two bands
}

func (f *Family) add(t readings.Columns, m result.Mode, workload string) {
	own := t.Values(m.ID, workload, f.metric.Name)
	if len(own) == 0 {
		return
	}
	c := result.Cell{
		Mode: m.ID, Workload: workload, Metric: f.metric.Name, Unit: f.metric.Unit, Better: f.metric.Better,
		N: len(own), Baseline: m.Baseline, Judgement: result.Judgement{Indicative: f.rule.Indicative},
	}
	c.Value, c.CI = Summary(own)
	c.AtLeast = t.Limited(m.ID, workload, f.metric)
	c.Lossy = lossy(f.metric, own)
	c.Unpaired = m.Baseline != "" && f.rule.Pairing == PairNone
	if _, ok := f.at[m.ID]; !ok {
		f.at[m.ID] = len(f.cells)
	}
	f.cells, f.control, f.values = append(f.cells, c), append(f.control, m.Control), append(f.values, own)
}

// JudgeFamily compares the cells with a baseline: the modes as one family, each control alone.
func (f *Family) judge() {
	f.findBands()
	if Uncompared(f.metric.Name) {
		return
	}
	var modes []Judged
	for i := range f.cells {
		c := &f.cells[i]
		if c.Baseline == "" {
			continue
		}
		c.Verdict, c.Margin = result.CannotTell, f.rule.Margin
		base := f.baseOf(i)
		if base < 0 {
			continue
		}
		l, ok := LogRatio(f.values[i], f.values[base], f.rule.Pairing)
		if !ok {
			if f.rule.Noisy == "" && NoneInEither(f.metric.Better, f.values[i], f.values[base], f.rule.Pairing) {
				c.Verdict = result.Same
			}
			continue
		}
		j := Judged{Into: &c.Judgement, Better: c.Better, Ratio: l, MayRise: c.AtLeast, MayFall: f.cells[base].AtLeast, oneSender: true, flipP: flipP(f.values[i], f.values[base], f.rule.Pairing, 0)}
		if f.rule.Pairing == PairBlocks {
			c.N = l.N
			c.Added = f.added(i, base)
		}
		if f.control[i] {
			JudgeFamily([]Judged{j}, f.rule)
		} else {
			modes = append(modes, j)
		}
	}
	JudgeFamily(modes, f.rule)
}

// baseOf is the index of the cell that a cell is compared with, -1 if there is none.
func (f *Family) baseOf(i int) int {
	if at, ok := f.at[f.cells[i].Baseline]; ok && f.cells[i].Baseline != "" {
		return at
	}
	return -1
}

// warnings are those about the cells of a primary metric.
func (f *Family) warnings() []result.Warning {
	if !f.metric.Primary {
		return nil
	}
	var out []result.Warning
	for i, c := range f.cells {
		if f.bands[i] != nil {
			out = append(out, twoBands(c, *f.bands[i]))
		}
	}
	for i, c := range f.cells {
		if c.Verdict != "" && f.rule.Noisy == "" && testsDisagree(c.P, c.FlipP) {
			out = append(out, twoTests(c))
		}
		switch {
		case f.control[i] && (c.Verdict == result.Better || c.Verdict == result.Worse):
			out = append(out, controlDiffers(c))
		case c.Verdict == result.Better:
			out = append(out, beatsBaseline(c))
		}
	}
	return out
}

// Summary is the mean of a mode's own trials with its 95 % interval, nil where unknown.
// The mean is geometric, or arithmetic if a value is 0, which has no logarithm. If all
// values are 0 there is no interval.
func Summary(own []readings.Reading) (*float64, *result.Interval) {
	xs := readings.Plain(own)
	mean := stats.GeoMeanIntervalBySetup
	if slices.Min(xs) == 0 {
		mean = stats.MeanIntervalBySetup
	}
	e, err := mean(xs, readings.SetupsOf(own), 0.95)
	if err != nil || !readings.Finite(e.Value) {
		return nil, nil // tabulate lets no value through that could cause it
	}
	if !e.HasInterval || !readings.Finite(e.Lo) || !readings.Finite(e.Hi) || slices.Max(xs) == 0 {
		return &e.Value, nil
	}
	// No value can be negative, and an interval that is cut off at 0 covers as often.
	return &e.Value, &result.Interval{max(0, e.Lo), e.Hi}
}

// lossy counts the values of loss_ratio that are above 0, nil for any other metric.
func lossy(m result.Metric, own []readings.Reading) *result.Lossy {
	if m.Name != "loss_ratio" {
		return nil
	}
	l := result.Lossy{Trials: len(own)}
	for _, r := range own {
		if r.Value > 0 {
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

// LogRatio is the ratio over the blocks that both have, or over all values of both. It is
// unknown if a value is 0: leaving out that block would favour one side.
func LogRatio(own, base []readings.Reading, pairing Pairing) (stats.LogRatio, bool) {
	var l stats.LogRatio
	var err error
	if pairing == PairNone {
		l, err = stats.Unpaired(readings.Plain(own), readings.Plain(base), readings.SetupsOf(own), readings.SetupsOf(base))
	} else {
		l, err = stats.PairedBySetup(readings.InBoth(own, base))
	}
	return l, err == nil && readings.Finite(l.Ratio()) && l.Ratio() > 0
}

// NoneInEither says whether two or more values of each are all 0, in blocks that both
// have, for a metric of which less is better.
func NoneInEither(better result.Direction, own, base []readings.Reading, pairing Pairing) bool {
	x, b := readings.Plain(own), readings.Plain(base)
	if pairing == PairBlocks {
		x, b, _ = readings.InBoth(own, base)
	}
	return better == result.Lower && min(len(x), len(b)) >= 2 && slices.Max(x) == 0 && slices.Max(b) == 0
}

// Judged is a judgement to fill in, and the ratio that it is made by.
type Judged struct {
	Into   *result.Judgement
	Better result.Direction
	Ratio  stats.LogRatio
	// expect is the expected ratio; 0 is 1.
	expect float64
	// MayRise and mayFall say that the true ratio may be above or below the measured one,
	// because a value in it is a lower bound. oneSender says that both values are of the
	// same traffic and have the same sender. noisy says that a workload of it is too noisy to judge.
	MayRise, MayFall, oneSender, Noisy bool
	// flipP is that of the sign-flip test of the ratio; nil where it is unknown.
	flipP *float64
}

// flipP is the p value of [stats.SignFlipP] that the ratio of two modes is an expected one, 0 for 1, over the blocks that both
// have; nil where it is unknown, and without pairing.
func flipP(own, base []readings.Reading, pairing Pairing, expect float64) *float64 {
	x, b, setups := readings.InBoth(own, base)
	ds, err := stats.Differences(x, b)
	if err != nil || pairing == PairNone {
		return nil
	}
	if expect > 0 {
		for i := range ds {
			ds[i] -= math.Log(expect)
		}
	}
	return Known(stats.SignFlipP(ds, setups))
}

// testsDisagree reports whether the t test shows a difference and the sign-flip test of the same values does not: then none is
// shown. adjusted is the p value of the t test, adjusted over its family.
func testsDisagree(adjusted, flip *float64) bool {
	return adjusted != nil && *adjusted < level && flip != nil && *flip >= level
}

// JudgeFamily fills in the judgements that are corrected together.
func JudgeFamily(family []Judged, rule Rule) {
	ratios, ps := make([]stats.LogRatio, len(family)), make([]float64, len(family))
	for i, j := range family {
		ratios[i] = j.Ratio
		if j.expect > 0 {
			ratios[i].Mean -= math.Log(j.expect)
		}
		ps[i] = ratios[i].P()
	}
	ps = stats.Holm(ps)
	var needed []int
	if rule.Noisy == "" {
		needed = stats.BlocksNeeded(ratios, rule.Margin)
	}
	for i, j := range family {
		c := j.Into
		c.Ratio, c.Setups = Known(j.Ratio.Ratio()), j.Ratio.Setups
		if c.Setups > 0 {
			c.DF = j.Ratio.DF
		}
		c.Indicative = c.Indicative || c.Setups == 1 // of what varies between set-ups nothing is known
		if lo, hi, ok := j.Ratio.Interval(0.95); ok && readings.Finite(lo) && readings.Finite(hi) {
			c.RatioCI = &result.Interval{lo, hi}
		}
		c.P, c.FlipP = Known(ps[i]), j.flipP
		c.Detectable = Known(ratios[i].Detectable())
		if rule.Noisy != "" || j.Noisy {
			c.Verdict = result.CannotTell // more blocks of the same would not help
			continue
		}
		p := ps[i]
		if testsDisagree(c.P, c.FlipP) {
			p = 1
		}
		c.Verdict = verdict(stats.Decide(ratios[i], p, rule.Margin), ratios[i].Mean, j.Better)
		if c.Verdict == result.CannotTell && needed[i] >= 0 && p == ps[i] {
			c.BlocksNeeded = &needed[i]
		}
		if j.oneSender {
			levelVerdict(c, j.MayRise || j.MayFall)
		} else {
			boundVerdict(c, j.Better, j.MayRise, j.MayFall)
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

// Known is nil for a number that JSON cannot represent.
func Known(x float64) *float64 {
	if !readings.Finite(x) {
		return nil
	}
	return &x
}

// SerialWorkloads are the workloads of a study with one flow, one client, no pipeline and no schedule: Serial of an [Input].
func SerialWorkloads(s study.Study) []string {
	var out []string
	for _, w := range plan.Workloads(s) {
		if max(w.Flows, w.Streams, w.Clients(), w.Pipeline) <= 1 && w.TransactionRate == 0 {
			out = append(out, w.ID)
		}
	}
	return out
}
