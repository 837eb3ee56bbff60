// Package claims decides the claims of a study.
package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/published"
	"tare/internal/unit"
)

// Evaluate holds a run against the published claims of its study. Each claim is about one or
// several points: a value or a ratio, the pairs of an order, the levels of a sweep. Each point has
// the region in which its true value is if the claim holds, and is tested for being inside and
// outside ([stats.LogRatio.RegionP]). The tests of all claims are one family with Holm's correction:
// an outcome needs a corrected p below 0.05. A claim holds if all its points do, and does not hold if
// one does not. A noisy run, fewer than three blocks, and a mode without values show neither. The run
// has the modes, the hosts and the limits by links.
func Evaluate(in verdict.Input, s study.Study, run result.Run) []result.Claim {
	if len(s.Claims) == 0 {
		return nil
	}
	e := &evaluation{Comparer: verdict.Comparer{Input: in, Table: in.Table(plan.Names(s))}, study: s, run: run}
	for _, c := range s.Claims {
		e.add(c)
	}
	e.decide()
	out := make([]result.Claim, len(e.all))
	for i, c := range e.all {
		out[i] = e.concluded(c)
	}
	return out
}

// evaluation evaluates the claims of a run.
type evaluation struct {
	verdict.Comparer
	study study.Study
	run   result.Run
	all   []*claimed
	tests int // in the family
}

// claimed is a claim with the points that it is about.
type claimed struct {
	result.Claim
	points []*claimPoint
	sides  []result.Side // that its points compare
}

// claimPoint is a value or ratio that a claim is about. The true value is in the region from lo to hi
// if the claim holds, on the scale of found.
type claimPoint struct {
	result.ClaimPoint
	level  *published.Level // of a sweep, nil without one
	text   string           // what the claim says of it, such as below 0.7
	kind   published.ClauseKind
	found  stats.LogRatio // of logarithms, or of the values themselves where one is 0
	lo, hi float64
	reason string // why it cannot be tested
	zeros  string // that all values are 0, if they are
	// mayRise and mayFall are those of [judged].
	mayRise, mayFall bool
	p                float64 // corrected
	bounded          bool    // a lower bound does not support what the test shows
	needed           *int
}

// add adds a claim with its points.
func (e *evaluation) add(c study.Claim) {
	out := &claimed{Claim: result.Claim{
		ID: c.ID, Claim: c.Claim, Source: c.Source, Of: c.Of, Over: c.Over, Workload: c.Workload, Metric: c.Metric, HoldsIf: c.HoldsIf,
		Published: c.Published, Outcome: result.ClaimCannotTell, Indicative: e.Rule.Indicative,
	}}
	e.all = append(e.all, out)
	if c.Needs != "" {
		out.Reason, out.Indicative = "needs "+c.Needs, false
		return
	}
	cond, err := published.ParseCondition(c.HoldsIf)
	metric, known := result.MetricNamed(c.Metric)
	switch {
	case err != nil:
		out.Reason = err.Error()
	case !known:
		out.Reason = fmt.Sprintf("this version of tare does not know the metric %q", c.Metric)
	case verdict.BeyondP99(c.Metric):
		out.Reason = c.Metric + " is compared with a baseline only, by the tail pass"
	case c.Metric == result.Memory:
		out.Reason = "memory is not compared, because a baseline has no processes of its own"
	case c.Metric == result.LoadGoodput:
		out.Reason = c.Metric + " is not compared: it tells under which load the other values are"
	case verdict.Uncompared(c.Metric):
		out.Reason = c.Metric + " is the maximum of a trial, which shows no difference"
	}
	if out.Reason != "" {
		return
	}
	if len(c.Of) == 1 {
		out.Unit = metric.Unit
	}
	for _, at := range plan.ClaimLevels(e.study, c) {
		e.addLevel(out, cond, at, metric)
	}
	if len(out.points) == 1 && !cond.Ordered() {
		if p, err := published.ParseValue(c.Published); err == nil {
			out.PublishedValue = &p.Value
			if p.HasSpread {
				out.PublishedCI = &result.Interval{p.Lo, p.Hi}
			}
		}
	}
}

// addLevel adds the points of a claim at one level.
func (e *evaluation) addLevel(c *claimed, cond published.Condition, at plan.ClaimLevel, m result.Metric) {
	label := ""
	if at.Level != nil {
		label = at.Level.Label()
	}
	sides := resultSides(at.Of)
	if cond.Ordered() {
		if at.Level != nil && !cond.Clauses[0].Covers(*at.Level) {
			return
		}
		kind := published.HoldsHigher
		if m.Better == result.Lower {
			kind = published.HoldsLower
		}
		for i := range sides[1:] {
			p := &claimPoint{level: at.Level, kind: published.HoldsOrder, text: sides[i].ID + " before " + sides[i+1].ID}
			if p.Label = p.text; label != "" {
				p.Label += " at " + label
			}
			p.lo, p.hi = published.Clause{Kind: kind}.Region(e.Rule.Margin)
			e.measure(c, p, m, sides[i], &sides[i+1])
		}
		return
	}
	lo, hi, covered := cond.Region(at.Level, e.Rule.Margin)
	if !covered {
		return
	}
	p := &claimPoint{ClaimPoint: result.ClaimPoint{Label: label}, level: at.Level, lo: lo, hi: hi}
	p.kind, p.text = e.describe(cond, at.Level)
	switch {
	case len(at.Over) > 0:
		over := ratioSide(resultSides(at.Over))
		e.measure(c, p, m, ratioSide(sides), &over)
	case len(sides) > 1:
		e.measure(c, p, m, sides[0], &sides[1])
	default:
		e.measure(c, p, m, sides[0], nil)
	}
}

// describe says what the clauses about a level demand, and the kind if all have one.
func (e *evaluation) describe(cond published.Condition, at *published.Level) (kind published.ClauseKind, text string) {
	for _, clause := range cond.Clauses {
		if at != nil && !clause.Covers(*at) {
			continue
		}
		clause.From, clause.To = nil, nil
		one := clause.String()
		if clause.Kind == published.HoldsSame {
			one = "1 within the margin of " + verdict.Percent(e.Rule.Margin)
		} else if clause.Kind != published.HoldsWithin {
			one += " than 1"
		}
		if text == "" {
			kind, text = clause.Kind, one
			continue
		}
		kind, text = published.HoldsWithin, text+" and "+one
	}
	return kind, text
}

func resultSides(of []study.Scenario) []result.Side {
	out := make([]result.Side, len(of))
	for i, sc := range of {
		out[i] = result.Side{ID: sc.ID, Mode: sc.Mode, Workload: sc.Workload}
	}
	return out
}

// ratioSide is the ratio of the first of two sides to the second.
func ratioSide(of []result.Side) result.Side {
	s := result.Side{ID: of[0].ID + " / " + of[1].ID, Of: of}
	verdict.JoinTerms(&s)
	return s
}

// measure adds a point with its value: the ratio of a to b or, without b, the value of a.
func (e *evaluation) measure(c *claimed, p *claimPoint, m result.Metric, a result.Side, b *result.Side) {
	p.p = math.NaN()
	c.points = append(c.points, p)
	terms := a.Terms()
	if b != nil {
		terms = append(terms, b.Terms()...)
	}
	for _, t := range terms {
		t.AtLeast = e.Table.Limited(t.Mode, t.Workload, m) || m.Name == "loss_ratio" && e.underoffered(t, p.level)
	}
	c.sides = append(c.sides, a)
	if b != nil {
		c.sides = append(c.sides, *b)
	}
	if p.reason = e.Lacking(terms); p.reason != "" {
		return
	}
	for _, t := range terms {
		if !e.Table.Has(t.Mode, t.Workload) {
			p.reason = fmt.Sprintf("%s has no valid trial of %s", t.Mode, t.Workload)
			return
		}
		if len(e.Table.Values(t.Mode, t.Workload, m.Name)) == 0 {
			p.reason = fmt.Sprintf("%s has no %s with %s", t.Workload, m.Name, t.Mode)
			return
		}
	}
	if b == nil {
		e.measureValue(p, m, a)
	} else {
		e.measureRatio(p, m, a, *b)
	}
	if n := p.found.N; p.reason == "" && n < stats.MinPairs {
		p.reason = fmt.Sprintf("%s, and no outcome is possible with fewer than %d", unit.Count(n, "block", "blocks"), stats.MinPairs)
	}
	for _, t := range terms {
		p.reason = cmp.Or(e.Rule.NoisyOf(t.Workload), p.reason)
	}
}

// leastOffered is the share of its rate that a level must have been offered.
const leastOffered = 0.98

// Underoffered reports whether a generator offered clearly less than a rate, both in bit/s: no loss is then no loss at that rate.
func Underoffered(offered, rate float64) bool { return offered < leastOffered*rate }

// underoffered reports whether the generator offered clearly less than the rate of a level: the loss
// at that rate may be higher than the one that was measured.
func (e *evaluation) underoffered(t *result.Side, at *published.Level) bool {
	if at == nil || at.Key != "rates" {
		return false
	}
	offered := readings.Plain(e.Table.Values(t.Mode, t.Workload, "offered_load"))
	return len(offered) > 0 && Underoffered(readings.Mean(offered), at.Value)
}

// measureValue measures the value of one side.
func (e *evaluation) measureValue(p *claimPoint, m result.Metric, a result.Side) {
	own := e.Readings(&a, m)
	p.Value, p.CI = verdict.Summary(own)
	p.mayRise = a.AtLeast
	xs := readings.Plain(own)
	if slices.Max(xs) == 0 {
		p.zeros = "all values are 0, in " + unit.Count(len(xs), "block", "blocks")
	}
	if slices.Min(xs) > 0 {
		for i, x := range xs {
			xs[i] = math.Log(x)
		}
		p.lo, p.hi = logLimit(p.lo), logLimit(p.hi)
	}
	p.found = sample(xs, own)
}

// measureRatio measures the ratio of two sides. If a value is 0, there is none: then a point that is
// about which is higher is decided by the differences, and one that both are the same by whether
// all values of both are 0.
func (e *evaluation) measureRatio(p *claimPoint, m result.Metric, a, b result.Side) {
	x, y := e.Readings(&a, m), e.Readings(&b, m)
	pairing := e.Rule.Pairing
	if len(a.Of) > 0 {
		pairing = verdict.PairBlocks
	}
	aUp, aDown := verdict.Loose(&a)
	bUp, bDown := verdict.Loose(&b)
	p.mayRise, p.mayFall = aUp || bDown, aDown || bUp
	aside := p.kind == published.HoldsLower || p.kind == published.HoldsHigher || p.kind == published.HoldsOrder
	l, ok := verdict.LogRatio(x, y, pairing)
	both, _ := readings.Common(x, y)
	if len(a.Of) == 0 && verdict.NoneInEither(m.Better, x, y, pairing) {
		p.zeros = "all values of both are 0, in " + unit.Count(len(both), "block", "blocks")
	}
	switch {
	case ok:
		p.found, p.Value = l, verdict.Known(l.Ratio())
		if lo, hi, ok := l.Interval(0.95); ok && readings.Finite(lo) && readings.Finite(hi) {
			p.CI = &result.Interval{lo, hi}
		}
		p.lo, p.hi = logLimit(p.lo), logLimit(p.hi)
		oneSender := len(a.Of) == 0 && a.Workload == b.Workload && m.Better == result.Higher
		if oneSender && (p.mayRise || p.mayFall) && l.P() < 0.05 {
			// The same sender reached more on the other path: with a faster one the ratio
			// would be further from 1, see verdict.levelVerdict.
			p.mayRise, p.mayFall = l.Mean > 0, l.Mean < 0
		}
	case len(a.Of) > 0 || pairing == verdict.PairNone:
		p.reason = "a value is 0, which has no ratio"
	case p.kind == published.HoldsSame && p.zeros != "":
		p.found.N = len(both)
		p.lo, p.hi = logLimit(p.lo), logLimit(p.hi)
	case aside:
		apart := readings.Differences(x, y)
		p.found = sample(readings.Plain(apart), apart)
		p.lo, p.hi = p.lo-1, p.hi-1 // of the ratio 1, which is the difference 0
	default:
		p.reason = "a value is 0, which has no ratio"
	}
}

// logLimit is the logarithm of a limit; none stays none.
func logLimit(x float64) float64 {
	if math.IsInf(x, -1) {
		return x
	}
	return math.Log(x)
}

// sample summarises values, or their logarithms, of blocks; a single one has no spread.
func sample(xs []float64, of []readings.Reading) stats.LogRatio {
	if len(xs) == 0 {
		return stats.LogRatio{}
	}
	return stats.LevelBySetup(xs, readings.SetupsOf(of))
}

// decide tests all points as one family.
func (e *evaluation) decide() {
	var points []*claimPoint
	var ps []float64
	for _, c := range e.all {
		for _, p := range c.points {
			if p.reason == "" {
				in, out := p.found.RegionP(p.lo, p.hi)
				points, ps = append(points, p), append(ps, min(in, out))
			}
		}
	}
	e.tests = len(ps)
	adjusted := stats.Holm(ps)
	for i, p := range points {
		p.p = adjusted[i]
		p.decide(ps[i])
	}
}

// decide gives a point its outcome. Raw is its p value before the correction.
func (p *claimPoint) decide(raw float64) {
	in, out := p.found.RegionP(p.lo, p.hi)
	if !(p.p < 0.05) {
		factor := 1.0
		if raw > 0 {
			factor = p.p / raw
		}
		needed := p.found.BlocksUntil(func(l stats.LogRatio) bool {
			in, out := l.RegionP(p.lo, p.hi)
			return min(in, out)*factor < 0.05
		})
		if needed >= 0 && !p.mayRise && !p.mayFall {
			p.needed = &needed
		}
		return
	}
	holds := in < out
	needsAbove, needsBelow := !math.IsInf(p.lo, -1), !math.IsInf(p.hi, 1)
	if !holds {
		needsBelow = p.found.Mean <= p.lo
		needsAbove = !needsBelow
	}
	switch {
	case needsAbove && p.mayFall || needsBelow && p.mayRise:
		p.bounded = true
	case holds:
		p.Outcome = result.ClaimHolds
	default:
		p.Outcome = result.ClaimDoesNotHold
	}
}

// inside reports whether the value found is as claimed, whatever is shown.
func (p *claimPoint) inside() bool { return p.lo < p.found.Mean && p.found.Mean < p.hi }
