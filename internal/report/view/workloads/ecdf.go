package workloads

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/wording"
)

// The limits of the axis of an ECDF, which is that of [chart.QuantileAt].
const (
	leastTail = 2 // 99 %
	mostTail  = 6 // 99.9999 %: beyond it are too few values for a curve
)

// pooledQuantiles are the quantiles in the table behind an ECDF.
func pooledQuantiles() []quantile {
	return []quantile{
		{"", "1 %", 0.01}, {"", "10 %", 0.1}, {"", "50 %", 0.5}, {"", "90 %", 0.9}, {"", "99 %", 0.99},
		{"", "99.9 %", 0.999}, {"", "99.99 %", 0.9999}, {"", "longest", 1},
	}
}

// tailTicks are the shares on the axis of an ECDF.
func tailTicks(last float64) []chart.Tick {
	var out []chart.Tick
	for _, q := range []quantile{{"", "50 %", 0.5}, {"", "90 %", 0.9}, {"", "99 %", 0.99}, {"", "99.9 %", 0.999}, {"", "99.99", 0.9999}, {"", "99.999", 0.99999}, {"", "99.9999", 0.999999}} {
		if at := chart.QuantileAt(q.q, last+1); at <= last {
			out = append(out, chart.Tick{At: at, Label: q.label})
		}
	}
	return out
}

// pooledOf are the distributions of a workload's durations of one kind, by mode; nil
// where none has any.
func pooledOf(all []result.ECDF, workload, of string, modes []model.Row) []*result.ECDF {
	out, found := make([]*result.ECDF, len(modes)), false
	for i, m := range modes {
		at := slices.IndexFunc(all, func(e result.ECDF) bool {
			return e.Mode == m.Mode.ID && e.Workload == workload && e.Of == of && e.Count() > 0
		})
		if at >= 0 && !model.Unmeasured(m.Mode) {
			out[i], found = &all[at], true
		}
	}
	if !found {
		return nil
	}
	return out
}

// ecdf draws the distributions of all modes in one plot. A mode without a distribution has its
// percentiles.
func (c percentileCurve) ecdf() sheet.WorkloadChart {
	p := sheet.NewCurves(c.Title + ", ECDF, " + c.Scale.Unit)
	last, ringed := c.tail()
	missing, coarsest := 0, 0.0
	for i, r := range c.Modes {
		e := c.Pooled[i]
		if e == nil {
			drawRings(p, c, i, last)
			continue
		}
		p.Spans(e.Upper[0], e.Upper[len(e.Upper)-1])
		missing, coarsest = missing+e.Missing, max(coarsest, e.Resolution)
		words := ""
		for _, q := range pooledQuantiles() {
			if v, ok := pooledAt(*e, q.q); ok {
				words += " " + q.label + " " + c.Scale.Value(v)
			}
		}
		p.Draw(r, chart.Line{Points: c.stairs(*e, last), Dense: true}, words)
	}
	caption := "A curve is the empirical distribution over all trials of a mode, in steps of " + wording.Percent(coarsest) +
		", on an axis that widens towards the tail. The percentiles in the tables are means over trials and differ a little from it."
	if ringed {
		caption += " Rings are such means, of modes without a distribution; the lines between them are not measured."
	}
	unrecorded := ""
	if missing > 0 {
		unrecorded = " Of " + wording.Count(missing, "trial", "trials") + " that count, no distribution is recorded."
	}
	return p.Drawn(chart.Dim{Lo: new(0.0), Hi: &last, Ticks: tailTicks(last), Kind: chart.TailKind}, caption, unrecorded)
}

// tail is the end of the axis: the longest value of the mode with the most values. Ringed
// reports whether the plot has percentiles, too.
func (c percentileCurve) tail() (last float64, ringed bool) {
	last = leastTail
	for i, e := range c.Pooled {
		switch {
		case e != nil:
			last = max(last, math.Log10(2*e.Count()))
		case len(c.values(i)) > 0:
			ringed = true
			last = max(last, 3.6)
		}
	}
	return min(last, mostTail), ringed
}

// stairs are the steps of a distribution. The longest of n is drawn at the middle of the last
// n-th.
func (c percentileCurve) stairs(e result.ECDF, last float64) []chart.XY {
	all, n := e.Count(), 0.0
	out := []chart.XY{{X: 0, Y: c.Scale.In(e.Upper[0])}}
	for i, u := range e.Upper {
		y := c.Scale.In(u)
		if before := out[len(out)-1]; before.Y != y {
			out = append(out, chart.XY{X: before.X, Y: y})
		}
		n += float64(e.Counts[i])
		share := n / all
		if n >= all {
			share = 1 - 0.5/all
		}
		out = append(out, chart.XY{X: chart.QuantileAt(share, last), Y: y})
	}
	return out
}

// pooledAt is a quantile of a distribution; false where there are too few values for it.
func pooledAt(e result.ECDF, q float64) (float64, bool) {
	if all := e.Count(); q < 1 && (1-q)*all < 1 || q*all < 1 {
		return 0, false
	}
	return e.Quantile(q), true
}

// ecdfTable is the table behind the distributions.
func (c percentileCurve) ecdfTable() sheet.Behind {
	b := sheet.Behind{Caption: c.Title + ", " + c.Scale.Unit + ", all trials together", First: "Mode", Heads: []string{"How many", "Trials"}}
	for _, q := range pooledQuantiles() {
		b.Heads = append(b.Heads, q.label)
	}
	for i, m := range c.Modes {
		row := sheet.BehindRow{Name: m.Mode.ID, Group: m.No}
		e, known := c.Pooled[i], c.values(i)
		if e != nil {
			row.Cells = []string{wording.Plain(e.Count()), wording.Plain(float64(e.Trials))}
		} else {
			row.Cells = []string{cmp.Or(map[bool]string{true: "means of trials"}[len(known) > 0], wording.Unknown), wording.Unknown}
		}
		for _, q := range pooledQuantiles() {
			text := wording.Unknown
			if e != nil {
				if v, ok := pooledAt(*e, q.q); ok {
					text = c.Scale.Number(v)
				}
			} else if v, ok := known[q.q]; ok {
				text = c.Scale.Number(v)
			}
			row.Cells = append(row.Cells, text)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}
