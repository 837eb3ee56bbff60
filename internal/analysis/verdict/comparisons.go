package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/result"
)

// ComparisonRequest is a comparison that a study asks for: A against B. Each is the id of a
// scenario or of a mode, or two of them for the ratio of the first to the second ("did it
// scale": (d / c) over (b / a)). A mode is compared in every workload. Expect is the
// expected ratio; 0 is 1.
type ComparisonRequest struct {
	ID, Title string
	A, B      []string
	Expect    float64
}

// Comparisons judges the comparisons of a study as [Judge] judges modes and baselines: each, in
// the order given, in every metric that all its terms have. Modes are compared in each of
// the workloads, a mode and a scenario in that of the scenario. A comparison that is not
// possible is in the result with the reason.
func Comparisons(in Input, scenarios []result.Scenario, asked []ComparisonRequest) []result.Comparison {
	// Those are judged against a baseline only, by trials of their own.
	in.Metrics = slices.DeleteFunc(slices.Clone(in.metrics()), func(m result.Metric) bool { return BeyondP99(m.Name) })
	named := slices.Clone(in.Workloads)
	for _, s := range scenarios {
		if !slices.Contains(named, s.Workload) {
			named = append(named, s.Workload)
		}
	}
	c := Comparer{Input: in, scenarios: scenarios, Table: in.Table(named)}
	for _, a := range asked {
		c.ask(a)
	}
	for _, m := range in.Metrics {
		c.judge(m)
	}
	return c.out
}

// Comparer makes the comparisons of a study.
type Comparer struct {
	Input
	scenarios []result.Scenario
	Table     readings.Columns
	out       []result.Comparison
}

// ask adds a requested comparison, once for each workload.
func (c *Comparer) ask(asked ComparisonRequest) {
	found := result.Comparison{ID: asked.ID, Title: asked.Title, A: c.side(asked.A), B: c.side(asked.B)}
	if asked.Expect > 0 && asked.Expect != 1 {
		found.Expect = &asked.Expect
	}
	terms := termsOf(&found)
	workload := "" // that of a scenario among the terms is that of the modes, too
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
	JoinTerms(&found.A)
	JoinTerms(&found.B)
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

// side is the scenario, mode or ratio that ids name; a mode has no workload yet.
func (c *Comparer) side(ids []string) result.Side {
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

// JoinTerms sets the mode and the workload of a ratio if both terms have the same.
func JoinTerms(s *result.Side) {
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

// notComparable is the reason why a comparison has no values, empty if it can have them.
func (c *Comparer) notComparable(found result.Comparison, asked ComparisonRequest) string {
	if len(asked.A) != len(asked.B) || len(asked.A) < 1 || len(asked.A) > 2 {
		return "a ratio can only be compared with a ratio"
	}
	return c.Lacking(termsOf(&found))
}

// Lacking says which of the terms has a mode without values and why, empty if none has.
func (c *Comparer) Lacking(terms []*result.Side) string {
	for _, t := range terms {
		i := slices.IndexFunc(c.Modes, func(m result.Mode) bool { return m.ID == t.Mode })
		switch {
		case i < 0:
			return t.Mode + " is not a mode of the run"
		case c.Modes[i].Status == result.ModeMeasured:
		case c.Modes[i].Reason == "":
			return fmt.Sprintf("%s is %s", t.Mode, c.Modes[i].Status)
		default:
			return fmt.Sprintf("%s is %s: %s", t.Mode, c.Modes[i].Status, c.Modes[i].Reason)
		}
	}
	return ""
}

// atWorkload is the comparison of modes with a workload.
func atWorkload(c result.Comparison, workload string) result.Comparison {
	c.A.Of, c.B.Of = slices.Clone(c.A.Of), slices.Clone(c.B.Of)
	for _, t := range termsOf(&c) {
		t.Workload = workload
	}
	JoinTerms(&c.A)
	JoinTerms(&c.B)
	return c
}

// metrics adds a comparison for each metric that all its terms have.
func (c *Comparer) metrics(found result.Comparison) {
	for _, t := range termsOf(&found) {
		if !c.Table.Has(t.Mode, t.Workload) {
			found.Reason = fmt.Sprintf("%s has no valid trial of %s", t.Mode, t.Workload)
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
		found.Reason = "they have no metric in common"
		c.out = append(c.out, found)
	}
}

// metric is the comparison in one metric, without a verdict. ok is false if a term has no value.
func (c *Comparer) metric(one result.Comparison, m result.Metric) (result.Comparison, bool) {
	one.A.Of, one.B.Of = slices.Clone(one.A.Of), slices.Clone(one.B.Of)
	every := map[int]int{} // how many terms have a block
	terms := termsOf(&one)
	for _, t := range terms {
		own := c.Table.Values(t.Mode, t.Workload, m.Name)
		if len(own) == 0 {
			return one, false
		}
		for _, r := range own {
			every[r.Block]++
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
			t.Value, t.CI = Summary(c.Readings(t, m))
			t.AtLeast = c.Table.Limited(t.Mode, t.Workload, m)
		}
		if len(s.Of) > 0 {
			one.Unit = ""
			if own := c.Readings(s, m); positive(own) {
				s.Value, s.CI = Summary(own)
				s.AtLeast = s.Of[0].AtLeast && !s.Of[1].AtLeast
			}
		}
	}
	return one, true
}

// Readings are the values of a side, block by block.
func (c *Comparer) Readings(s *result.Side, m result.Metric) []readings.Reading {
	if len(s.Of) > 0 {
		return readings.Ratios(c.Readings(&s.Of[0], m), c.Readings(&s.Of[1], m))
	}
	return c.Table.Values(s.Mode, s.Workload, m.Name)
}

// positive says whether there is a value and all are finite and above 0.
func positive(rs []readings.Reading) bool {
	return len(rs) > 0 && !slices.ContainsFunc(rs, func(r readings.Reading) bool { return !(r.Value > 0) || !readings.Finite(r.Value) })
}

// judge fills in the comparisons in one metric, which are corrected together.
func (c *Comparer) judge(m result.Metric) {
	var family []Judged
	for i := range c.out {
		o := &c.out[i]
		if o.Metric != m.Name {
			continue
		}
		if Uncompared(m.Name) {
			continue
		}
		o.Verdict = result.CannotTell
		noisy := ""
		for _, t := range slices.Concat(o.A.Terms(), o.B.Terms()) {
			noisy = cmp.Or(noisy, c.Rule.NoisyOf(t.Workload))
		}
		a, b := c.Readings(&o.A, m), c.Readings(&o.B, m)
		l, ok := LogRatio(a, b, c.pairing(o))
		if !ok {
			if len(o.A.Of) == 0 && o.Expect == nil && noisy == "" && NoneInEither(m.Better, a, b, c.pairing(o)) {
				o.Verdict = result.Same
			}
			continue
		}
		j := Judged{Into: &o.Judgement, Better: o.Better, Ratio: l, Noisy: noisy != ""}
		if o.Expect != nil {
			j.expect = *o.Expect
		}
		aUp, aDown := Loose(&o.A)
		bUp, bDown := Loose(&o.B)
		j.flipP = flipP(a, b, c.pairing(o), j.expect)
		j.MayRise, j.MayFall = aUp || bDown, aDown || bUp
		j.oneSender = len(o.A.Of) == 0 && o.A.Workload == o.B.Workload && o.Expect == nil
		family = append(family, j)
	}
	JudgeFamily(family, c.Rule)
}

// pairing is that of the rule; a ratio has values only in blocks.
func (c *Comparer) pairing(o *result.Comparison) Pairing {
	if len(o.A.Of) > 0 {
		return PairBlocks
	}
	return c.Rule.Pairing
}

// Loose says whether the true value of a side may be above or below its measured value.
func Loose(s *result.Side) (above, below bool) {
	if len(s.Of) > 0 {
		return s.Of[0].AtLeast, s.Of[1].AtLeast
	}
	return s.AtLeast, false
}
