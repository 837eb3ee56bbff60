package cpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// breakdown is the CPU time of the modes in one workload by component.
type breakdown struct {
	Workload string
	Unit     string // of all values: "ms/Gbit", or "% of the mode's samples"
	Modes    []breakdownMode
	Rows     []breakdownRow // the biggest difference first, unclassified samples last
	Missing  []string       // of modes that have none, why
	Beside   string         // other samples, which are in no value; empty where they are negligible

	places int // decimals of all values
}

// breakdownMode is a column.
type breakdownMode struct {
	Mode, Base string // Base is empty for a baseline
	Total      float64
	Unknown    float64 // unclassified share, 0..1
	Samples    int
	File       string
}

// breakdownRow is a component in all modes.
type breakdownRow struct {
	Name    string
	Cells   []breakdownCell // as Modes
	Unknown bool            // unclassified
}

// breakdownCell is a component in one mode. Diff is to its baseline, nil where there
// is none.
type breakdownCell struct {
	Value float64
	CI    *result.Interval
	Diff  *float64
}

// Breakdowns returns a table of the samples of each workload.
func Breakdowns(v model.View) []breakdown {
	all := piece.Ordered(v.Modes, v.Run.Breakdowns, func(b result.Breakdown) string { return b.Mode })
	var out []breakdown
	for _, id := range piece.WorkloadsIn(v.Run.Breakdowns, func(b result.Breakdown) string { return b.Workload }) {
		of := slices.DeleteFunc(slices.Clone(all), func(b result.Breakdown) bool { return b.Workload != id })
		if b := newBreakdown(id, of, v.Run.Modes); len(b.Modes)+len(b.Missing) > 0 {
			out = append(out, b)
		}
	}
	return out
}

func newBreakdown(id string, of []result.Breakdown, modes []result.Mode) breakdown {
	b := breakdown{Workload: id}
	var there []result.Breakdown
	var beside []float64
	var missing piece.Gaps
	for _, d := range of {
		if d.Missing == "" && d.Samples > 0 {
			there = append(there, d)
			beside = append(beside, besideOf(d))
			continue
		}
		reason := d.Missing
		if reason == "" {
			reason = "nothing was sampled"
		}
		missing.Add(d.Mode, "no breakdown: "+reason)
	}
	b.Missing = missing.List()
	b.Beside = besideText(beside)
	there = piece.Each(there, ownOf)
	value := b.measure(there)
	for _, d := range there {
		m := breakdownMode{Mode: d.Mode, Unknown: d.Unknown, Samples: d.Samples, File: d.File}
		i := slices.IndexFunc(modes, func(m result.Mode) bool { return m.ID == d.Mode })
		if i >= 0 && slices.ContainsFunc(there, func(o result.Breakdown) bool { return o.Mode == modes[i].Baseline }) {
			m.Base = modes[i].Baseline
		}
		for _, c := range d.Components {
			v, _ := value(c)
			m.Total += v
		}
		b.Modes = append(b.Modes, m)
	}
	b.fill(there, value)
	b.sort()
	return b
}

// besideOf is the share of samples outside the mode.
func besideOf(d result.Breakdown) float64 {
	share := 0.0
	for _, c := range d.Components {
		if result.Beside(c.Name) {
			share += piece.Kept(c.Share)
		}
	}
	return piece.Kept(share)
}

// ownOf is a breakdown without the samples outside the mode.
func ownOf(d result.Breakdown) result.Breakdown {
	rest := 1 - besideOf(d)
	var own []result.Component
	for _, c := range d.Components {
		if result.Beside(c.Name) {
			continue
		}
		if rest > 0 {
			c.Share = piece.Kept(c.Share) / rest
		}
		own = append(own, c)
	}
	d.Components = own
	return d
}

// besideText describes the share of samples outside the modes; empty where it is negligible.
func besideText(shares []float64) string {
	if len(shares) == 0 || slices.Max(shares) < 0.01 {
		return ""
	}
	return "Other programs, and tare itself, took " + piece.Reach(slices.Min(shares), slices.Max(shares)) + " of the busy samples, which are in no value."
}

// measure chooses the unit of all values: CPU time per unit of work where it is known for
// every mode, else shares of the samples.
func (b *breakdown) measure(of []result.Breakdown) func(result.Component) (float64, *result.Interval) {
	most, unit, priced := 0.0, "", len(of) > 0
	for i, d := range of {
		sum := 0.0
		for _, c := range d.Components {
			if !piece.Finite(c.Cost) {
				priced = false
				continue
			}
			sum += *c.Cost
		}
		if i > 0 && d.Unit != unit {
			priced = false
		}
		most, unit = max(most, sum), d.Unit
	}
	if !priced || most <= 0 {
		b.Unit, b.places = "% of the mode's samples", 1
		return func(c result.Component) (float64, *result.Interval) { return 100 * piece.Kept(c.Share), nil }
	}
	scale := wording.ScaleFor(unit, most)
	b.Unit = scale.Unit
	// One number of decimals for all, so that values line up.
	b.places = min(max(0, 2-int(math.Floor(math.Log10(scale.In(most))))), 9)
	return func(c result.Component) (float64, *result.Interval) {
		if l := piece.Limits(c.CI); l != nil {
			return scale.In(*c.Cost), &result.Interval{scale.In(l[0]), scale.In(l[1])}
		}
		return scale.In(*c.Cost), nil
	}
}

// fill adds a row for each component of any mode.
func (b *breakdown) fill(of []result.Breakdown, value func(result.Component) (float64, *result.Interval)) {
	for _, d := range of {
		for _, c := range d.Components {
			if !slices.ContainsFunc(b.Rows, func(r breakdownRow) bool { return r.Name == c.Name }) {
				b.Rows = append(b.Rows, breakdownRow{Name: c.Name, Unknown: c.Name == result.Unclassified, Cells: make([]breakdownCell, len(of))})
			}
		}
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		for j, d := range of {
			if k := slices.IndexFunc(d.Components, func(c result.Component) bool { return c.Name == r.Name }); k >= 0 {
				r.Cells[j].Value, r.Cells[j].CI = value(d.Components[k])
			}
		}
		for j, m := range b.Modes {
			if k := slices.IndexFunc(b.Modes, func(o breakdownMode) bool { return o.Mode == m.Base }); k >= 0 && m.Base != "" {
				r.Cells[j].Diff = new(r.Cells[j].Value - r.Cells[k].Value)
			}
		}
	}
}

// sort orders the rows by the largest difference, or else by the largest value, with
// unclassified samples last.
func (b *breakdown) sort() {
	slices.SortStableFunc(b.Rows, func(x, y breakdownRow) int {
		switch {
		case x.Unknown != y.Unknown && x.Unknown:
			return 1
		case x.Unknown != y.Unknown:
			return -1
		}
		if a, z := b.weight(x), b.weight(y); a != z {
			return cmp.Compare(z, a)
		}
		return cmp.Compare(y.most(), x.most())
	})
}

// weight is the largest share of a component in the difference between a mode and its
// baseline. It is relative to each mode's difference, so that a cheap mode counts beside an
// expensive one.
func (b breakdown) weight(r breakdownRow) float64 {
	most := 0.0
	for j, c := range r.Cells {
		if c.Diff == nil {
			continue
		}
		all := b.Modes[j].Total / 10
		sum := 0.0
		for _, o := range b.Rows {
			sum += math.Abs(*o.Cells[j].Diff)
		}
		if all = max(all, sum); all > 0 {
			most = max(most, math.Abs(*c.Diff)/all)
		}
	}
	return most
}

// matters reports whether a component is at least 2 % of some mode's cost or, where modes are
// compared, differs by as much.
func (b breakdown) matters(r breakdownRow) bool {
	for j, c := range r.Cells {
		size := c.Value
		if b.compared() {
			size = 0
			if c.Diff != nil {
				size = math.Abs(*c.Diff)
			}
		}
		if size > 0 && size >= b.Modes[j].Total/50 {
			return true
		}
	}
	return false
}

// most is the largest value of a component.
func (r breakdownRow) most() float64 {
	most := 0.0
	for _, c := range r.Cells {
		most = max(most, c.Value)
	}
	return most
}

// compared reports whether a mode has a baseline to compare with.
func (b breakdown) compared() bool {
	return slices.ContainsFunc(b.Modes, func(m breakdownMode) bool { return m.Base != "" })
}

// short keeps at most twelve rows that differ by at least 2 % of their mode's cost. It sums
// the others in one row and keeps the unclassified row and the total.
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
		out = append(out, b.sum(wording.Count(len(rest), "other", "others"), rest))
	}
	if unknown != nil {
		out = append(out, *unknown)
	}
	return append(out, b.all())
}

// all is the row of the totals.
func (b breakdown) all() breakdownRow { return b.sum("all", b.Rows) }

// sum adds rows. The interval of the sum is unknown.
func (b breakdown) sum(name string, rows []breakdownRow) breakdownRow {
	out := breakdownRow{Name: name, Cells: make([]breakdownCell, len(b.Modes))}
	for j := range b.Modes {
		c := &out.Cells[j]
		for _, r := range rows {
			c.Value += r.Cells[j].Value
			if d := r.Cells[j].Diff; d != nil {
				if c.Diff == nil {
					c.Diff = new(0.0)
				}
				*c.Diff += *d
			}
		}
	}
	return out
}

// number formats a value of the table.
func (b breakdown) number(v float64) string {
	if math.Abs(v) >= 1e12 { // more than any CPU time
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', b.places, 64)
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

// unknown returns the unclassified share and the number of samples.
func (b breakdown) unknown() string {
	lo, hi, samples := 1.0, 0.0, 0
	for _, m := range b.Modes {
		lo, hi = min(lo, piece.Kept(m.Unknown)), max(hi, piece.Kept(m.Unknown))
		samples += m.Samples
	}
	if len(b.Modes) == 0 {
		return ""
	}
	text := fmt.Sprintf("By sampled stacks, %s of busy CPUs in all; %s of the modes' own samples are unclassified.", wording.Count(samples, "sample", "samples"), piece.Reach(lo, hi))
	if b.Beside != "" {
		text += " " + b.Beside
	}
	return text
}

// Finer is the breakdown with one more decimal, for pages.
func (b breakdown) Finer() breakdown {
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
