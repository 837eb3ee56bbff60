package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/result"
)

// ComparisonRequest is a comparison that a study asks for: A against B, each the id of a
// scenario or of a mode, or of two of them that stand for the ratio of the first to
// the second ("did it scale": (d / c) over (b / a)). A mode is taken with every
// workload. Expect is the ratio that would be no news; 0 stands for 1.
type ComparisonRequest struct {
	ID, Title string
	A, B      []string
	Expect    float64
}

// Compare judges what a study asked to be compared, as [Judge] judges modes beside
// their baselines: for each asked, in the order given, in every metric that all its
// terms have; modes alone in each of the workloads, a mode beside a scenario in that
// scenario's. What cannot be compared is in the result all the same, with the reason.
func Compare(in Input, scenarios []result.Scenario, asked []ComparisonRequest) []result.Comparison {
	if in.Metrics == nil {
		in.Metrics = result.MetricsOf(in.Trials)
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
	scenarios []result.Scenario
	table     table
	out       []result.Comparison
}

// ask adds one that was asked for, once for each workload.
func (c *comparer) ask(asked ComparisonRequest) {
	found := result.Comparison{ID: asked.ID, Title: asked.Title, A: c.side(asked.A), B: c.side(asked.B)}
	if asked.Expect > 0 && asked.Expect != 1 {
		found.Expect = &asked.Expect
	}
	terms := termsOf(&found)
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
	joinTerms(&found.A)
	joinTerms(&found.B)
	if found.Reason = c.notComparable(found, asked); found.Reason != "" {
		c.out = append(c.out, found)
		return
	}
	if workload != "" {
		c.metrics(found)
		return
	}
	for _, w := range c.Workloads {
		c.metrics(atWorkload(found, w))
	}
}

// side finds what ids stand for; a mode has no workload yet.
func (c *comparer) side(ids []string) result.Side {
	if len(ids) == 1 {
		for _, s := range c.scenarios {
			if s.ID == ids[0] {
				return result.Side{ID: s.ID, Mode: s.Mode, Workload: s.Workload}
			}
		}
		return result.Side{ID: ids[0], Mode: ids[0]}
	}
	s := result.Side{ID: strings.Join(ids, " / ")}
	for _, id := range ids {
		s.Of = append(s.Of, c.side([]string{id}))
	}
	return s
}

// joinTerms gives a ratio what its two terms share.
func joinTerms(s *result.Side) {
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

func termsOf(c *result.Comparison) []*result.Side { return append(c.A.Terms(), c.B.Terms()...) }

// notComparable says why a comparison has no figures, empty if it may have.
func (c *comparer) notComparable(found result.Comparison, asked ComparisonRequest) string {
	if len(asked.A) != len(asked.B) || len(asked.A) < 1 || len(asked.A) > 2 {
		return "a ratio can only be compared with a ratio"
	}
	for _, t := range termsOf(&found) {
		i := slices.IndexFunc(c.Modes, func(m result.Mode) bool { return m.ID == t.Mode })
		switch {
		case i < 0:
			return t.Mode + " is not among the modes of the run"
		case c.Modes[i].Status == result.ModeMeasured:
		case c.Modes[i].Reason == "":
			return fmt.Sprintf("%s is %s", t.Mode, c.Modes[i].Status)
		default:
			return fmt.Sprintf("%s is %s: %s", t.Mode, c.Modes[i].Status, c.Modes[i].Reason)
		}
	}
	return ""
}

// atWorkload is the comparison of modes at a workload.
func atWorkload(c result.Comparison, workload string) result.Comparison {
	c.A.Of, c.B.Of = slices.Clone(c.A.Of), slices.Clone(c.B.Of)
	for _, t := range termsOf(&c) {
		t.Workload = workload
	}
	joinTerms(&c.A)
	joinTerms(&c.B)
	return c
}

// metrics adds a comparison for each metric that all its terms have.
func (c *comparer) metrics(found result.Comparison) {
	for _, t := range termsOf(&found) {
		if !c.table.has(t.Mode, t.Workload) {
			found.Reason = fmt.Sprintf("%s has no ok trial of %s", t.Mode, t.Workload)
			c.out = append(c.out, found)
			return
		}
	}
	before := len(c.out)
	for _, m := range c.Metrics {
		if one, ok := c.metric(found, m); ok {
			c.out = append(c.out, one)
		}
	}
	if len(c.out) == before {
		found.Reason = "the two have no metric in common"
		c.out = append(c.out, found)
	}
}

// metric is the comparison in one metric, not judged yet.
func (c *comparer) metric(one result.Comparison, m result.Metric) (result.Comparison, bool) {
	one.A.Of, one.B.Of = slices.Clone(one.A.Of), slices.Clone(one.B.Of)
	every := map[int]int{} // how many terms have a block
	terms := termsOf(&one)
	for _, t := range terms {
		own := c.table.values(t.Mode, t.Workload, m.Name)
		if len(own) == 0 {
			return one, false
		}
		for _, r := range own {
			every[r.block]++
		}
	}
	for _, n := range every {
		if n == len(terms) {
			one.N++
		}
	}
	one.Missing = len(every) - one.N
	one.Metric, one.Unit, one.Better, one.Margin, one.Indicative = m.Name, m.Unit, m.Better, c.Rule.Margin, c.Rule.Indicative
	for _, s := range []*result.Side{&one.A, &one.B} {
		for _, t := range s.Terms() {
			t.Value, t.CI = summary(c.readings(t, m))
			t.AtLeast = c.table.limited(t.Mode, t.Workload, m)
		}
		if len(s.Of) > 0 {
			one.Unit = ""
			if own := c.readings(s, m); positive(own) {
				s.Value, s.CI = summary(own)
				s.AtLeast = s.Of[0].AtLeast && !s.Of[1].AtLeast
			}
		}
	}
	return one, true
}

// readings are the values of a side, block by block.
func (c *comparer) readings(s *result.Side, m result.Metric) []reading {
	if len(s.Of) > 0 {
		return ratios(c.readings(&s.Of[0], m), c.readings(&s.Of[1], m))
	}
	return c.table.values(s.Mode, s.Workload, m.Name)
}

// positive says whether there is a value and each has a logarithm.
func positive(rs []reading) bool {
	return len(rs) > 0 && !slices.ContainsFunc(rs, func(r reading) bool { return !(r.value > 0) || !finite(r.value) })
}

// judge fills in what is known of the comparisons in one metric: those that are
// corrected together.
func (c *comparer) judge(m result.Metric) {
	var family []judged
	var at []int // in out
	for i := range c.out {
		o := &c.out[i]
		if o.Metric != m.Name {
			continue
		}
		o.Verdict = result.CannotTell
		l, ok := compare(c.readings(&o.A, m), c.readings(&o.B, m), c.pairing(o))
		if !ok {
			continue
		}
		cell := o.Cell()
		j := judged{cell: &cell, ratio: l}
		if o.Expect != nil {
			j.expect = *o.Expect
		}
		aUp, aDown := loose(&o.A)
		bUp, bDown := loose(&o.B)
		j.mayRise, j.mayFall = aUp || bDown, aDown || bUp
		j.oneSender = len(o.A.Of) == 0 && o.A.Workload == o.B.Workload && o.Expect == nil
		family, at = append(family, j), append(at, i)
	}
	judge(family, c.Rule)
	for i, j := range family {
		o := &c.out[at[i]]
		o.Ratio, o.RatioCI, o.P, o.Verdict = j.cell.Ratio, j.cell.RatioCI, j.cell.P, j.cell.Verdict
		o.Detectable, o.BlocksNeeded = j.cell.Detectable, j.cell.BlocksNeeded
	}
}

// pairing is the rule's, but a ratio has values only where there are blocks.
func (c *comparer) pairing(o *result.Comparison) Pairing {
	if len(o.A.Of) > 0 {
		return PairBlocks
	}
	return c.Rule.Pairing
}

// loose says whether a side's true value may lie above or below its own figure.
func loose(s *result.Side) (above, below bool) {
	if len(s.Of) > 0 {
		return s.Of[0].AtLeast, s.Of[1].AtLeast
	}
	return s.AtLeast, false
}
