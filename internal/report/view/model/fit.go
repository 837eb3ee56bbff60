package model

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/view/piece"
	"tare/internal/result"
)

// together merges facts that are the same on all hosts: "engine 20.10" for "a engine 20.10"
// and "b engine 20.10".
func together(fs []result.Fact, hosts []result.Host) []result.Fact {
	var out []result.Fact
	for _, f := range fs {
		short, everywhere := f, len(hosts) > 1
		for _, h := range hosts {
			if name, ok := strings.CutPrefix(f.Name, h.Name+" "); ok {
				short.Name = name
			}
		}
		for _, h := range hosts {
			there := f
			there.Name = h.Name + " " + short.Name
			everywhere = everywhere && slices.Contains(fs, there)
		}
		if !everywhere {
			short = f
		}
		if !slices.Contains(out, short) {
			out = append(out, short)
		}
	}
	return out
}

// FitClaims returns claims without values of modes that were not measured, and without values that are
// no numbers. A claim whose values are left out cannot be told.
func FitClaims(claims []result.Claim, scenarios []result.Scenario, unfit map[string]bool) []result.Claim {
	if len(claims) == 0 {
		return nil
	}
	modes := map[string]string{}
	for _, s := range scenarios {
		modes[s.ID] = s.Mode
	}
	missing := func(name string) bool { return unfit[name] || unfit[modes[name]] }
	return piece.Each(claims, func(c result.Claim) result.Claim {
		c.PublishedValue, c.PublishedCI = numbers(c.PublishedValue, c.PublishedCI)
		c.Value, c.CI = numbers(c.Value, c.CI)
		c.Points = piece.Each(c.Points, func(p result.ClaimPoint) result.ClaimPoint {
			p.Value, p.CI = numbers(p.Value, p.CI)
			return p
		})
		i := slices.IndexFunc(slices.Concat(c.Of, c.Over), missing)
		if i < 0 {
			return c
		}
		c.Value, c.CI, c.Points = nil, nil, nil
		if c.Outcome != result.ClaimCannotTell {
			c.Outcome, c.Reason = result.ClaimCannotTell, slices.Concat(c.Of, c.Over)[i]+" was not measured"
		}
		return c
	})
}

// numbers leaves out what is no number.
func numbers(v *float64, ci *result.Interval) (*float64, *result.Interval) {
	if !piece.Finite(v) {
		return nil, nil
	}
	if ci != nil && (!piece.Finite(&ci[0]) || !piece.Finite(&ci[1])) {
		ci = nil
	}
	return v, ci
}

// fitCrossings returns the curves without crossings of modes that were not measured and
// without those that cannot be drawn.
func fitCrossings(all []result.Concurrency, unfit map[string]bool) []result.Concurrency {
	return piece.Each(all, func(c result.Concurrency) result.Concurrency {
		c.Crossings = slices.DeleteFunc(slices.Clone(c.Crossings), func(x result.Crossing) bool {
			for _, v := range []float64{x.At, x.CI[0], x.CI[1], x.Below.Ratio, x.Above.Ratio} {
				if !(v > 0) || math.IsInf(v, 1) {
					return true
				}
			}
			return unfit[x.A] || unfit[x.B]
		})
		return c
	})
}

// fit returns the items of modes that were measured.
func fit[T any](of []T, unfit map[string]bool, mode func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(of), func(x T) bool { return unfit[mode(x)] })
}

// withoutUnfit removes the values from the trials of modes that were not measured. It copies
// the trials only if there are any, because there may be many.
func withoutUnfit(trials []result.Trial, unfit map[string]bool) []result.Trial {
	copied := false
	for i := range trials {
		if !unfit[trials[i].Mode] {
			continue
		}
		if !copied {
			trials, copied = slices.Clone(trials), true
		}
		t := &trials[i]
		t.Metrics, t.Search, t.Steps = nil, nil, nil
	}
	return trials
}

// withoutFigures is a comparison without values.
func withoutFigures(c result.Comparison) result.Comparison {
	var side func(s result.Side) result.Side
	side = func(s result.Side) result.Side {
		bare := result.Side{ID: s.ID, Mode: s.Mode, Workload: s.Workload}
		if len(s.Of) > 0 {
			bare.Of = piece.Each(s.Of, side)
		}
		return bare
	}
	return result.Comparison{ID: c.ID, Title: c.Title, A: side(c.A), B: side(c.B), Reason: c.Reason}
}

// fitCosts returns costs by parts without the costs of modes that were not measured, and without
// amounts that are no numbers.
func fitCosts(l *result.CostByParts, unfit map[string]bool) *result.CostByParts {
	if l == nil || unfit[l.Mode] || unfit[l.Baseline] {
		return nil
	}
	number := func(a *result.Amount) *result.Amount {
		if a == nil || !piece.Finite(&a.Value) || a.CI != nil && !(piece.Finite(&a.CI[0]) && piece.Finite(&a.CI[1])) {
			return nil
		}
		return a
	}
	steps := func(all []result.PartCost) []result.PartCost {
		all = slices.DeleteFunc(slices.Clone(all), func(s result.PartCost) bool { return unfit[s.With] || unfit[s.Without] })
		for i := range all {
			all[i].Cost, all[i].Interaction = number(all[i].Cost), number(all[i].Interaction)
			if !piece.Finite(all[i].Share) {
				all[i].Share = nil
			}
		}
		return all
	}
	out := *l
	out.Costs = slices.Clone(l.Costs)
	for i, c := range out.Costs {
		c.Baseline, c.Whole, c.Steps, c.Removals = number(c.Baseline), number(c.Whole), steps(c.Steps), steps(c.Removals)
		out.Costs[i] = c
	}
	return &out
}

// cleanRanking is a ranking without the modes that were not measured, and with letters only
// where letters belong, each mode with each of them once.
func cleanRanking(r result.Ranking, unfit map[string]bool) result.Ranking {
	r.Modes = fit(r.Modes, unfit, func(m result.Ranked) string { return m.Mode })
	for i := range r.Modes {
		var letters []byte
		for _, l := range []byte(r.Modes[i].Letters) {
			if ('a' <= l && l <= 'z' || 'A' <= l && l <= 'Z') && !slices.Contains(letters, l) {
				letters = append(letters, l)
			}
		}
		r.Modes[i].Letters = string(letters)
	}
	r.Unranked = slices.DeleteFunc(slices.Clone(r.Unranked), func(m result.Unranked) bool { return m.Mode == "" })
	return r
}
