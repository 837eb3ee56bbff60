package verdict

import (
	"math"
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
)

// leastCrossingBlocks is the minimum number of blocks of a crossing, as of any verdict.
const leastCrossingBlocks = 3

// Crossings is a workload at several numbers of flows or streams, with the crossings of its
// modes in its primary metric. ok is false if no trial has a value of such a metric.
//
// Of each two modes, controls left out, it takes the blocks in which both have a value at
// every number. Two modes differ at a number if the paired t test of their log ratio has a
// p below 0.05 after Holm's correction over all numbers and pairs of modes. They cross
// between two numbers at which they differ in opposite directions. Between these, the log
// ratio of each block is interpolated linearly in the logarithm of the number: the crossing
// is where its mean is 0, and its interval covers where a t interval of the mean has 0. If
// the mean is 0 at several places, the crossing is as far from the lower number as the mean
// has the sign that it has there.
//
// A noisy run has no crossings, nor have fewer than three blocks.
func Crossings(in Input, of plan.Concurrency) (found result.Concurrency, ok bool) {
	if in.Metrics == nil {
		in.Metrics = result.MetricsOf(in.Trials)
	}
	tab := readings.Tabulate(in.Modes, of.Names, in.Trials)
	for _, m := range in.Metrics {
		if !m.Primary || !anyValue(tab, in.Modes, of.Names, m.Name) {
			continue
		}
		found = result.Concurrency{Workload: of.Workload, Key: of.Key, Metric: m.Name}
		for i, n := range of.Counts {
			found.Steps = append(found.Steps, result.ConcurrencyStep{Count: n, Workload: of.Names[i]})
		}
		if in.Rule.NoisyOf(of.Names...) == "" {
			found.Crossings = crossingsOf(duelsOf(tab, in.Modes, of, m))
		}
		return found, true
	}
	return found, false
}

func anyValue(t readings.Columns, modes []result.Mode, workloads []string, metric string) bool {
	return slices.ContainsFunc(modes, func(m result.Mode) bool {
		return slices.ContainsFunc(workloads, func(w string) bool { return len(t.Values(m.ID, w, metric)) > 0 })
	})
}

// duel is two modes at the numbers at which both were measured: their log ratio in each
// block, positive where A is better.
type duel struct {
	a, b    string
	counts  []int
	unknown []bool      // by number: both values are lower bounds
	logs    [][]float64 // by number, then block
	setups  []int       // of the blocks, as of [stats.PairedBySetup]
	higher  bool        // the metric is better if higher
}

// duelsOf are all pairs of modes with enough blocks.
func duelsOf(t readings.Columns, modes []result.Mode, of plan.Concurrency, m result.Metric) []duel {
	modes = slices.DeleteFunc(slices.Clone(modes), func(m result.Mode) bool { return m.Control })
	var out []duel
	for i, a := range modes {
		for _, b := range modes[i+1:] {
			if d := duelOf(t, a.ID, b.ID, of, m); len(d.counts) >= 2 && len(d.logs[0]) >= leastCrossingBlocks {
				out = append(out, d)
			}
		}
	}
	return out
}

// duelOf leaves out a number at which fewer than half as many blocks have both modes as at
// others: one mode could not be measured there.
func duelOf(t readings.Columns, a, b string, of plan.Concurrency, m result.Metric) duel {
	d := duel{a: a, b: b, higher: m.Better == result.Higher}
	var at [][]readings.Reading // ratios by number, then block
	most := 0
	for _, w := range of.Names {
		own := slices.DeleteFunc(readings.Ratios(t.Values(a, w, m.Name), t.Values(b, w, m.Name)), func(r readings.Reading) bool { return !(r.Value > 0) || !readings.Finite(r.Value) })
		at, most = append(at, own), max(most, len(own))
	}
	blocks := map[int]int{} // how many numbers a block has
	var kept [][]readings.Reading
	for i, own := range at {
		if len(own) == 0 || 2*len(own) < most {
			continue
		}
		for _, r := range own {
			blocks[r.Block]++
		}
		kept, d.counts = append(kept, own), append(d.counts, of.Counts[i])
		d.unknown = append(d.unknown, t.Limited(a, of.Names[i], m) && t.Limited(b, of.Names[i], m))
	}
	for _, own := range kept {
		var logs []float64
		for _, r := range own {
			if blocks[r.Block] == len(kept) {
				logs = append(logs, d.sign()*math.Log(r.Value))
			}
		}
		d.logs = append(d.logs, logs)
	}
	if len(kept) > 0 { // a block has the same set-ups at every number
		for _, r := range kept[0] {
			if blocks[r.Block] == len(kept) {
				d.setups = append(d.setups, r.Setup)
			}
		}
	}
	return d
}

// sign converts a log ratio to one that is positive where A is better, and back.
func (d duel) sign() float64 {
	if d.higher {
		return 1
	}
	return -1
}

// crossingsOf finds the crossings of all pairs, whose tests are corrected together.
func crossingsOf(all []duel) []result.Crossing {
	var ps []float64
	for _, d := range all {
		for _, logs := range d.logs {
			ps = append(ps, stats.MeanZeroPBySetup(logs, d.setups))
		}
	}
	ps = stats.Holm(ps)
	var out []result.Crossing
	for _, d := range all {
		last := -1 // the last number at which the two differ
		for i, logs := range d.logs {
			if !(ps[i] < 0.05) || d.unknown[i] {
				continue
			}
			if last >= 0 && readings.Mean(logs)*readings.Mean(d.logs[last]) < 0 {
				out = append(out, d.crossing(last, i))
			}
			last = i
		}
		ps = ps[len(d.logs):]
	}
	return out
}

// crossing is that between two numbers at which the modes differ in opposite directions.
func (d duel) crossing(from, to int) result.Crossing {
	first := readings.Mean(d.logs[from])
	at := math.Log2(float64(d.counts[from]))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := from; i < to; i++ {
		start, end := math.Log2(float64(d.counts[i])), math.Log2(float64(d.counts[i+1]))
		at += (end - start) * sameSign(first, readings.Mean(d.logs[i]), readings.Mean(d.logs[i+1]))
		for _, u := range undecided(d.logs[i], d.logs[i+1], d.setups) {
			lo, hi = min(lo, start+u*(end-start)), max(hi, start+u*(end-start))
		}
	}
	c := result.Crossing{
		A: d.a, B: d.b, At: math.Exp2(at), CI: result.Interval{math.Exp2(min(lo, at)), math.Exp2(max(hi, at))}, N: len(d.logs[from]),
		Below: d.ratioAt(from), Above: d.ratioAt(to),
	}
	if first < 0 {
		c.A, c.B, c.Below.Ratio, c.Above.Ratio = c.B, c.A, 1/c.Below.Ratio, 1/c.Above.Ratio
	}
	return c
}

func (d duel) ratioAt(i int) result.CrossingRatio {
	return result.CrossingRatio{Count: d.counts[i], Ratio: math.Exp(d.sign() * readings.Mean(d.logs[i]))}
}

// sameSign is the share of a line from one value to another that has the sign of first.
func sameSign(first, from, to float64) float64 {
	from, to = from*first, to*first
	switch {
	case from >= 0 && to >= 0:
		return 1
	case from < 0 && to < 0:
		return 0
	case from >= 0:
		return from / (from - to)
	}
	return to / (to - from)
}

// undecided are the limits of where, on the line from 0 to 1 between two numbers, the mean
// of the blocks' interpolated values d = a + u (b-a) is not shown to differ from 0:
//
//	mean(u)^2 <= t(.975, DF)^2 V(u)    V the squared standard error of the mean, by set-ups where blocks share them
//
// Both sides are quadratic in u.
func undecided(a, b []float64, setups []int) []float64 {
	e := make([]float64, len(a))
	for i := range a {
		e[i] = b[i] - a[i]
	}
	aa, df := stats.MeanCovariance(a, a, setups)
	ae, _ := stats.MeanCovariance(a, e, setups)
	ee, _ := stats.MeanCovariance(e, e, setups)
	t := stats.TQuantile(0.975, df)
	ma, me := readings.Mean(a), readings.Mean(e)
	p, q, r := me*me-t*t*ee, ma*me-t*t*ae, ma*ma-t*t*aa
	var out []float64
	for _, u := range []float64{0, 1} {
		if p*u*u+2*q*u+r <= 0 {
			out = append(out, u)
		}
	}
	if root := q*q - p*r; root >= 0 {
		// The numerically stable form, which also holds for p = 0.
		s := -(q + math.Copysign(math.Sqrt(root), q))
		for _, u := range []float64{s / p, r / s} {
			if u >= 0 && u <= 1 {
				out = append(out, u)
			}
		}
	}
	return out
}
