package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p values of one family of comparisons so that all of those
// below 5 % together are wrong in at most 5 % of families, however the tests
// depend on each other (Holm, Scand. J. Statist. 6, 1979):
//
//	adj_(i) = max_{j<=i} min(1, (m-j+1) p_(j))   for p_(1) <= ... <= p_(m)
//
// The result is in the order of ps, which is left alone. A NaN stands for a test
// that could not be made: it stays NaN and does not count in m.
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
