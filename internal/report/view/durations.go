package view

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// quantile is a percentile that trials record, by the suffix of its metrics' names.
type quantile struct {
	suffix, label string
	q             float64
}

func quantiles() []quantile {
	return []quantile{{"_p50", "50 %", 0.5}, {"_p90", "90 %", 0.9}, {"_p99", "99 %", 0.99}, {"_p999", "99.9 %", 0.999}, {"_max", "longest", 1}}
}

// percentileCurve is the percentiles of one duration, by mode.
type percentileCurve struct {
	Title  string // "Round trip"
	Scale  wording.Scale
	Known  []quantile
	Tables []table // of each of Known
	Modes  []row
	// Pooled are the whole distributions by mode, nil for a mode with percentiles only; it is
	// nil where no mode has one.
	Pooled []*result.ECDF
}

// percentileCurves are the durations of which a workload has whole distributions, or two
// percentiles or more, in the order of its tables.
func (w workload) percentileCurves() []percentileCurve {
	var stems []string
	for _, t := range w.Tables {
		if stem := stemOf(t.Metric.Name); stem != "" && !slices.Contains(stems, stem) && t.judged() {
			stems = append(stems, stem)
		}
	}
	var out []percentileCurve
	for _, stem := range stems {
		c := percentileCurve{}
		for _, q := range quantiles() {
			i := slices.IndexFunc(w.Tables, func(t table) bool { return t.Metric.Name == stem+q.suffix && t.judged() })
			if i < 0 {
				continue
			}
			c.Known, c.Tables = append(c.Known, q), append(c.Tables, w.Tables[i])
		}
		c.Modes = c.Tables[0].rows()
		if c.Pooled = pooledOf(w.ECDFs, w.ID, stem, c.Modes); c.Pooled == nil && len(c.Known) < 2 {
			continue
		}
		c.Title, _, _ = strings.Cut(c.Tables[0].Metric.Title, ",")
		var all []float64
		for i := range c.Modes {
			for _, v := range c.values(i) {
				all = append(all, v)
			}
		}
		for _, e := range c.Pooled {
			if e != nil {
				all = append(all, e.Quantile(0.5))
			}
		}
		// The scale of the smallest value, so that a tail of milliseconds does not show
		// medians as thousandths.
		c.Scale = wording.ScaleFor(c.Tables[0].Metric.Unit, slices.Min(append(all, math.MaxFloat64)))
		out = append(out, c)
	}
	return out
}

// stemOf is the duration that a metric is a percentile of; empty for other metrics.
func stemOf(metric string) string {
	for _, k := range quantiles() {
		if s, ok := strings.CutSuffix(metric, k.suffix); ok {
			return s
		}
	}
	return ""
}

// values are those of a mode, in base units, by percentile; unknown values are left out.
func (c percentileCurve) values(mode int) map[float64]float64 {
	out := map[float64]float64{}
	for i, q := range c.Known {
		r, ok := c.Tables[i].of(c.Modes[mode].Mode.ID)
		if ok && !unmeasured(r.Mode) && r.Cell != nil && finite(r.Cell.Value) && *r.Cell.Value > 0 {
			out[q.q] = *r.Cell.Value
		}
	}
	return out
}

// rings are the percentiles of a mode as spots from left to right, and in words.
func (c percentileCurve) rings(mode int, last float64) (rings []chart.Spot, words string) {
	values, name := c.values(mode), wording.Cut(c.Modes[mode].Mode.ID, 60)
	for _, q := range c.Known {
		if v, ok := values[q.q]; ok {
			words += " " + q.label + " " + c.Scale.Value(v)
			rings = append(rings, chart.Spot{X: chart.QuantileAt(q.q, last), Y: c.Scale.In(v), Look: chart.Open, Tip: name + ", " + q.label + ": " + c.Scale.Value(v)})
		}
	}
	return rings, words
}

// chart draws the curves of all modes in one plot.
func (c percentileCurve) chart() workloadChart {
	if c.Pooled != nil {
		return c.ecdf()
	}
	p := newCurves(c.Title + ", percentiles, " + c.Scale.Unit)
	last := chart.QuantileAt(c.Known[len(c.Known)-1].q, 3.6)
	for i := range c.Modes {
		p.drawRings(c, i, last)
	}
	var x chart.Dim
	for _, q := range c.Known {
		x.Ticks = append(x.Ticks, chart.Tick{At: chart.QuantileAt(q.q, last), Label: q.label})
	}
	return p.drawn(x, "A curve of percentiles: each ring is the mean over the trials. The lines between rings are not measured.", "")
}

// tableOf is the table behind the curves.
func (c percentileCurve) tableOf() behind {
	if c.Pooled != nil {
		return c.ecdfTable()
	}
	b := behind{Caption: c.Title + ", " + c.Scale.Unit + " (95 % interval)", First: "Mode"}
	for _, q := range c.Known {
		b.Heads = append(b.Heads, q.label)
	}
	for _, m := range c.Modes {
		row := behindRow{Name: m.Mode.ID, Group: m.No}
		for i := range c.Known {
			text := wording.Unknown
			if r, ok := c.Tables[i].of(m.Mode.ID); ok && !unmeasured(r.Mode) {
				text = r.value(c.Scale)
			}
			row.Cells = append(row.Cells, text)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

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

// ecdf draws the distributions of all modes in one plot. A mode without a distribution has its
// percentiles.
func (c percentileCurve) ecdf() workloadChart {
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
	caption := "A curve is the empirical distribution over all trials of a mode, in steps of " + wording.Percent(coarsest) +
		", on an axis that widens towards the tail. The percentiles in the tables are means over trials and differ a little from it."
	if ringed {
		caption += " Rings are such means, of modes without a distribution; the lines between them are not measured."
	}
	unrecorded := ""
	if missing > 0 {
		unrecorded = " Of " + wording.Count(missing, "trial", "trials") + " that count, no distribution is recorded."
	}
	return p.drawn(chart.Dim{Lo: ptrTo(0.0), Hi: &last, Ticks: tailTicks(last), Kind: chart.TailKind}, caption, unrecorded)
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
func (c percentileCurve) ecdfTable() behind {
	b := behind{Caption: c.Title + ", " + c.Scale.Unit + ", all trials together", First: "Mode", Heads: []string{"How many", "Trials"}}
	for _, q := range pooledQuantiles() {
		b.Heads = append(b.Heads, q.label)
	}
	for i, m := range c.Modes {
		row := behindRow{Name: m.Mode.ID, Group: m.No}
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

// curves are durations of all modes in one plot, share of all to the right.
type curves struct {
	workloadChart
	lane   chart.Lane
	lo, hi float64 // of what is drawn, in base units
	absent int     // modes without values
}

func newCurves(title string) *curves {
	return &curves{workloadChart: workloadChart{Plane: chart.Plane{Title: title, Tall: 190}}, lane: chart.Lane{Tone: chart.Plain}, lo: math.Inf(1)}
}

// spans widens the plot to hold two durations.
func (p *curves) spans(lo, hi float64) { p.lo, p.hi = min(p.lo, lo), max(p.hi, hi) }

// draw adds a mode's line, with a description.
func (p *curves) draw(of row, line chart.Line, words string) {
	line.Key, line.Group = len(p.Keys), of.No
	p.Keys = append(p.Keys, of.Mode.ID)
	p.Desc += wording.Cut(of.Mode.ID, 60) + ":" + words + ". "
	p.lane.Lines = append(p.lane.Lines, line)
}

// drawRings adds the percentiles of a mode, joined by a line, if any are known.
func (p *curves) drawRings(c percentileCurve, mode int, last float64) {
	rings, words := c.rings(mode, last)
	if len(rings) == 0 {
		p.absent++
		return
	}
	var line chart.Line
	for _, ring := range rings {
		line.Points = append(line.Points, chart.XY{X: ring.X, Y: ring.Y})
	}
	for _, v := range c.values(mode) {
		p.spans(v, v)
	}
	p.lane.Spots = append(p.lane.Spots, rings...)
	p.draw(c.Modes[mode], line, words)
}

// drawn is the plot with its caption. Missing follows the note on the scale.
func (p *curves) drawn(x chart.Dim, caption, missing string) workloadChart {
	x.Label = "share of all that took no longer"
	p.Plane.X, p.Plane.Lanes = x, []chart.Lane{p.lane}
	if p.Plane.Y.Log = p.hi > 8*p.lo; p.Plane.Y.Log {
		caption += " Log scale."
	} else {
		p.Plane.Y.Lo = ptrTo(0.0)
	}
	caption += missing
	if p.absent > 0 {
		caption += " " + wording.Count(p.absent, "mode has", "modes have") + " none."
	}
	if len(p.Keys) > chart.MostKeys {
		caption += " Lines without a letter are those of further modes."
	}
	p.Caption, p.Desc = caption, wording.Cut(p.Desc, 1500)
	return p.workloadChart
}
