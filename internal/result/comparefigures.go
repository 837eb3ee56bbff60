package result

import (
	"fmt"
	"slices"
)

// metrics adds a comparison for each metric that all its terms have.
func (c *comparer) metrics(found Comparison) {
	for _, t := range found.terms() {
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
func (c *comparer) metric(one Comparison, m Metric) (Comparison, bool) {
	one.A.Of, one.B.Of = slices.Clone(one.A.Of), slices.Clone(one.B.Of)
	every := map[int]int{} // how many terms have a block
	terms := one.terms()
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
	for _, s := range []*Side{&one.A, &one.B} {
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
func (c *comparer) readings(s *Side, m Metric) []reading {
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
func (c *comparer) judge(m Metric) {
	var family []judged
	var at []int // in out
	for i := range c.out {
		o := &c.out[i]
		if o.Metric != m.Name {
			continue
		}
		o.Verdict = CannotTell
		l, ok := compare(c.readings(&o.A, m), c.readings(&o.B, m), c.pairing(o))
		if !ok {
			continue
		}
		cell := o.Cell()
		j := judged{cell: &cell, ratio: l}
		if o.Expect != nil {
			j.expect = *o.Expect
		}
		aUp, aDown := o.A.loose()
		bUp, bDown := o.B.loose()
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
func (c *comparer) pairing(o *Comparison) Pairing {
	if len(o.A.Of) > 0 {
		return PairBlocks
	}
	return c.Rule.Pairing
}

// loose says whether a side's true value may lie above or below its own figure.
func (s *Side) loose() (above, below bool) {
	if len(s.Of) > 0 {
		return s.Of[0].AtLeast, s.Of[1].AtLeast
	}
	return s.AtLeast, false
}
