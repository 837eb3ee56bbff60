package workloads

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
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
	Tables []model.Table // of each of Known
	Modes  []model.Row
	// Pooled are the whole distributions by mode, nil for a mode with percentiles only; it is
	// nil where no mode has one.
	Pooled []*result.ECDF
}

// percentileCurves are the durations of which a workload has whole distributions, or two
// percentiles or more, in the order of its tables.
func percentileCurves(w model.Workload) []percentileCurve {
	var stems []string
	for _, t := range w.Tables {
		if stem := stemOf(t.Metric.Name); stem != "" && !slices.Contains(stems, stem) && t.Judged() {
			stems = append(stems, stem)
		}
	}
	var out []percentileCurve
	for _, stem := range stems {
		c := percentileCurve{}
		for _, q := range quantiles() {
			i := slices.IndexFunc(w.Tables, func(t model.Table) bool { return t.Metric.Name == stem+q.suffix && t.Judged() })
			if i < 0 {
				continue
			}
			c.Known, c.Tables = append(c.Known, q), append(c.Tables, w.Tables[i])
		}
		c.Modes = c.Tables[0].Rows()
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

// values are those of a mode, in base units, by percentile. Unknown values are left out, and those of the tail pass,
// whose trials have another load.
func (c percentileCurve) values(mode int) map[float64]float64 {
	out := map[float64]float64{}
	for i, q := range c.Known {
		r, ok := c.Tables[i].Of(c.Modes[mode].Mode.ID)
		if ok && !model.Unmeasured(r.Mode) && r.Cell != nil && r.Cell.Tail == nil && piece.Finite(r.Cell.Value) && *r.Cell.Value > 0 {
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
func (c percentileCurve) chart() sheet.WorkloadChart {
	if c.Pooled != nil {
		return c.ecdf()
	}
	p := sheet.NewCurves(c.Title + ", percentiles, " + c.Scale.Unit)
	last := chart.QuantileAt(c.Known[len(c.Known)-1].q, 3.6)
	for i := range c.Modes {
		drawRings(p, c, i, last)
	}
	var x chart.Dim
	for _, q := range c.Known {
		x.Ticks = append(x.Ticks, chart.Tick{At: chart.QuantileAt(q.q, last), Label: q.label})
	}
	return p.Drawn(x, "A curve of percentiles: each ring is the mean over the trials. The lines between rings are not measured.", "")
}

// tableOf is the table behind the curves.
func (c percentileCurve) tableOf() sheet.Behind {
	if c.Pooled != nil {
		return c.ecdfTable()
	}
	b := sheet.Behind{Caption: c.Title + ", " + c.Scale.Unit + " (95 % interval)", First: "Mode"}
	for _, q := range c.Known {
		b.Heads = append(b.Heads, q.label)
	}
	for _, m := range c.Modes {
		row := sheet.BehindRow{Name: m.Mode.ID, Group: m.No}
		for i := range c.Known {
			text := wording.Unknown
			if r, ok := c.Tables[i].Of(m.Mode.ID); ok && !model.Unmeasured(r.Mode) {
				text = r.Value(c.Scale)
			}
			row.Cells = append(row.Cells, text)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

// drawRings adds the percentiles of a mode, joined by a line, if any are known.
func drawRings(p *sheet.Curves, c percentileCurve, mode int, last float64) {
	rings, words := c.rings(mode, last)
	if len(rings) == 0 {
		p.Absent++
		return
	}
	var line chart.Line
	for _, ring := range rings {
		line.Points = append(line.Points, chart.XY{X: ring.X, Y: ring.Y})
	}
	for _, v := range c.values(mode) {
		p.Spans(v, v)
	}
	p.Lane.Spots = append(p.Lane.Spots, rings...)
	p.Draw(c.Modes[mode], line, words)
}
