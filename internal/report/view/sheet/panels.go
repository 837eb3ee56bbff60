package sheet

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
)

// Panels are the panel of ratios, where there are any, and the panel of absolute values. Empty
// where there is nothing to draw.
func Panels(t model.Table) []chart.Panel {
	if t.Metric.Detail {
		return nil // the table says it
	}
	abs, drawn := absolute(t)
	if !drawn || !t.WorthAColumn() {
		return nil // or all values are 0, which the table shows as well
	}
	if ratio, ok := ratios(t); ok {
		return []chart.Panel{ratio, abs}
	}
	return []chart.Panel{abs}
}

// absolute shows every trial in its unit, from zero.
func absolute(t model.Table) (p chart.Panel, drawn bool) {
	p.Title = t.Heading()
	p.Axis = chart.Axis{Zero: true}
	p.Axis.Left, p.Axis.Right = sides(t.Metric.Better)
	for _, g := range t.Groups {
		for i, r := range g.Rows {
			c := chartRow(r, g, i)
			if c.Absent == "" {
				c.Dots = dots(r, t)
				c.Note = r.Verdict()
			}
			if r.Cell != nil && piece.Finite(r.Cell.Value) {
				c.Estimate, c.Interval = new(t.Scale.In(*r.Cell.Value)), limits(t, r.Cell.CI)
				c.Note = r.Value(t.Scale)
			}
			drawn = drawn || len(c.Dots) > 0 || c.Estimate != nil
			p.Rows = append(p.Rows, c)
		}
	}
	return p, drawn
}

// ratios shows every block's ratio to the baseline and their mean.
func ratios(t model.Table) (p chart.Panel, drawn bool) {
	one := 1.0
	p.Title = "Ratio to " + bases(t)
	p.Axis = chart.Axis{Ratio: true, Ref: &one, RefTip: "1 = " + bases(t)}
	p.Axis.Left, p.Axis.Right = sides(t.Metric.Better)
	if m := margin(t); m > 0 {
		p.Axis.Band = &[2]float64{1 / (1 + m), 1 + m}
	}
	for _, g := range t.Groups {
		for i, r := range g.Rows {
			c := chartRow(r, g, i)
			if c.Absent == "" {
				c.Dots = blockRatios(r, t)
				c.Note = firstPart(r.Verdict())
				if r.Mode.Control && r.Cell != nil {
					c.Note = "A/A control: " + r.Ratio()
				}
			}
			if r.Cell != nil && piece.Finite(r.Cell.Ratio) {
				c.Estimate, c.Interval = r.Cell.Ratio, piece.Limits(r.Cell.RatioCI)
			}
			drawn = drawn || len(c.Dots) > 0 || c.Estimate != nil
			p.Rows = append(p.Rows, c)
		}
	}
	return p, drawn
}

// chartRow is the part of the i-th row of a group that both panels share.
func chartRow(r model.Row, g model.Group, i int) chart.Row {
	c := chart.Row{Label: r.Mode.ID, Tone: r.Tone(), Group: r.No}
	if i == 0 {
		c.Heading = g.Heading
	}
	if model.Unmeasured(r.Mode) {
		c.Note = model.State(r.Mode)
		c.Absent = r.Mode.Reason
		if c.Absent == "" {
			c.Absent = model.State(r.Mode)
		}
	}
	return c
}

// bases names the baseline of a table, or several in one word.
func bases(t model.Table) string {
	if len(t.Groups) == 1 && len(t.Groups[0].Rows) > 0 && t.Groups[0].Rows[0].Baseline {
		return t.Groups[0].Rows[0].Mode.ID
	}
	return "baseline"
}

// sides labels the left and right side of an axis.
func sides(better result.Direction) (left, right string) {
	switch better {
	case result.Higher:
		return "worse", "better"
	case result.Lower:
		return "better", "worse"
	}
	return "", ""
}

// limits are the limits of a value's interval in the table's unit.
func limits(t model.Table, ci *result.Interval) *[2]float64 {
	l := piece.Limits(ci)
	if l == nil {
		return nil
	}
	return &[2]float64{t.Scale.In(l[0]), t.Scale.In(l[1])}
}

// firstPart is the short form of a verdict, for a figure.
func firstPart(verdict string) string {
	head, _, _ := strings.Cut(verdict, "; ")
	return head
}
