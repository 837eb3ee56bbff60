package view

import (
	"math"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
)

// panels are the panel of ratios, where there are any, and the panel of absolute values. Empty
// where there is nothing to draw.
func (t table) panels() []chart.Panel {
	if t.Metric.Detail {
		return nil // the table says it
	}
	abs, drawn := t.absolute()
	if !drawn || !t.worthAColumn() {
		return nil // or all values are 0, which the table shows as well
	}
	if ratio, ok := t.ratios(); ok {
		return []chart.Panel{ratio, abs}
	}
	return []chart.Panel{abs}
}

// absolute shows every trial in its unit, from zero.
func (t table) absolute() (p chart.Panel, drawn bool) {
	p.Title = t.heading()
	p.Axis = chart.Axis{Zero: true}
	p.Axis.Left, p.Axis.Right = sides(t.Metric.Better)
	for _, g := range t.Groups {
		for i, r := range g.Rows {
			c := r.chartRow(g, i)
			if c.Absent == "" {
				c.Dots = r.dots(t)
				c.Note = r.verdict()
			}
			if r.Cell != nil && finite(r.Cell.Value) {
				c.Estimate, c.Interval = ptrTo(t.Scale.In(*r.Cell.Value)), t.limits(r.Cell.CI)
				c.Note = r.value(t.Scale)
			}
			drawn = drawn || len(c.Dots) > 0 || c.Estimate != nil
			p.Rows = append(p.Rows, c)
		}
	}
	return p, drawn
}

// ratios shows every block's ratio to the baseline and their mean.
func (t table) ratios() (p chart.Panel, drawn bool) {
	one := 1.0
	p.Title = "Ratio to " + t.bases()
	p.Axis = chart.Axis{Ratio: true, Ref: &one, RefTip: "1 = " + t.bases()}
	p.Axis.Left, p.Axis.Right = sides(t.Metric.Better)
	if m := t.margin(); m > 0 {
		p.Axis.Band = &[2]float64{1 / (1 + m), 1 + m}
	}
	for _, g := range t.Groups {
		for i, r := range g.Rows {
			c := r.chartRow(g, i)
			if c.Absent == "" {
				c.Dots = r.blockRatios(t)
				c.Note = firstPart(r.verdict())
				if r.Mode.Control && r.Cell != nil {
					c.Note = "A/A control: " + r.ratio()
				}
			}
			if r.Cell != nil && finite(r.Cell.Ratio) {
				c.Estimate, c.Interval = r.Cell.Ratio, limits(r.Cell.RatioCI)
			}
			drawn = drawn || len(c.Dots) > 0 || c.Estimate != nil
			p.Rows = append(p.Rows, c)
		}
	}
	return p, drawn
}

// chartRow is the part of the i-th row of a group that both panels share.
func (r row) chartRow(g group, i int) chart.Row {
	c := chart.Row{Label: r.Mode.ID, Tone: r.tone(), Group: r.No}
	if i == 0 {
		c.Heading = g.Heading
	}
	if unmeasured(r.Mode) {
		c.Note = state(r.Mode)
		c.Absent = r.Mode.Reason
		if c.Absent == "" {
			c.Absent = state(r.Mode)
		}
	}
	return c
}

// bases names the baseline of a table, or several in one word.
func (t table) bases() string {
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

func finite(v *float64) bool {
	return v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0)
}

// limits are the limits of a value's interval in the table's unit.
func (t table) limits(ci *result.Interval) *[2]float64 {
	l := limits(ci)
	if l == nil {
		return nil
	}
	return &[2]float64{t.Scale.In(l[0]), t.Scale.In(l[1])}
}

func ptrTo[T any](v T) *T { return &v }

func limits(ci *result.Interval) *[2]float64 {
	if ci == nil || !finite(&ci[0]) || !finite(&ci[1]) {
		return nil
	}
	return (*[2]float64)(ci)
}

// firstPart is the short form of a verdict, for a figure.
func firstPart(verdict string) string {
	head, _, _ := strings.Cut(verdict, "; ")
	return head
}
