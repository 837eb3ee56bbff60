package model

import (
	"tare/internal/result"
	"tare/internal/wording"
)

// Table is one metric of one workload over all modes.
type Table struct {
	Workload string
	Metric   result.Metric
	Scale    wording.Scale
	Groups   []Group
	Rankings []result.Ranking
	Ties     map[string]tie   // by mode
	flat     []Row            // of all groups
	at       map[string][]int // in flat, by mode
}

// Group is a baseline with the modes that are compared with it.
type Group struct {
	Heading string // empty where there is only one group
	Rows    []Row
}

// Row is one mode. Cell is nil where there is no value.
type Row struct {
	Mode     result.Mode
	No       int  // of the mode, from 1, in the order of reports
	Baseline bool // others are compared with it
	Cell     *result.Cell
	Trials   []*result.Trial // of this mode and workload, in order, without pilots
	Base     []*result.Trial // of the baseline it is compared with
	Noisy    bool            // the workload is too noisy to judge
	Bounded  bool            // the baseline's value is only a lower bound
	Zero     bool            // its own value or the baseline's is 0
	BaseZero bool            // the baseline's value is 0
	Metric   string          // of the table it is in
}

// index prepares a table with its groups for finding rows, because there may be very many
// modes.
func (t *Table) index() {
	t.flat = t.Rows()
	t.at = make(map[string][]int, len(t.flat))
	for i, r := range t.flat {
		t.at[r.Mode.ID] = append(t.at[r.Mode.ID], i)
	}
}

// Of is the row of a mode.
func (t Table) Of(mode string) (Row, bool) {
	for _, i := range t.at[mode] {
		return t.flat[i], true
	}
	return Row{}, false
}

// Rows are the rows of all groups.
func (t Table) Rows() []Row {
	if t.flat != nil {
		return t.flat
	}
	var out []Row
	for _, g := range t.Groups {
		out = append(out, g.Rows...)
	}
	return out
}

// scale suits the largest value of the table.
func (t Table) scale() wording.Scale {
	var values []float64
	for _, r := range t.Rows() {
		if r.Cell != nil && r.Cell.Value != nil {
			values = append(values, *r.Cell.Value)
			continue
		}
		for _, trial := range r.Trials {
			if v, ok := trial.Metrics[t.Metric.Name]; ok && trial.Status == result.TrialOK {
				values = append(values, v)
			}
		}
	}
	return wording.ScaleFor(t.Metric.Unit, values...)
}

// Zero reports whether a value is 0.
func Zero(c *result.Cell) bool { return c != nil && c.Value != nil && *c.Value == 0 }

// bound sets what the rows of a group need to know of their baseline.
func (g Group) bound() {
	for _, b := range g.Rows {
		for i := range g.Rows {
			if r := &g.Rows[i]; b.Baseline && !r.Baseline && b.Cell != nil {
				r.Bounded = b.Cell.AtLeast
				r.BaseZero = Zero(b.Cell)
				r.Zero = r.BaseZero || Zero(r.Cell)
			}
		}
	}
}
