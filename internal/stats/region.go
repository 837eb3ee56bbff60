package stats

import (
	"math"
	"sort"
)

// RegionP tests whether a mean lies in the open interval (lo, hi), whose limits are on the scale of
// Mean and may be infinite. In is the p value of what shows that it does, and out of what shows that
// it does not.
//
// With one finite limit both are of the two-sided t test of that limit, so that either is below 5 %
// where the 95 % interval is on that side of it. With two, in is that of two one-sided tests, as
// [LogRatio.EquivalentP], and out the two-sided one of the limit that the mean is beyond. Without
// spread p is 0 or 1. Both are NaN if N < 2, and without any limit in is 0.
func (l LogRatio) RegionP(lo, hi float64) (in, out float64) {
	if l.N < 2 {
		return math.NaN(), math.NaN()
	}
	low, high := math.IsInf(lo, -1), math.IsInf(hi, 1)
	above, below := l.aboveP(lo), l.belowP(hi)
	switch {
	case low && high:
		return 0, 1
	case low:
		return min(1, 2*below), min(1, 2*l.aboveP(hi))
	case high:
		return min(1, 2*above), min(1, 2*l.belowP(lo))
	}
	return max(above, below), min(1, 2*min(l.belowP(lo), l.aboveP(hi)))
}

// aboveP is the p value of the one-sided test that shows Mean to be above a limit.
func (l LogRatio) aboveP(limit float64) float64 { return l.oneSidedP(l.Mean - limit) }

// belowP is that of the test that shows it to be below.
func (l LogRatio) belowP(limit float64) float64 { return l.oneSidedP(limit - l.Mean) }

// oneSidedP is the p value of the test that shows a distance to be positive.
func (l LogRatio) oneSidedP(distance float64) float64 {
	if l.SD == 0 {
		if distance > 0 {
			return 0
		}
		return 1
	}
	p := TTwoSidedP(l.inErrors(distance), l.df()) / 2
	if distance < 0 {
		return 1 - p
	}
	return p
}

// BlocksUntil is the number of further blocks, at most [MaxBlocksNeeded], after which decided holds,
// if they change neither Mean nor SD; -1 if it does not hold then. Decided must not revert as blocks
// are added.
func (l LogRatio) BlocksUntil(decided func(LogRatio) bool) int {
	n := sort.Search(MaxBlocksNeeded+1, func(more int) bool { return decided(l.grown(more)) })
	if n > MaxBlocksNeeded {
		return -1
	}
	return n
}
