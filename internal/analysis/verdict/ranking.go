package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// mostRanked is how many modes are compared with each other: 1225 pairs for each workload and
// metric. The work grows with the square of the modes, and with more pairs Holm's correction
// leaves little to find.
const mostRanked = 50

// Rankings orders the modes of a family, those with the same baseline as one ranking. A mode
// that others are compared with is in none, because the verdicts are the comparisons with
// it, corrected as fewer. A maximum has no ranking, nor has a noisy run, nor has a group of
// two modes, which is one comparison.
func (f *Family) Rankings() (out []result.Ranking) {
	if Uncompared(f.metric.Name) || f.rule.Noisy != "" {
		return nil
	}
	bases := map[string]bool{}
	for _, c := range f.cells {
		bases[c.Baseline] = true
	}
	var order []string
	groups := map[string][]int{}
	for i, c := range f.cells {
		if f.at[c.Mode] != i || f.control[i] || bases[c.Mode] {
			continue
		}
		if groups[c.Baseline] == nil {
			order = append(order, c.Baseline)
		}
		groups[c.Baseline] = append(groups[c.Baseline], i)
	}
	for _, base := range order {
		if members := groups[base]; len(members) > 2 {
			out = append(out, f.ranking(base, members))
		}
	}
	return out
}

// ranking orders cells of a family that have one baseline.
func (f *Family) ranking(base string, members []int) result.Ranking {
	first := f.cells[members[0]]
	r := result.Ranking{Workload: first.Workload, Metric: first.Metric, Unit: first.Unit, Better: first.Better, Baseline: base, Modes: []result.Ranked{}}
	if len(members) > mostRanked {
		r.Reason = fmt.Sprintf("%d modes are too many to compare each with each other: at most %d are", len(members), mostRanked)
		return r
	}
	fit := slices.DeleteFunc(slices.Clone(members), func(i int) bool {
		why := f.unfit(i)
		if why != "" {
			r.Unranked = append(r.Unranked, result.Unranked{Mode: f.cells[i].Mode, Reason: why})
		}
		return why != ""
	})
	slices.SortStableFunc(fit, func(i, j int) int {
		if f.metric.Better == result.Lower {
			i, j = j, i
		}
		return cmp.Compare(*f.cells[j].Value, *f.cells[i].Value)
	})
	p := f.pairs(fit)
	for _, at := range p.withoutRatio() {
		r.Unranked = append(r.Unranked, result.Unranked{Mode: f.cells[p.modes[at]].Mode, Reason: f.noRatio()})
		p.remove(at)
	}
	if len(p.modes) < 3 {
		r.Reason = noOrder(len(members), r.Unranked)
		return r
	}
	differ := p.differ()
	letters := lettersOf(differ)
	for at, i := range p.modes {
		c := f.cells[i]
		r.Modes = append(r.Modes, result.Ranked{Mode: c.Mode, N: len(f.values[i]), Value: c.Value, CI: c.CI, Median: Known(stats.Median(readings.Plain(f.values[i]))), Letters: letters[at]})
		for _, d := range differ[at] {
			if d {
				r.Apart++
			}
		}
	}
	r.Pairs = p.count()
	r.Detectable = Known(p.detectable())
	return r
}

// unfit says why a cell can be in no ranking, empty if it can.
func (f *Family) unfit(i int) string {
	own := f.values[i]
	switch {
	case len(own) == 1:
		return "1 value, which shows no spread"
	case len(own) < stats.MinPairs:
		return fmt.Sprintf("%d values, fewer than %d", len(own), stats.MinPairs)
	case slices.ContainsFunc(own, func(r readings.Reading) bool { return r.Value == 0 }):
		return "a value of 0, which has no ratio"
	case f.cells[i].Value == nil:
		return "a mean that is not a finite number"
	}
	return ""
}

// noRatio says why a mode that has enough values cannot be compared with each other one.
func (f *Family) noRatio() string {
	if f.rule.Pairing == PairNone {
		return "a ratio to another mode that is not a finite number"
	}
	return fmt.Sprintf("fewer than %d blocks in common with another mode", stats.MinPairs)
}

// noOrder says why fewer than three of so many modes are ranked.
func noOrder(modes int, unranked []result.Unranked) string {
	why := unranked[0].Reason
	if len(unranked) < modes || slices.ContainsFunc(unranked, func(m result.Unranked) bool { return m.Reason != why }) {
		return fmt.Sprintf("fewer than 3 of the %d modes can be compared with each other", modes)
	}
	return fmt.Sprintf("each of the %d modes has %s", modes, why)
}

// pairs are all comparisons of modes with each other.
type pairs struct {
	modes  []int // in order
	ratios [][]stats.LogRatio
	known  [][]bool // of i < j
}

// pairs compares each of these cells with each after it.
func (f *Family) pairs(modes []int) pairs {
	p := pairs{modes: modes, ratios: make([][]stats.LogRatio, len(modes)), known: make([][]bool, len(modes))}
	for i := range modes {
		p.ratios[i], p.known[i] = make([]stats.LogRatio, len(modes)), make([]bool, len(modes))
		for j := i + 1; j < len(modes); j++ {
			l, ok := LogRatio(f.values[modes[i]], f.values[modes[j]], f.rule.Pairing)
			p.ratios[i][j], p.known[i][j] = l, ok && l.N >= stats.MinPairs
		}
	}
	return p
}

// withoutRatio are the modes to leave out so that every pair has a ratio, from the last one
// to the first: always the one that lacks most, and of several the last.
func (p pairs) withoutRatio() (out []int) {
	gone := make([]bool, len(p.modes))
	lacks := func(at int) (n int) {
		for other := range p.modes {
			if other != at && !gone[other] && !p.known[min(at, other)][max(at, other)] {
				n++
			}
		}
		return n
	}
	for {
		worst, most := -1, 1
		for at := range p.modes {
			if n := lacks(at); n >= most && !gone[at] {
				worst, most = at, n
			}
		}
		if worst < 0 {
			slices.Sort(out)
			slices.Reverse(out)
			return out
		}
		gone[worst] = true
		out = append(out, worst)
	}
}

// remove leaves out a mode.
func (p *pairs) remove(at int) {
	p.modes = slices.Delete(slices.Clone(p.modes), at, at+1)
	p.ratios, p.known = slices.Delete(p.ratios, at, at+1), slices.Delete(p.known, at, at+1)
	for i := range p.modes {
		p.ratios[i], p.known[i] = slices.Delete(p.ratios[i], at, at+1), slices.Delete(p.known[i], at, at+1)
	}
}

// count is the number of pairs.
func (p pairs) count() int { return len(p.modes) * (len(p.modes) - 1) / 2 }

// differ says of each mode and each after it whether their ratio is shown not to be 1, with
// Holm's correction over all pairs.
func (p pairs) differ() [][]bool {
	var ps []float64
	for i := range p.modes {
		for j := i + 1; j < len(p.modes); j++ {
			ps = append(ps, p.ratios[i][j].P())
		}
	}
	ps = stats.Holm(ps)
	out := make([][]bool, len(p.modes))
	for i := range p.modes {
		out[i] = make([]bool, len(p.modes))
		for j := i + 1; j < len(p.modes); j++ {
			// Without a margin nothing is small: what differs is Different.
			out[i][j] = stats.Decide(p.ratios[i][j], ps[0], 0) == stats.Different
			ps = ps[1:]
		}
	}
	return out
}

// detectable is the smallest difference that the pair with the median standard error would
// show in four of five cases.
func (p pairs) detectable() float64 {
	all := make([]stats.LogRatio, 0, p.count())
	for i := range p.modes {
		all = append(all, p.ratios[i][i+1:]...)
	}
	slices.SortStableFunc(all, func(a, b stats.LogRatio) int {
		return cmp.Compare(a.SD/math.Sqrt(float64(a.N)), b.SD/math.Sqrt(float64(b.N)))
	})
	return all[len(all)/2].DetectableAmong(len(all))
}

// lettersOf are the letters of each mode: two have none in common if and only if they differ.
// They are empty if there are not enough letters.
func lettersOf(differ [][]bool) []string {
	out := make([]string, len(differ))
	columns, _ := stats.CompactLetters(len(differ), func(i, j int) bool { return differ[i][j] })
	for k, c := range columns {
		for _, at := range c {
			out[at] += alphabet[k : k+1]
		}
	}
	return out
}

// alphabet has the letters of ties, [stats.MaxLetters] of them.
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
