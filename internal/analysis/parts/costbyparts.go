// Package parts divides what a mode costs among its parts, and names the cause where the run shows one.
package parts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
)

// Evaluate evaluates what a study asks of the parts of a mode: the cost of each part, in every metric that
// can be divided. It returns nil for a study without one.
func Evaluate(in verdict.Input, asked *study.CostByParts, breakdowns []result.Breakdown) *result.CostByParts {
	if asked == nil || len(asked.Modes) == 0 {
		return nil
	}
	l := costByParts{in: in, table: readings.Tabulate(in.Modes, in.Workloads, in.Trials), breakdowns: breakdowns}
	l.out = result.CostByParts{Mode: asked.Of, Baseline: asked.Modes[0].Mode, Modes: l.modes(asked.Modes), Removals: l.modes(asked.Removals)}
	for _, w := range in.Workloads {
		for _, u := range verdict.TimeUnits() {
			if c, ok := l.cost(w, u.Metric, u.Unit, u.Rate); ok {
				l.out.Costs = append(l.out.Costs, c)
			}
		}
	}
	l.judge()
	return &l.out
}

// costByParts is a result while it is evaluated.
type costByParts struct {
	in         verdict.Input
	table      readings.Columns
	breakdowns []result.Breakdown
	out        result.CostByParts
}

// modes are those of a study, with the reason of each that has no values.
func (l *costByParts) modes(of []study.PartMode) []result.PartMode {
	var out []result.PartMode
	for _, r := range of {
		one := result.PartMode{Mode: r.Mode, Part: r.Part, Title: r.Title, Avoid: r.Avoid, Rest: r.Rest, Beyond: r.Beyond}
		i := slices.IndexFunc(l.in.Modes, func(m result.Mode) bool { return m.ID == r.Mode })
		switch {
		case i < 0:
			one.Reason = "it was not measured"
		case l.in.Modes[i].Status != result.ModeMeasured:
			one.Reason = fmt.Sprintf("%s: %s", l.in.Modes[i].Status, cmp.Or(l.in.Modes[i].Reason, "no reason is recorded"))
		}
		out = append(out, one)
	}
	return out
}

// cost is the cost by parts in one metric, without verdicts. ok is false if the baseline or the
// explained mode has no value of it.
func (l *costByParts) cost(workload, metric, unit string, rate float64) (out result.PartCosts, ok bool) {
	of := func(mode string) []readings.Reading {
		return readings.TimesOf(l.table.Values(mode, workload, metric), rate)
	}
	base, whole := of(l.out.Baseline), of(l.out.Mode)
	if len(base) == 0 || len(whole) == 0 {
		return out, false
	}
	out = result.PartCosts{Workload: workload, Metric: metric, Unit: unit, Baseline: verdict.Amount(base), Whole: verdict.Amount(readings.Differences(whole, base))}
	var parts []string
	last, steps := l.out.Baseline, map[string][]readings.Reading{}
	for _, r := range l.out.Modes[1:] {
		parts = append(parts, r.Part)
		with := of(r.Mode)
		if len(with) == 0 {
			continue // its part goes to the next mode that has values
		}
		d := readings.Differences(with, of(last))
		s := l.step(d, base)
		s.Parts, s.With, s.Without, s.Rest, s.Beyond = parts, r.Mode, last, r.Rest, r.Beyond
		if len(parts) == 1 {
			steps[r.Part] = d
		}
		out.Steps, last, parts = append(out.Steps, s), r.Mode, nil
	}
	var interactions []interaction
	for _, r := range l.out.Removals {
		without := of(r.Mode)
		if len(without) == 0 {
			continue
		}
		saved := readings.Differences(whole, without)
		s := l.step(saved, base)
		s.Parts, s.With, s.Without = []string{r.Part}, l.out.Mode, r.Mode
		if added := steps[r.Part]; added != nil {
			interactions = append(interactions, interaction{len(out.Removals), readings.Differences(added, saved)})
		}
		out.Removals = append(out.Removals, s)
	}
	interact(out.Removals, interactions)
	return out, len(out.Steps) > 0
}

// step has the cost of differences, also as a share of the baseline.
func (l *costByParts) step(d, base []readings.Reading) result.PartCost {
	var s result.PartCost
	if s.Cost = verdict.Amount(d); s.Cost == nil {
		return s
	}
	if share := verdict.Amount(readings.Ratios(d, base)); share != nil {
		s.Share, s.ShareCI = &share.Value, share.CI
	}
	return s
}

// interaction is what a part costs as a step minus what removing it saves, by block.
type interaction struct {
	removal int
	values  []readings.Reading
}

// interact records the interactions that are not zero.
func interact(removals []result.PartCost, all []interaction) {
	var ps []float64
	for _, a := range all {
		ps = append(ps, stats.MeanZeroPBySetup(readings.Plain(a.values), readings.SetupsOf(a.values)))
	}
	for i, p := range stats.Holm(ps) {
		if p < 1-readings.Confidence {
			removals[all[i].removal].Interaction = verdict.Amount(all[i].values)
		}
	}
}

// judge fills in ratios and verdicts, and compares CPU costs with the samples.
func (l *costByParts) judge() {
	var asked []verdict.ComparisonRequest
	for _, c := range l.out.Costs {
		for _, s := range slices.Concat(c.Steps, c.Removals) {
			pair := verdict.ComparisonRequest{ID: s.With + " " + s.Without, A: []string{s.With}, B: []string{s.Without}}
			if !slices.ContainsFunc(asked, func(a verdict.ComparisonRequest) bool { return a.ID == pair.ID }) {
				asked = append(asked, pair)
			}
		}
	}
	compared := verdict.Comparisons(l.in, nil, asked)
	for i := range l.out.Costs {
		c := &l.out.Costs[i]
		for _, steps := range [][]result.PartCost{c.Steps, c.Removals} {
			for j := range steps {
				s := &steps[j]
				k := slices.IndexFunc(compared, func(o result.Comparison) bool {
					return o.A.ID == s.With && o.B.ID == s.Without && o.A.Workload == c.Workload && o.Metric == c.Metric
				})
				if k >= 0 {
					s.Ratio, s.RatioCI, s.Verdict = compared[k].Ratio, compared[k].RatioCI, compared[k].Verdict
				}
				l.holdAgainstSamples(c, s)
			}
		}
	}
}

// componentsOf are the components of sampled CPU time in which a part shows, none if no
// component belongs to it alone.
func componentsOf(part string) []string {
	switch part {
	case "namespace":
		return []string{"veth", "softirq and device core"}
	case "bridge":
		return []string{"bridge"}
	case "conntrack", "filter", "masquerade", "dnat", "engine_chains", "resolver_rules", "bridge_nf":
		return []string{"netfilter"}
	case "tunnel":
		return []string{"VXLAN", "other tunnel"}
	case "proxy", "process":
		return []string{"userspace proxy", "tun/tap", "copy"}
	case "seccomp":
		return []string{"syscall entry"}
	case "encryption":
		return []string{"crypto"}
	}
	return nil
}

// holdAgainstSamples compares what a step costs in CPU time with the samples: if it is shown
// to cost, one of the components of its parts must have grown.
func (l *costByParts) holdAgainstSamples(c *result.PartCosts, s *result.PartCost) {
	var components []string
	for _, p := range s.Parts {
		own := componentsOf(p)
		if own == nil {
			return
		}
		components = append(components, own...)
	}
	with, has := l.sampled(s.With, c, components)
	without, had := l.sampled(s.Without, c, components)
	if !has || !had {
		return
	}
	grown := with - without
	s.Sampled = &grown
	if s.Verdict == result.Worse && grown <= 0 {
		s.Contradicts = "the samples show no more time in " + strings.Join(components, ", ")
	}
}

// sampled is the cost of components of a mode, from its samples. known is false if the
// breakdown has no costs in the unit of c.
func (l *costByParts) sampled(mode string, c *result.PartCosts, components []string) (sum float64, known bool) {
	for _, b := range l.breakdowns {
		if b.Mode != mode || b.Workload != c.Workload || b.Unit != c.Unit {
			continue
		}
		for _, part := range b.Components {
			if slices.Contains(components, part.Name) && part.Cost != nil {
				sum, known = sum+*part.Cost, true
			}
		}
	}
	return sum, known
}
