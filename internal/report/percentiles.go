package report

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// quantile is a percentile that trials record, by how the names of its metrics end.
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
	Scale  say.Scale
	Known  []quantile
	Tables []table // of each of Known
	Modes  []row
	// Pooled are the whole distributions, by mode, nil of one of which only percentiles
	// are known; it is nil where no mode has one.
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
		// The scale of the smallest: a tail of some milliseconds must not turn medians
		// into thousandths.
		c.Scale = say.ScaleFor(c.Tables[0].Metric.Unit, slices.Min(append(all, math.MaxFloat64)))
		out = append(out, c)
	}
	return out
}

// stemOf is the duration that a metric is a percentile of; empty where it is none.
func stemOf(metric string) string {
	for _, k := range quantiles() {
		if s, ok := strings.CutSuffix(metric, k.suffix); ok {
			return s
		}
	}
	return ""
}

// values are those of a mode, in base units, by percentile; what is not known is left
// out.
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
	values, name := c.values(mode), say.Cut(c.Modes[mode].Mode.ID, 60)
	for _, q := range c.Known {
		if v, ok := values[q.q]; ok {
			words += " " + q.label + " " + c.Scale.Value(v)
			rings = append(rings, chart.Spot{X: chart.QuantileAt(q.q, last), Y: c.Scale.In(v), Look: chart.Open, Tip: name + ", " + q.label + ": " + c.Scale.Value(v)})
		}
	}
	return rings, words
}

// chart draws the curves of all modes in one plot.
func (c percentileCurve) chart() shown {
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
	return p.drawn(x, "A curve of percentiles: each ring is the mean over the trials, and between rings nothing is recorded, only a line drawn.", "")
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
			text := say.Unknown
			if r, ok := c.Tables[i].of(m.Mode.ID); ok && !unmeasured(r.Mode) {
				text = r.value(c.Scale)
			}
			row.Cells = append(row.Cells, text)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}
