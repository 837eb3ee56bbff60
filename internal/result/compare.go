package result

import (
	"fmt"
	"slices"

	"tare/internal/stats"
)

// Asked is a comparison that a study asks for: A against B, each the id of a
// scenario or of a mode. A mode is taken with every workload.
type Asked struct{ ID, Title, A, B string }

// Comparison is what A does beside B, in one metric, over all blocks. Ratio is the
// geometric mean, over the N blocks that have both, of A's value to B's; all that
// it shares with [Cell] means the same here. P is Holm-adjusted over the comparisons
// of one metric.
//
// Where there is nothing to compare, Reason says why, Metric is empty and there are
// no figures.
type Comparison struct {
	ID           string    `json:"id"`
	Title        string    `json:"title,omitempty"`
	A            Side      `json:"a"`
	B            Side      `json:"b"`
	Reason       string    `json:"reason,omitempty"`
	Metric       string    `json:"metric,omitempty"`
	Unit         string    `json:"unit,omitempty"`
	Better       Direction `json:"better,omitempty"`
	N            int       `json:"n"`
	Missing      int       `json:"missing,omitempty"` // blocks that have only one of the two
	Ratio        *float64  `json:"ratio,omitempty"`
	RatioCI      *Interval `json:"ratio_ci,omitempty"`
	P            *float64  `json:"p,omitempty"`
	Verdict      Verdict   `json:"verdict,omitempty"`
	Margin       float64   `json:"margin,omitempty"`
	Detectable   *float64  `json:"detectable,omitempty"`
	BlocksNeeded *int      `json:"blocks_needed,omitempty"`
	Indicative   bool      `json:"indicative,omitempty"`
}

// Side is one of the two of a comparison: its id in the study, the mode and the
// workload that it stands for, and its own figure. Workload is empty where a mode
// as a whole could not be compared.
type Side struct {
	ID       string    `json:"id"`
	Mode     string    `json:"mode,omitempty"`
	Workload string    `json:"workload,omitempty"`
	Value    *float64  `json:"value,omitempty"`
	AtLeast  bool      `json:"at_least,omitempty"`
	CI       *Interval `json:"ci,omitempty"`
}

// Cell is the comparison as the cell of A, with B in the baseline's place.
func (c Comparison) Cell() Cell {
	return Cell{
		Mode: c.A.ID, Workload: c.A.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: c.N,
		Value: c.A.Value, CI: c.A.CI, AtLeast: c.A.AtLeast, Baseline: c.B.ID, Ratio: c.Ratio, RatioCI: c.RatioCI, P: c.P,
		Verdict: c.Verdict, Margin: c.Margin, Detectable: c.Detectable, BlocksNeeded: c.BlocksNeeded, Indicative: c.Indicative,
	}
}

// Compare judges what a study asked to be compared, as [Cells] judges modes beside
// their baselines: for each asked, in the order given, in every metric that both
// sides have; two modes in each of the workloads, a mode beside a scenario in that
// scenario's. What cannot be compared is in the result all the same, with the reason.
func Compare(modes []Mode, workloads []string, scenarios []Scenario, asked []Asked, trials []Trial, rule Rule) []Comparison {
	measured := slices.DeleteFunc(slices.Clone(modes), func(m Mode) bool { return m.Status != ModeMeasured })
	names := slices.Clone(workloads)
	for _, s := range scenarios {
		if !slices.Contains(names, s.Workload) {
			names = append(names, s.Workload)
		}
	}
	c := comparer{modes: modes, scenarios: scenarios, rule: rule}
	c.table, _ = tabulate(measured, names, trials)
	for _, a := range asked {
		c.ask(a, workloads)
	}
	for _, m := range Metrics() {
		c.judge(m)
	}
	return c.out
}

// comparer collects comparisons.
type comparer struct {
	modes     []Mode
	scenarios []Scenario
	rule      Rule
	table     table
	out       []Comparison
}

// ask adds one that was asked for, once for each workload.
func (c *comparer) ask(asked Asked, workloads []string) {
	a, b := c.side(asked.A), c.side(asked.B)
	if a.Workload == "" {
		a.Workload = b.Workload
	}
	if b.Workload == "" {
		b.Workload = a.Workload
	}
	found := Comparison{ID: asked.ID, Title: asked.Title, A: a, B: b}
	for _, s := range []Side{a, b} {
		if found.Reason = c.unfit(s); found.Reason != "" {
			c.out = append(c.out, found)
			return
		}
	}
	if a.Workload != "" {
		c.metrics(found)
		return
	}
	for _, w := range workloads {
		found.A.Workload, found.B.Workload = w, w
		c.metrics(found)
	}
}

// side finds what an id stands for; a mode has no workload yet.
func (c *comparer) side(id string) Side {
	for _, s := range c.scenarios {
		if s.ID == id {
			return Side{ID: id, Mode: s.Mode, Workload: s.Workload}
		}
	}
	return Side{ID: id, Mode: id}
}

// unfit says why a side's mode has no figures, empty if it may have.
func (c *comparer) unfit(s Side) string {
	i := slices.IndexFunc(c.modes, func(m Mode) bool { return m.ID == s.Mode })
	switch {
	case i < 0:
		return s.Mode + " is not among the modes of the run"
	case c.modes[i].Status == ModeMeasured:
		return ""
	case c.modes[i].Reason == "":
		return fmt.Sprintf("%s is %s", s.Mode, c.modes[i].Status)
	}
	return fmt.Sprintf("%s is %s: %s", s.Mode, c.modes[i].Status, c.modes[i].Reason)
}

// metrics adds a comparison for each metric that both sides have.
func (c *comparer) metrics(found Comparison) {
	for _, s := range []Side{found.A, found.B} {
		if !c.table.has(s.Mode, s.Workload) {
			found.Reason = fmt.Sprintf("%s has no ok trial of %s", s.Mode, s.Workload)
			c.out = append(c.out, found)
			return
		}
	}
	before := len(c.out)
	for _, m := range Metrics() {
		a, b := c.readings(found.A, m), c.readings(found.B, m)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		one := found
		one.Metric, one.Unit, one.Better, one.Margin, one.Indicative = m.Name, m.Unit, m.Better, c.rule.Margin, c.rule.Indicative
		c.value(&one.A, a, m)
		c.value(&one.B, b, m)
		one.N = shared(a, b)
		one.Missing = len(a) + len(b) - 2*one.N
		c.out = append(c.out, one)
	}
	if len(c.out) == before {
		found.Reason = "the two have no metric in common"
		c.out = append(c.out, found)
	}
}

func (c *comparer) readings(s Side, m Metric) []reading {
	return c.table.values(s.Mode, s.Workload, m.Name)
}

func (c *comparer) value(s *Side, own []reading, m Metric) {
	s.Value, s.CI = summary(own)
	s.AtLeast = m.bounded() && c.table.limited(s.Mode, s.Workload)
}

// shared counts the blocks that both have.
func shared(a, b []reading) int {
	n := 0
	for _, r := range a {
		if slices.ContainsFunc(b, func(o reading) bool { return o.block == r.block }) {
			n++
		}
	}
	return n
}

// judge fills in what is known of the comparisons in one metric: those that are
// corrected together.
func (c *comparer) judge(m Metric) {
	var cells []Cell
	var at, compared []int // in out, and of cells
	var ratios []stats.LogRatio
	for i := range c.out {
		if c.out[i].Metric != m.Name {
			continue
		}
		c.out[i].Verdict = CannotTell
		if l, ok := compare(c.readings(c.out[i].A, m), c.readings(c.out[i].B, m)); ok {
			ratios, compared = append(ratios, l), append(compared, len(cells))
		}
		cells, at = append(cells, c.out[i].Cell()), append(at, i)
	}
	judge(cells, ratios, compared, c.rule.Margin)
	for i, cell := range cells {
		o := &c.out[at[i]]
		cell.bound(o.B.AtLeast)
		o.Ratio, o.RatioCI, o.P, o.Verdict = cell.Ratio, cell.RatioCI, cell.P, cell.Verdict
		o.Detectable, o.BlocksNeeded = cell.Detectable, cell.BlocksNeeded
	}
}
