package stats

import (
	"cmp"
	"math"
	"slices"
)

// Answer is the result of a comparison with the baseline.
type Answer int

// The results. The zero Answer is CannotTell: nothing is claimed by default.
const (
	CannotTell Answer = iota // neither a difference nor equivalence is shown
	Different                // a difference, and it may exceed the margin
	Small                    // a difference, and it is within the margin
	Same                     // equivalent within the margin, no difference shown
)

// MinPairs is the minimum number of blocks for a result. The t interval would be valid
// for two if noise were exactly log-normal, but then the spread is the difference of two
// numbers, and two counts or link-limited rates that happen to be equal would prove
// anything.
const MinPairs = 3

// Decide combines a test of difference with a test of equivalence, each at 5 %:
//
//	95 % interval excludes 1      90 % interval inside
//	and holmP < .05               [1/(1+margin), 1+margin]
//	yes                           no                         Different
//	yes                           yes                        Small
//	no                            yes                        Same
//	no                            no                         CannotTell
//
// holmP is l's p value adjusted over its family ([Holm]); a NaN shows nothing. If the
// plain interval excludes 1 but holmP is not below .05, the interval counts as including
// 1. margin is relative, 0.05 for 5 %, and at least 0. Below three blocks the result is
// CannotTell.
func Decide(l LogRatio, holmP, margin float64) Answer {
	if l.N < MinPairs {
		return CannotTell
	}
	differs := l.P() < 0.05 && holmP < 0.05 // the former: the 95 % interval excludes 1
	within := l.Equivalent(margin)
	switch {
	case differs && within:
		return Small
	case differs:
		return Different
	case within:
		return Same
	}
	return CannotTell
}

// Holm adjusts the p values of one family of comparisons so that all of those below 5 %
// together are wrong in at most 5 % of families, however the tests depend on each other
// (Holm, Scand. J. Statist. 6, 1979):
//
//	adj_(i) = max_{j<=i} min(1, (m-j+1) p_(j))   for p_(1) <= ... <= p_(m)
//
// The result is in the order of ps, which is not modified. A NaN means that a test was
// not possible: it stays NaN and does not count in m.
func Holm(ps []float64) []float64 {
	adj := slices.Repeat([]float64{math.NaN()}, len(ps))
	order := make([]int, 0, len(ps))
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(len(order)-rank)*ps[i]))
		adj[i] = least
	}
	return adj
}
