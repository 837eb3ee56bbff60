package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"tare/internal/report/say"
)

// compared says that there is a mode beside its baseline.
func (b breakdown) compared() bool {
	return slices.ContainsFunc(b.Modes, func(m breakdownMode) bool { return m.Base != "" })
}

// short keeps the rows that matter: those that differ by at least a fiftieth of
// what their mode spends, twelve at most. The others are one row, what no rule knows stays, and
// the last row is all of it.
func (b breakdown) short() []breakdownRow {
	const most = 12
	var out, rest []breakdownRow
	var unknown *breakdownRow
	for i, r := range b.Rows {
		switch {
		case r.Unknown:
			unknown = &b.Rows[i]
		case len(out) < most && b.matters(r):
			out = append(out, r)
		default:
			rest = append(rest, r)
		}
	}
	switch len(rest) {
	case 0:
	case 1:
		out = append(out, rest[0])
	default:
		out = append(out, b.sum(say.Count(len(rest), "other", "others"), rest))
	}
	if unknown != nil {
		out = append(out, *unknown)
	}
	return append(out, b.all())
}

// all is the row of the totals.
func (b breakdown) all() breakdownRow { return b.sum("all", b.Rows) }

// sum adds rows up. The sum of intervals is not known.
func (b breakdown) sum(name string, rows []breakdownRow) breakdownRow {
	out := breakdownRow{Name: name, Cells: make([]breakdownCell, len(b.Modes))}
	for j := range b.Modes {
		c := &out.Cells[j]
		for _, r := range rows {
			c.Value += r.Cells[j].Value
			if d := r.Cells[j].Diff; d != nil {
				if c.Diff == nil {
					c.Diff = ptrTo(0.0)
				}
				*c.Diff += *d
			}
		}
	}
	return out
}

// number shows a figure of the table.
func (b breakdown) number(v float64) string {
	if math.Abs(v) >= 1e12 { // nobody's CPU time
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', b.places, 64)
}

// value shows a cell with its interval, diff its difference to the baseline with a
// sign; empty where there is none.
func (b breakdown) value(c breakdownCell) string {
	if c.CI == nil {
		return b.number(c.Value)
	}
	return b.number(c.Value) + " (" + b.number(c.CI[0]) + "-" + b.number(c.CI[1]) + ")"
}

func (b breakdown) diff(c breakdownCell) string {
	if c.Diff == nil {
		return ""
	}
	text := b.number(*c.Diff)
	switch zero := b.number(0); {
	case text == zero || text == "-"+zero:
		return zero
	case *c.Diff > 0:
		return "+" + text
	}
	return text
}

// title heads the table.
func (b breakdown) title() string {
	text := "Where the CPU time went"
	if len(b.Modes) > 0 {
		text += ", " + b.Unit
	}
	if b.compared() {
		text += ", and the difference to the baseline"
	}
	return text
}

// unknown says how much of the time no rule knows, and how much was sampled.
func (b breakdown) unknown() string {
	lo, hi, samples := 1.0, 0.0, 0
	for _, m := range b.Modes {
		lo, hi = min(lo, kept(m.Unknown)), max(hi, kept(m.Unknown))
		samples += m.Samples
	}
	if len(b.Modes) == 0 {
		return ""
	}
	text := fmt.Sprintf("By sampled stacks, %s of busy CPUs in all; of the modes' own no rule knows %s.", say.Count(samples, "sample", "samples"), reach(lo, hi))
	if b.Beside != "" {
		text += " " + b.Beside
	}
	return text
}

// finer is the breakdown with one more decimal, for where there is room.
func (b breakdown) finer() breakdown {
	b.places = min(b.places+1, 9)
	return b
}

// Folded lists the files of folded stacks, with their modes.
func (b breakdown) Folded() []string {
	var out []string
	for _, m := range b.Modes {
		if m.File != "" {
			out = append(out, m.Mode+": "+m.File)
		}
	}
	return out
}

// apart says that a component's interval in the j-th mode and that in its baseline do
// not overlap.
func (b breakdown) apart(r breakdownRow, j int) bool {
	k := slices.IndexFunc(b.Modes, func(m breakdownMode) bool { return m.Mode == b.Modes[j].Base })
	if k < 0 || r.Cells[j].CI == nil || r.Cells[k].CI == nil {
		return false
	}
	own, base := r.Cells[j].CI, r.Cells[k].CI
	return own[0] > base[1] || own[1] < base[0]
}
