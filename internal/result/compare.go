package result

import (
	"fmt"
	"slices"
	"strings"
)

// Asked is a comparison that a study asks for: A against B, each the id of a
// scenario or of a mode, or of two of them that stand for the ratio of the first to
// the second ("did it scale": (d / c) over (b / a)). A mode is taken with every
// workload. Expect is the ratio that would be no news; 0 stands for 1.
type Asked struct {
	ID, Title string
	A, B      []string
	Expect    float64
}

// Comparison is what A does beside B, in one metric, over all blocks. Ratio is the
// geometric mean, over the N blocks that have all of it, of A's value to B's; all that
// it shares with [Cell] means the same here. P is Holm-adjusted over the comparisons
// of one metric. Where there is an Expect, Ratio is judged against it: better is more
// (or less, where that is better) than expected, same is as expected within the margin.
//
// Where there is nothing to compare, Reason says why, Metric is empty and there are
// no figures.
type Comparison struct {
	ID           string    `json:"id"`
	Title        string    `json:"title,omitempty"`
	A            Side      `json:"a"`
	B            Side      `json:"b"`
	Expect       *float64  `json:"expect,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Metric       string    `json:"metric,omitempty"`
	Unit         string    `json:"unit,omitempty"` // of the metric; two sides that are ratios have none
	Better       Direction `json:"better,omitempty"`
	N            int       `json:"n"`
	Missing      int       `json:"missing,omitempty"` // blocks that have only some of it
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
//
// Of are the two sides of which this one is the ratio: Value is then the geometric
// mean over the blocks that have both, ID is "first / second", and mode and workload
// are theirs where they share one.
type Side struct {
	ID       string    `json:"id"`
	Mode     string    `json:"mode,omitempty"`
	Workload string    `json:"workload,omitempty"`
	Value    *float64  `json:"value,omitempty"`
	AtLeast  bool      `json:"at_least,omitempty"`
	CI       *Interval `json:"ci,omitempty"`
	Of       []Side    `json:"of,omitempty"`
}

// Cell is the comparison as the cell of A, with B in the baseline's place.
func (c Comparison) Cell() Cell {
	return Cell{
		Mode: c.A.ID, Workload: c.A.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: c.N,
		Value: c.A.Value, CI: c.A.CI, AtLeast: c.A.AtLeast, Baseline: c.B.ID, Ratio: c.Ratio, RatioCI: c.RatioCI, P: c.P,
		Verdict: c.Verdict, Margin: c.Margin, Detectable: c.Detectable, BlocksNeeded: c.BlocksNeeded, Indicative: c.Indicative,
	}
}

// Terms are the sides that have a mode and a workload: the side itself, or the two
// of which it is the ratio.
func (s *Side) Terms() []*Side {
	if len(s.Of) == 0 {
		return []*Side{s}
	}
	var out []*Side
	for i := range s.Of {
		out = append(out, &s.Of[i])
	}
	return out
}

// Compare judges what a study asked to be compared, as [Judge] judges modes beside
// their baselines: for each asked, in the order given, in every metric that all its
// terms have; modes alone in each of the workloads, a mode beside a scenario in that
// scenario's. What cannot be compared is in the result all the same, with the reason.
func Compare(in Input, scenarios []Scenario, asked []Asked) []Comparison {
	if in.Metrics == nil {
		in.Metrics = MetricsOf(in.Trials)
	}
	named := slices.Clone(in.Workloads)
	for _, s := range scenarios {
		if !slices.Contains(named, s.Workload) {
			named = append(named, s.Workload)
		}
	}
	c := comparer{Input: in, scenarios: scenarios, table: tabulate(in.Modes, named, in.Trials)}
	for _, a := range asked {
		c.ask(a)
	}
	for _, m := range in.Metrics {
		c.judge(m)
	}
	return c.out
}

// comparer collects comparisons.
type comparer struct {
	Input
	scenarios []Scenario
	table     table
	out       []Comparison
}

// ask adds one that was asked for, once for each workload.
func (c *comparer) ask(asked Asked) {
	found := Comparison{ID: asked.ID, Title: asked.Title, A: c.side(asked.A), B: c.side(asked.B)}
	if asked.Expect > 0 && asked.Expect != 1 {
		found.Expect = &asked.Expect
	}
	terms := found.terms()
	workload := "" // that of the scenarios among the terms goes for the modes, too
	for _, t := range terms {
		if workload == "" {
			workload = t.Workload
		}
	}
	for _, t := range terms {
		if t.Workload == "" {
			t.Workload = workload
		}
	}
	found.A.join()
	found.B.join()
	if found.Reason = c.unfit(found, asked); found.Reason != "" {
		c.out = append(c.out, found)
		return
	}
	if workload != "" {
		c.metrics(found)
		return
	}
	for _, w := range c.Workloads {
		c.metrics(found.at(w))
	}
}

// side finds what ids stand for; a mode has no workload yet.
func (c *comparer) side(ids []string) Side {
	if len(ids) == 1 {
		for _, s := range c.scenarios {
			if s.ID == ids[0] {
				return Side{ID: s.ID, Mode: s.Mode, Workload: s.Workload}
			}
		}
		return Side{ID: ids[0], Mode: ids[0]}
	}
	s := Side{ID: strings.Join(ids, " / ")}
	for _, id := range ids {
		s.Of = append(s.Of, c.side([]string{id}))
	}
	return s
}

// join gives a ratio what its two terms share.
func (s *Side) join() {
	if len(s.Of) != 2 {
		return
	}
	s.Mode, s.Workload = "", ""
	if s.Of[0].Mode == s.Of[1].Mode {
		s.Mode = s.Of[0].Mode
	}
	if s.Of[0].Workload == s.Of[1].Workload {
		s.Workload = s.Of[0].Workload
	}
}

func (c *Comparison) terms() []*Side { return append(c.A.Terms(), c.B.Terms()...) }

// unfit says why a comparison has no figures, empty if it may have.
func (c *comparer) unfit(found Comparison, asked Asked) string {
	if len(asked.A) != len(asked.B) || len(asked.A) < 1 || len(asked.A) > 2 {
		return "a ratio can only be compared with a ratio"
	}
	for _, t := range found.terms() {
		i := slices.IndexFunc(c.Modes, func(m Mode) bool { return m.ID == t.Mode })
		switch {
		case i < 0:
			return t.Mode + " is not among the modes of the run"
		case c.Modes[i].Status == ModeMeasured:
		case c.Modes[i].Reason == "":
			return fmt.Sprintf("%s is %s", t.Mode, c.Modes[i].Status)
		default:
			return fmt.Sprintf("%s is %s: %s", t.Mode, c.Modes[i].Status, c.Modes[i].Reason)
		}
	}
	return ""
}

// at is the comparison of modes at a workload.
func (c Comparison) at(workload string) Comparison {
	c.A.Of, c.B.Of = slices.Clone(c.A.Of), slices.Clone(c.B.Of)
	for _, t := range c.terms() {
		t.Workload = workload
	}
	c.A.join()
	c.B.join()
	return c
}
