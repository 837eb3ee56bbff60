package model

import (
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// ChangeForm is how the changes of one column of a first screen are written: all alike.
type ChangeForm struct {
	Form wording.Form
	Time *wording.Scale // of the times beside them; nil where there are none, or none is asked for
	Each string         // what a time is for, such as a transaction; empty where it is the time itself
	only bool           // show times in place of changes
}

// ChangeFormOf is the form of the changes of a column: their ratios, each with its time or nil.
func ChangeFormOf(units Units, ratios []*float64, added []*result.Added) ChangeForm {
	c := ChangeForm{Form: wording.FormOf(ratios...)}
	var times []float64
	for _, a := range added {
		if a != nil {
			seconds, each := wording.Each(*a)
			times, c.Each = append(times, seconds.Value), each
		}
	}
	if len(times) > 0 && units != UnitPercent {
		scale := wording.ScaleFor("s", times...)
		c.Time, c.only = &scale, units == UnitTime && len(times) == len(added)
	}
	return c
}

// Cell is a change with its interval and, beside it, its time.
func (c ChangeForm) Cell(ratio *float64, ci *result.Interval, added *result.Added) (out doc.OverviewCell) {
	if c.Time != nil && added != nil {
		a, _ := wording.Each(*added)
		if c.only {
			out.Change, out.Interval = c.Time.Added(a)
			return out
		}
		out.Time, _ = c.Time.Added(a)
	}
	out.Change, out.Interval = c.Form.Delta(ratio, ci)
	return out
}

// TimeLegend explains the times of a column of this metric; empty without any, or where the metric is the time itself.
func (c ChangeForm) TimeLegend(m result.Metric) string {
	if c.Time == nil || c.Each == "" || m.Unit != "1/s" {
		return ""
	}
	return "+" + c.Time.Unit + " for each " + c.Each
}
