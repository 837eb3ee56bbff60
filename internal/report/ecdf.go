package report

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// The ends of the axis of an ECDF, which is that of [chart.QuantileAt].
const (
	leastTail = 2 // 99 %
	mostTail  = 6 // 99.9999 %: of what is further out there are too few to draw a curve
)

// pooledQuantiles are what the table behind an ECDF tells of it.
func pooledQuantiles() []quantile {
	return []quantile{
		{"", "1 %", 0.01}, {"", "10 %", 0.1}, {"", "50 %", 0.5}, {"", "90 %", 0.9}, {"", "99 %", 0.99},
		{"", "99.9 %", 0.999}, {"", "99.99 %", 0.9999}, {"", "longest", 1},
	}
}

// tailTicks name the shares on the axis of an ECDF.
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
func pooledOf(all []result.ECDF, workload, of string, modes []row) []*result.ECDF {
	out, found := make([]*result.ECDF, len(modes)), false
	for i, m := range modes {
		at := slices.IndexFunc(all, func(e result.ECDF) bool {
			return e.Mode == m.Mode.ID && e.Workload == workload && e.Of == of && e.Count() > 0
		})
		if at >= 0 && !unmeasured(m.Mode) {
			out[i], found = &all[at], true
		}
	}
	if !found {
		return nil
	}
	return out
}

// ecdf draws the distributions of all modes in one plot. A mode of which only
// percentiles are known has these.
func (c percentileCurve) ecdf() shown {
	p := newCurves(c.Title + ", ECDF, " + c.Scale.Unit)
	last, ringed := c.tail()
	missing, coarsest := 0, 0.0
	for i, r := range c.Modes {
		e := c.Pooled[i]
		if e == nil {
			p.drawRings(c, i, last)
			continue
		}
		p.spans(e.Upper[0], e.Upper[len(e.Upper)-1])
		missing, coarsest = missing+e.Missing, max(coarsest, e.Resolution)
		words := ""
		for _, q := range pooledQuantiles() {
			if v, ok := pooledAt(*e, q.q); ok {
				words += " " + q.label + " " + c.Scale.Value(v)
			}
		}
		p.draw(r, chart.Line{Points: c.stairs(*e, last), Dense: true}, words)
	}
	caption := "A curve is the empirical distribution of all that a mode's trials took, put together, in steps of " + say.Percent(coarsest) +
		", on an axis that widens towards the longest; the percentiles of the tables are means over trials, and not quite its own."
	if ringed {
		caption += " Rings are such means, of modes of which no more is known; the line between them is only drawn."
	}
	unrecorded := ""
	if missing > 0 {
		unrecorded = " Of " + say.Count(missing, "trial", "trials") + " that count no distribution is recorded."
	}
	return p.drawn(chart.Dim{Lo: ptrTo(0.0), Hi: &last, Ticks: tailTicks(last), Kind: chart.TailKind}, caption, unrecorded)
}

// tail is where the axis ends: with the longest of the mode of which there are most.
// Ringed says that percentiles stand on it, too.
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

// stairs are the steps of a distribution. The longest of n stands at the middle of the
// last n-th of all.
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

// pooledAt is a quantile of a distribution; false where there are too few for one so far
// out.
func pooledAt(e result.ECDF, q float64) (float64, bool) {
	if all := e.Count(); q < 1 && (1-q)*all < 1 || q*all < 1 {
		return 0, false
	}
	return e.Quantile(q), true
}

// ecdfTable is the table behind the distributions.
func (c percentileCurve) ecdfTable() behind {
	b := behind{Caption: c.Title + ", " + c.Scale.Unit + ", all trials together", First: "Mode", Heads: []string{"How many", "Trials"}}
	for _, q := range pooledQuantiles() {
		b.Heads = append(b.Heads, q.label)
	}
	for i, m := range c.Modes {
		row := behindRow{Name: m.Mode.ID, Group: m.No}
		e, known := c.Pooled[i], c.values(i)
		if e != nil {
			row.Cells = []string{say.Plain(e.Count()), say.Plain(float64(e.Trials))}
		} else {
			row.Cells = []string{cmp.Or(map[bool]string{true: "means of trials"}[len(known) > 0], say.Unknown), say.Unknown}
		}
		for _, q := range pooledQuantiles() {
			text := say.Unknown
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
