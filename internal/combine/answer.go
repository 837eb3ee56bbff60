package combine

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/stats"
)

// Combined returns the answer of the runs, under the name of their study.
func (s *Set) Combined(study string) result.Combination {
	out := result.Combination{Study: study, Runs: slices.Clone(s.runs), Margin: s.Margin, Distinct: s.Distinct, Ratios: []result.CombinedRatio{}}
	for _, m := range s.machines {
		out.Machines = append(out.Machines, m.CombinedMachine)
	}
	number(out.Machines)
	var all []combined
	single := map[result.CombinedLeftOut]bool{}
	for _, k := range s.keys {
		of := s.ratios[k]
		if len(of.points) < 2 {
			single[result.CombinedLeftOut{Run: of.points[0].run, Mode: k.mode, Workload: k.workload, Reason: "no other run has it"}] = true
			continue
		}
		all = append(all, s.combine(k, of))
	}
	s.judge(all)
	for _, c := range all {
		out.Ratios = append(out.Ratios, c.CombinedRatio)
	}
	out.LeftOut = slices.Clone(s.leftOut)
	for _, k := range s.keys { // in their order
		l := result.CombinedLeftOut{Run: s.ratios[k].points[0].run, Mode: k.mode, Workload: k.workload, Reason: "no other run has it"}
		if single[l] {
			out.LeftOut = append(out.LeftOut, l)
			delete(single, l)
		}
	}
	return out
}

// number tells machines of one name apart.
func number(machines []result.CombinedMachine) {
	of, at := map[string]int{}, map[string]int{}
	for _, m := range machines {
		of[m.Machine]++
	}
	for i, m := range machines {
		if of[m.Machine] > 1 {
			at[m.Machine]++
			machines[i].Machine = fmt.Sprintf("%s #%d", m.Machine, at[m.Machine])
		}
	}
}

// combined is a combined ratio with what it is judged by.
type combined struct {
	result.CombinedRatio
	mean             stats.LogRatio
	mayRise, mayFall bool
}

// unit is a machine, or a run of the only one.
type unit struct {
	effect stats.LogRatio
	part   result.CombinedPart
}

// combine makes one ratio of those of several runs.
func (s *Set) combine(k key, of *series) combined {
	c := combined{CombinedRatio: result.CombinedRatio{Mode: k.mode, Baseline: k.baseline, Workload: k.workload, Metric: k.metric, Better: of.better, Unit: result.UnitMachine}}
	for _, p := range of.points {
		c.mayRise, c.mayFall = c.mayRise || p.mayRise, c.mayFall || p.mayFall
	}
	c.Time, c.TimeUnit = times(of.points)
	units := s.units(of.points)
	if len(units) == 1 {
		c.Unit, units = result.UnitRun, nil
		for _, p := range of.points {
			units = append(units, unit{p.effect, result.CombinedPart{Machine: s.runs[p.run].Machine, Runs: []int{p.run}}})
		}
	}
	c.N = len(units)
	effects := make([]stats.LogRatio, len(units))
	extra := 0.0 // of the next machine, on which there will be one run
	for i, u := range units {
		effects[i] = u.effect
		se := u.effect.StdErr()
		extra += se * se * float64(len(u.part.Runs)-1) / float64(len(units))
		u.part.Ratio, u.part.RatioCI = u.effect.Ratio(), interval(u.effect)
		c.Units = append(c.Units, u.part)
	}
	r, err := stats.CombineEffects(effects)
	if err != nil {
		return c // every effect has an error, so this is not reached
	}
	c.mean, c.Spread = r.Mean, math.Sqrt(r.Between)
	lo, hi, ok := r.Predict(extra, 0.95)
	lo, hi = math.Exp(lo), math.Exp(hi)
	switch {
	case !ok:
		c.NoNext = fmt.Sprintf("a range takes at least %d %ss: the difference of two is one number, which does not show a spread", stats.MinPairs, c.Unit)
	case c.Unit == result.UnitRun && len(s.machines) > 1:
		c.NoNext = "all runs that have it are of one machine"
	case math.IsInf(hi, 0) || !(lo > 0):
		c.NoNext = "it is too wide to be a range"
	default:
		c.Next, c.NextVerdict = &result.Interval{lo, hi}, s.all(lo, hi, of.better)
	}
	return c
}

// all is what the whole of a range is.
func (s *Set) all(lo, hi float64, better result.Direction) result.Verdict {
	switch {
	case lo >= 1/(1+s.Margin) && hi <= 1+s.Margin:
		return result.Same
	case lo > 1 && better == result.Higher, hi < 1 && better == result.Lower:
		return result.Better
	case lo > 1, hi < 1:
		return result.Worse
	}
	return result.CannotTell
}

// units are the machines of some runs, in the order of their first runs. Several runs of a machine are combined as machines are, so
// that a machine counts once however many runs it has, and its days may differ.
func (s *Set) units(points []point) []unit {
	var out []unit
	var effects [][]stats.LogRatio
	at := map[int]int{}
	for _, p := range points {
		m := s.runs[p.run].Machine
		i, known := at[m]
		if !known {
			i = len(out)
			at[m] = i
			out, effects = append(out, unit{part: result.CombinedPart{Machine: m}}), append(effects, nil)
		}
		out[i].part.Runs, effects[i] = append(out[i].part.Runs, p.run), append(effects[i], p.effect)
	}
	for i := range out {
		out[i].effect = effects[i][0]
		if r, err := stats.CombineEffects(effects[i]); err == nil { // there are two or more
			out[i].effect = r.AsOne()
		}
	}
	return out
}

func interval(l stats.LogRatio) *result.Interval {
	lo, hi, ok := l.Interval(0.95)
	if !ok || math.IsInf(hi, 0) || math.IsNaN(lo) || math.IsNaN(hi) {
		return nil
	}
	return &result.Interval{lo, hi}
}

// times are the lowest and the highest added time, nil if a run has none or another unit.
func times(points []point) (*result.Interval, string) {
	var out *result.Interval
	for _, p := range points {
		switch {
		case p.added == nil || p.added.Unit != points[0].added.Unit:
			return nil, ""
		case out == nil:
			out = &result.Interval{p.added.Value, p.added.Value}
		}
		out[0], out[1] = min(out[0], p.added.Value), max(out[1], p.added.Value)
	}
	return out, points[0].added.Unit
}

// judge judges the means: the modes of one workload and metric as one family.
func (s *Set) judge(all []combined) {
	family := map[[2]string][]int{}
	var order [][2]string
	for i, c := range all {
		f := [2]string{c.Workload, c.Metric}
		if family[f] == nil {
			order = append(order, f)
		}
		family[f] = append(family[f], i)
	}
	for _, f := range order {
		var to []verdict.MeanRatio
		for _, i := range family[f] {
			c := all[i]
			to = append(to, verdict.MeanRatio{Ratio: c.mean, Better: c.Better, MayRise: c.mayRise, MayFall: c.mayFall})
		}
		for n, cell := range verdict.JudgeMeans(to, s.Margin) {
			c := &all[family[f][n]]
			c.Ratio, c.RatioCI, c.P, c.Verdict, c.Needed = cell.Ratio, cell.RatioCI, cell.P, cell.Verdict, cell.BlocksNeeded
		}
	}
}
