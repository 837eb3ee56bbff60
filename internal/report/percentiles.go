package report

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
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
}

// percentileCurves are the durations of which a workload has two percentiles or more,
// in the order of its tables.
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
		if len(c.Known) < 2 {
			continue
		}
		c.Modes = c.Tables[0].rows()
		c.Title, _, _ = strings.Cut(c.Tables[0].Metric.Title, ",")
		var all []float64
		for i := range c.Modes {
			for _, v := range c.values(i) {
				all = append(all, v)
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

// chart draws the curves of all modes in one plot.
func (c percentileCurve) chart() shown {
	s := shown{Plane: chart.Plane{Title: c.Title + ", percentiles, " + c.Scale.Unit, Tall: 190}}
	l := chart.Lane{Tone: chart.Plain}
	lo, hi := math.Inf(1), 0.0
	last := chart.QuantileAt(c.Known[len(c.Known)-1].q, 3.6)
	var absent, grey int
	for i, r := range c.Modes {
		values := c.values(i)
		if len(values) == 0 {
			absent++
			continue
		}
		line := chart.Line{Key: len(s.Keys), Group: r.No}
		text := say.Cut(r.Mode.ID, 60) + ":"
		for _, q := range c.Known {
			v, ok := values[q.q]
			if !ok {
				continue
			}
			lo, hi = min(lo, v), max(hi, v)
			at := chart.XY{X: chart.QuantileAt(q.q, last), Y: c.Scale.In(v)}
			line.Points = append(line.Points, at)
			text += " " + q.label + " " + c.Scale.Value(v)
			l.Spots = append(l.Spots, chart.Spot{X: at.X, Y: at.Y, Look: chart.Open, Tip: say.Cut(r.Mode.ID, 60) + ", " + q.label + ": " + c.Scale.Value(v)})
		}
		if line.Key >= chart.MostKeys {
			grey++
		}
		s.Keys = append(s.Keys, r.Mode.ID)
		s.Desc += text + ". "
		l.Lines = append(l.Lines, line)
	}
	s.Plane.Lanes = []chart.Lane{l}
	for _, q := range c.Known {
		s.Plane.X.Ticks = append(s.Plane.X.Ticks, chart.Tick{At: chart.QuantileAt(q.q, last), Label: q.label})
	}
	s.Plane.X.Label = "share of all that took no longer"
	s.Plane.Y.Log = hi > 8*lo
	if !s.Plane.Y.Log {
		s.Plane.Y.Lo = ptrTo(0.0)
	}
	s.Caption = "A curve of percentiles: each ring is the mean over the trials, and between rings nothing is recorded, only a line drawn."
	if s.Plane.Y.Log {
		s.Caption += " Log scale."
	}
	if absent > 0 {
		s.Caption += " " + say.Count(absent, "mode has", "modes have") + " none."
	}
	if grey > 0 {
		s.Caption += " Lines without a letter are those of further modes."
	}
	s.Desc = say.Cut(s.Desc, 1500)
	return s
}

// tableOf is the table behind the curves.
func (c percentileCurve) tableOf() behind {
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
