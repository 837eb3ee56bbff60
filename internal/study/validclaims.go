package study

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/study/published"
	"tare/internal/study/suggest"
)

// Sides are what a claim is about: each name under Of and over as a mode with a workload. A mode has
// the workload of the claim, else that of a scenario among the names, else the only one of the study.
// The workload is empty if none of these decides it.
func (s Study) Sides(c Claim) (of, over []Scenario) {
	workload := c.Workload
	if workload == "" {
		for _, name := range slices.Concat(c.Of, c.Over) {
			if sc, ok := s.Scenario(name); ok {
				workload = cmp.Or(workload, sc.Workload)
			}
		}
	}
	if workload == "" && len(s.Workloads) == 1 {
		workload = s.Workloads[0].Name()
	}
	find := func(names []string) (out []Scenario) {
		for _, name := range names {
			sc, ok := s.Scenario(name)
			if !ok {
				sc = Scenario{ID: name, Mode: name, Workload: workload}
			}
			out = append(out, sc)
		}
		return out
	}
	return find(c.Of), find(c.Over)
}

// Levels are the levels at which the sides of a claim are compared: those that all its sweeps have.
// sweep is false if none of the sides has a sweep.
func (s Study) Levels(sides []Scenario) (levels []published.Level, sweep bool) {
	for _, side := range sides {
		own := s.levelsOf(side.Workload)
		switch {
		case len(own) == 0:
		case !sweep:
			levels, sweep = own, true
		default:
			levels = slices.DeleteFunc(levels, func(l published.Level) bool { return !slices.Contains(own, l) })
		}
	}
	return levels, sweep
}

// levelsOf are the levels of the workload of that name.
func (s Study) levelsOf(workload string) []published.Level {
	for _, w := range s.Workloads {
		if w.Name() == workload {
			return w.Levels()
		}
	}
	return nil
}

// claimRules are the rules of a study's claims.
type claimRules struct {
	*validator
	study Study
}

// check checks the claims of a study.
func (v claimRules) check() {
	first := map[string]string{}
	for i, c := range v.study.Claims {
		path := fmt.Sprintf("claims[%d]", i)
		if !v.readable(path) {
			continue
		}
		v.all(c.Fields(), path+".")
		v.lacks(path, "claim", c.Claim, "claim without a sentence")
		if !v.lacks(path, "id", c.ID, "claim without id") {
			if before, again := first[c.ID]; again {
				v.add(path+".id", "duplicate claim %q%s", c.ID, v.already(before))
			} else {
				first[c.ID] = path + ".id"
			}
		}
		v.one(path, c)
	}
}

// one checks what a claim is about and its condition.
func (v claimRules) one(path string, c Claim) {
	if c.Needs != "" {
		for _, f := range c.Fields() {
			if slices.Contains([]string{"of", "over", "holds_if"}, f.Key) && !f.Value.IsZero() {
				v.add(v.key(path, f.Key), "a claim with needs cannot be checked, so it has no %s; remove one of them", f.Key)
			}
		}
		return
	}
	if !v.readable(path+".of") || !v.readable(path+".over") || !v.readable(path+".holds_if") {
		return
	}
	if len(c.Of) == 0 {
		v.add(path, "claim without of; want the key of with scenarios or modes, or needs with what is lacking to check it")
		return
	}
	known := v.names(path, c)
	lacking := v.lacks(path, "metric", c.Metric, "claim without metric")
	if v.lacks(path, "holds_if", c.HoldsIf, "claim without a condition") || lacking {
		return
	}
	unit, ok := v.metricOf(path, c.Metric)
	cond, err := published.ParseCondition(c.HoldsIf)
	if err != nil {
		v.add(path+".holds_if", "holds_if: %s", err)
		return
	}
	if !v.count(path, c, cond) {
		return
	}
	if len(c.Of) > 1 {
		unit, ok = "ratio", true
	}
	v.units(path, c, cond, unit, ok)
	if !known || len(v.study.Workloads) == 0 {
		v.exclusive(path, cond, nil)
		return
	}
	levels, sweep, ok := v.workload(path, c)
	if !ok {
		return
	}
	v.levels(path, cond, levels, sweep)
	v.exclusive(path, cond, levels)
	if _, err := published.ParseValue(c.Published); err != nil && c.Published != "" && !sweep && !cond.Ordered() {
		v.add(path+".published", "published: %s", err)
	}
}

// names checks that the names of a claim are in the study.
func (v claimRules) names(path string, c Claim) bool {
	modes := named(v.study, v.cat)
	names := slices.Clone(modes)
	for _, sc := range v.study.Scenarios {
		names = append(names, sc.ID)
	}
	ok := true
	for _, list := range []struct {
		key   string
		names Names
	}{{"of", c.Of}, {"over", c.Over}} {
		for i, name := range list.names {
			switch {
			case len(modes) > 0 && !slices.Contains(names, name):
				v.add(path+"."+list.key, "%s", suggest.Unknown("scenario or mode", name, "", names))
				ok = false
			case slices.Contains(list.names[:i], name):
				v.add(path+"."+list.key, "%s is named twice", suggest.Quote(name))
				ok = false
			}
		}
	}
	return ok && len(modes) > 0
}

// metricOf checks the metric of a claim and returns its unit.
func (v claimRules) metricOf(path, name string) (unit string, known bool) {
	if v.cat.Metric == nil {
		return "", false
	}
	unit, known = v.cat.Metric(name)
	if !known {
		v.add(path+".metric", "unknown metric %s; docs/metrics.md lists them", suggest.Quote(name))
	}
	return unit, known
}

// count checks how many names a condition is about.
func (v claimRules) count(path string, c Claim, cond published.Condition) bool {
	bounds := !slices.ContainsFunc(cond.Clauses, func(c published.Clause) bool { return c.Kind != published.HoldsWithin })
	kind := cond.Clauses[0].Kind
	switch {
	case len(c.Over) > 0 && (len(c.Over) != 2 || len(c.Of) != 2 || cond.Ordered()):
		v.add(path+".over", "over has %d names beside %d under of; want two of each, for the ratio of two ratios, and no order", len(c.Over), len(c.Of))
	case len(c.Over) > 0 && slices.Equal(c.Of, c.Over):
		v.add(path+".over", "over and of are the same: a ratio is divided by itself")
	case cond.Ordered() && len(c.Of) < 2:
		v.add(path+".of", "an order of %d name; want at least two, the best first", len(c.Of))
	case !cond.Ordered() && len(c.Of) > 2:
		v.add(path+".of", "of has %d names, which only an order can have; want one for its value, or two for their ratio", len(c.Of))
	case !bounds && len(c.Of) == 1:
		v.add(path+".of", "%s is about two values, and of has one name; want two", kind)
	default:
		return true
	}
	return false
}

// units checks the units of the bounds and of the published value.
func (v claimRules) units(path string, c Claim, cond published.Condition, unit string, known bool) {
	if !known {
		return
	}
	fits := func(of string) bool { return of == "" || of == unit || of == "%" && unit == "ratio" }
	want := fmt.Sprintf("a value of %s, whose unit is %s", c.Metric, unit)
	if len(c.Of) > 1 {
		want = "a ratio; want a number or a percentage"
	}
	for _, clause := range cond.Clauses {
		for _, q := range []*published.Quantity{clause.Above, clause.Below} {
			if q != nil && !fits(q.Unit) {
				v.add(path+".holds_if", "%s is not %s", q.Text, want)
				return
			}
		}
	}
	if p, err := published.ParseValue(c.Published); err == nil && !cond.Ordered() && !fits(p.Unit) {
		v.add(path+".published", "%s is not %s", suggest.Quote(c.Published), want)
	}
}

// workload checks the workloads of a claim and returns the levels of their sweep.
func (v claimRules) workload(path string, c Claim) (levels []published.Level, sweep, ok bool) {
	if c.Workload != "" && !slices.Contains(v.study.Names(), c.Workload) {
		v.among(path+".workload", "workload", c.Workload, v.study.Names(), "workloads")
		return nil, false, false
	}
	of, over := v.study.Sides(c)
	sides := slices.Concat(of, over)
	modes := 0
	for _, side := range sides {
		if _, scenario := v.study.Scenario(side.ID); !scenario {
			modes++
		}
		if side.Workload == "" {
			v.add(v.key(path, "of"), "%s is a mode, and the study has %d workloads; want the key workload with %s", suggest.Quote(side.ID), len(v.study.Workloads), suggest.Either(v.study.Names()))
			return nil, false, false
		}
	}
	if modes == 0 && c.Workload != "" {
		v.add(path+".workload", "scenarios have their own workload; remove the key workload")
		return nil, false, false
	}
	levels, sweep = v.study.Levels(sides)
	if sweep && len(levels) == 0 {
		v.add(v.key(path, "of"), "the sweeps of the workloads have no value in common")
		return nil, false, false
	}
	return levels, sweep, true
}

// levels checks that each clause is about a level that the workload has.
func (v claimRules) levels(path string, cond published.Condition, levels []published.Level, sweep bool) {
	for _, clause := range cond.Clauses {
		switch {
		case clause.Bounded() && !sweep:
			v.add(path+".holds_if", "%q names levels, but the workload is not a sweep; want rates, or a list of flows or streams", clause)
		case clause.Bounded() && !slices.ContainsFunc(levels, clause.Covers):
			v.add(path+".holds_if", "%q is about no level of the workload, whose levels are %s", clause, listed(levels))
		}
	}
}

// exclusive reports clauses of which at most one can hold. Without levels, clauses with bounds
// overlap if their bounds do.
func (v claimRules) exclusive(path string, cond published.Condition, levels []published.Level) {
	if cond.Ordered() {
		return
	}
	margin := cmp.Or(v.study.Margin, profileOf(v.study.Profile).margin)
	for i, a := range cond.Clauses {
		for _, b := range cond.Clauses[:i] {
			both := overlap(a, b)
			if len(levels) > 0 {
				both = slices.ContainsFunc(levels, func(l published.Level) bool { return a.Covers(l) && b.Covers(l) })
			}
			loA, hiA := a.Region(margin)
			loB, hiB := b.Region(margin)
			if both && max(loA, loB) >= min(hiA, hiB) {
				v.add(path+".holds_if", "%q and %q exclude each other", b, a)
				return
			}
		}
	}
}

// overlap reports whether two clauses can be about one level.
func overlap(a, b published.Clause) bool {
	apart := func(x, y published.Clause) bool { return x.To != nil && y.From != nil && x.To.Value < y.From.Value }
	return !apart(a, b) && !apart(b, a)
}

func listed(levels []published.Level) string {
	names := make([]string, len(levels))
	for i, l := range levels {
		names[i] = l.String()
	}
	return suggest.Either(names)
}
