package term

import (
	"fmt"
	"slices"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/wording"
)

// form is how much of a cell is shown: value and ratio if they fit, else only the ratio. A ratio has no interval: one that is looked
// at after every block misses the truth at some look far more often than one that is looked at once, at the end.
type form struct {
	width int
	value bool
}

func forms() []form { return []form{{16, true}, {11, false}} }

// matrix shows the modes by the metrics of their workloads, in at most the given number
// of lines.
func (s *state) matrix(f frame, most int) []line {
	modes, names := s.modes(), s.nameWidth(f)
	how, columns := s.choose(f.width - names)
	out := s.header(how, columns, names)
	foot := s.foot(len(columns))
	room := max(1, most-len(out))
	if foot != nil && room > 2 {
		room--
	} else {
		foot = nil
	}
	for i, m := range modes {
		if i == room-1 && len(modes) > room {
			out = append(out, words(quiet, "... and "+wording.Count(len(modes)-i, "more mode", "more modes")))
			break
		}
		out = append(out, s.row(m, how, columns, names))
	}
	if foot != nil {
		out = append(out, foot)
	}
	return out
}

// choose returns the fullest form in which all columns fit, or else the columns that fit,
// including that of the running workload.
func (s *state) choose(room int) (form, []live.Column) {
	for _, how := range forms() {
		if len(s.columns)*(how.width+gap) <= room {
			return how, s.columns
		}
	}
	how := forms()[1]
	n := min(max(1, room/(how.width+gap)), len(s.columns))
	at := slices.IndexFunc(s.columns, func(c live.Column) bool { return c.Workload == s.trial.Workload })
	from := min(max(0, at-n/2), len(s.columns)-n)
	return how, s.columns[from : from+n]
}

// header shows the names of the columns and their units.
func (s *state) header(how form, columns []live.Column, names int) []line {
	top, below := line{}, line{}
	if s.blocks > 0 {
		below = words(quiet, wording.Cut(fmt.Sprintf("to block %d", s.blocks), names))
	}
	for i, c := range columns {
		at := names + gap + i*(how.width+gap)
		top = top.to(at, span{strong, wording.CutMiddle(c.Workload, how.width)})
		said := s.scale(c).Unit
		if s.twice(c) {
			said = c.Metric + " " + said
		}
		if !how.value && s.ratios(c) {
			said = "of baseline"
		}
		below = below.to(at, span{quiet, wording.Cut(said, how.width)})
	}
	return []line{top, below}
}

// foot explains what could be misread in the matrix, and says what is not shown.
func (s *state) foot(shown int) line {
	if hidden := len(s.columns) - shown; hidden > 0 {
		return words(quiet, "and "+wording.Count(hidden, "more column", "more columns")+", in a wider window")
	}
	if s.blocks > 0 {
		return words(quiet, "ratios are provisional: intervals and verdicts follow at the end")
	}
	return nil
}

// twice reports whether a workload has several columns.
func (s *state) twice(c live.Column) bool {
	return slices.ContainsFunc(s.columns, func(o live.Column) bool { return o.Workload == c.Workload && o != c })
}

// ratios reports whether any mode has a ratio in a column.
func (s *state) ratios(c live.Column) bool {
	return slices.ContainsFunc(s.modes(), func(m string) bool { return s.cells[cellKey{m, c.Workload, c.Metric}].ratio != nil })
}

// scale is the common scale of a column.
func (s *state) scale(c live.Column) wording.Scale {
	m, _ := result.MetricNamed(c.Metric)
	var values []float64
	for _, mode := range s.modes() {
		if v, ok := s.cells[cellKey{mode, c.Workload, c.Metric}].known(); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return wording.Scale{}
	}
	return wording.ScaleFor(m.Unit, values...)
}

// row is a mode with its values, or its status.
func (s *state) row(mode string, how form, columns []live.Column, names int) line {
	l := line{{text: wording.CutMiddle(mode, names)}}
	settled, ok := s.settled[mode]
	switch {
	case !ok:
		return l.to(names+gap, span{quiet, "in set-up"})
	case settled.Status != result.ModeMeasured:
		return l.to(names+gap, settledAs(settled.Status, settled.Reason)...)
	}
	for i, c := range columns {
		l = l.to(names+gap+i*(how.width+gap), s.cell(cellKey{mode, c.Workload, c.Metric}, how, s.scale(c))...)
	}
	return l
}

// cell is the text of one cell of the matrix.
func (s *state) cell(at cellKey, how form, scale wording.Scale) []span {
	c := s.cells[at]
	v, ok := c.known()
	if !ok {
		return []span{{quiet, "-"}}
	}
	value := scale.Number(v)
	if c.least {
		value = ">= " + value
	}
	if c.ratio == nil {
		if !how.value && s.ratios(live.Column{Workload: at.workload, Metric: at.metric}) {
			value += " " + scale.Unit
		}
		return []span{{text: wording.Cut(value, how.width)}}
	}
	ratio := wording.Ratio(c.ratio, nil)
	if how.value {
		const values = 6
		return []span{{text: wording.Pad(value, values+1)}, {strong, wording.Cut(ratio, how.width-max(values, wording.Width(value))-1)}}
	}
	return []span{{strong, wording.Cut(ratio, how.width)}}
}
