package sheet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// MostDots is how many dots of a row a chart draws.
const MostDots = 150

// downsample returns at most mostDots points of a row, evenly spaced by rank, with the
// extremes. Trials that were ruled out are dropped last.
func downsample(all []point) []point {
	if len(all) <= MostDots {
		return all
	}
	var out []point
	in := make([]point, 0, len(all))
	for _, p := range all {
		if p.out() {
			out = append(out, p)
		} else {
			in = append(in, p)
		}
	}
	slices.SortFunc(in, func(a, b point) int { return cmp.Or(cmp.Compare(a.value, b.value), a.trial.Seq-b.trial.Seq) })
	out = piece.Downsampled(out, MostDots/2)
	return append(piece.Downsampled(in, MostDots-len(out)), out...)
}

// description says in words what the figure shows.
func description(t model.Table) string {
	var parts []string
	for _, r := range t.Rows() {
		text := r.Mode.ID + ": "
		if v := r.Value(t.Scale); v != wording.Unknown {
			text += v + " " + t.Scale.Unit + ", "
		}
		parts = append(parts, wording.Cut(text+r.Verdict(), 300))
	}
	return strings.Join(parts, ". ") + "."
}

// legend explains the figure; ratio says that it has a panel of ratios.
func legend(t model.Table, ratio bool) string {
	text := "A dot is a trial"
	if ratio {
		text += ", or on the left a block: the mode's trial over its baseline's in the same block"
	}
	text += ". The bar is the 95 % interval of the mean below its dots."
	if m := margin(t); ratio && m > 0 {
		text += " The shaded band is the margin of " + wording.Percent(m) + "."
	}
	if ruledOut(t) {
		text += " A cross is a trial that was ruled out."
	}
	return text
}

// margin is the largest margin of the table's verdicts.
func margin(t model.Table) float64 {
	m := 0.0
	for _, r := range t.Rows() {
		if r.Cell != nil {
			m = max(m, r.Cell.Margin)
		}
	}
	return m
}

func ruledOut(t model.Table) bool {
	return slices.ContainsFunc(t.Rows(), func(r model.Row) bool {
		return slices.ContainsFunc(points(r, t), point.out)
	})
}

// point is a trial with what a dot shows of it. There may be very many, of which few
// are drawn.
type point struct {
	value float64
	trial *result.Trial
}

func (p point) out() bool { return p.trial.Status != result.TrialOK }

// points are all trials of a row with a value; none if the row's value is that of the tail pass, of which its trials are
// no part.
func points(r model.Row, t model.Table) []point {
	if model.Unmeasured(r.Mode) || r.Cell != nil && r.Cell.Tail != nil {
		return nil
	}
	out := make([]point, 0, len(r.Trials))
	for _, trial := range r.Trials {
		if v, ok := trial.Metrics[t.Metric.Name]; ok && piece.Finite(&v) && trial.Status != result.TrialFailed {
			out = append(out, point{v, trial})
		}
	}
	return out
}

// dots are trials of a row, in the table's unit: all with a value, or as many as
// can be told apart.
func dots(r model.Row, t model.Table) []chart.Dot {
	var out []chart.Dot
	for _, p := range downsample(points(r, t)) {
		d := chart.Dot{X: t.Scale.In(p.value), No: p.trial.Block, Out: p.out()}
		d.Tip = fmt.Sprintf("block %d, trial %d: %s", p.trial.Block, p.trial.Seq, t.Scale.Value(p.value))
		if d.Out {
			d.Tip += ", " + wording.Cut(string(p.trial.Status)+": "+p.trial.Reason, 200)
		}
		out = append(out, d)
	}
	return out
}

// blockRatios are the ratios, block by block, that the estimate is the mean of: all, or
// as many as can be told apart.
func blockRatios(r model.Row, t model.Table) []chart.Dot {
	if r.Cell != nil && r.Cell.Tail != nil {
		return nil
	}
	if model.Unmeasured(r.Mode) || r.Mode.Baseline == "" {
		return nil
	}
	base := byBlock(r.Base, t.Metric.Name)
	all := make([]point, 0, len(r.Trials))
	for _, trial := range r.Trials {
		v, b := trial.Metrics[t.Metric.Name], base[trial.Block]
		if ratio := v / b; trial.Status == result.TrialOK && v > 0 && b > 0 && piece.Finite(&ratio) {
			all = append(all, point{ratio, trial})
		}
	}
	var out []chart.Dot
	for _, p := range downsample(all) {
		out = append(out, chart.Dot{X: p.value, No: p.trial.Block, Tip: fmt.Sprintf("block %d: %s", p.trial.Block, wording.BareRatio(p.value))})
	}
	return out
}

func byBlock(trials []*result.Trial, metric string) map[int]float64 {
	out := make(map[int]float64, len(trials))
	for _, t := range trials {
		if v, ok := t.Metrics[metric]; ok && t.Status == result.TrialOK {
			out[t.Block] = v
		}
	}
	return out
}
