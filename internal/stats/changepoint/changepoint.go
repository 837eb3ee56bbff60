// Package changepoint finds where the level of a series changed, by E-divisive (Matteson and
// James, J. Amer. Statist. Assoc. 109, 2014): the split with the largest energy distance
// between its two sides, a permutation test of it, and the same again within the parts. It is
// pure: the permutations are drawn from a seed, so that a series always has the same result.
package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
)

// MinSegment is the minimum number of points between two changes, and before the first and
// after the last one. One or two points that differ from the rest can be outliers.
const MinSegment = 3

// MaxPoints is the maximum number of points that [Find] searches: the last ones. It bounds the
// time of a test, which is proportional to the square of their number for each permutation.
const MaxPoints = 400

// Change is a change of level. At is the index of the first point after it, and P the p value
// of the permutation test that found it.
type Change struct {
	At int
	P  float64
}

// drawn is the number of permutations of a test: 10 per 1/level, so that a p value near the level
// has a relative standard error of 32 %, but no more than 5000 as long as these are 2 per 1/level.
func drawn(level float64) int {
	return int(math.Ceil(max(min(10/level, 5000), 2/level))) - 1
}

// MinLevel is the smallest level at which [Find] tests. It bounds the number of permutations, at
// 40,000.
const MinLevel = 5e-5

// Find returns the changes of level in a series, in ascending order. A series of exchangeable
// values, without any change, has one with a probability of at most level. The same holds for
// one change more than there are, so far as those were found where they are: each is tested
// with the probability level of its own, and the search ends with the first test that finds
// none. The values may have any distribution, but a trend, or values that depend on those
// before them, is a change to it. Values must be finite.
//
// There is none if the series is shorter than [MinPoints] of the level, nor for a level outside
// (0, 1) or below [MinLevel].
func Find(xs []float64, level float64, seed uint64) []Change {
	if !(level > 0 && level < 1) || level < MinLevel || len(xs) < MinPoints(level) {
		return nil
	}
	skipped := max(0, len(xs)-MaxPoints)
	s := newSearch(xs[skipped:])
	permutations := drawn(level)
	rng := rand.New(rand.NewPCG(seed, uint64(len(s.xs))))
	var found []Change
	for {
		best, q := -1, math.Inf(-1)
		for i, seg := range s.segments {
			if seg.split > 0 && seg.q > q {
				best, q = i, seg.q
			}
		}
		if best < 0 {
			break
		}
		p, significant := s.test(q, level, permutations, rng)
		if !significant {
			break
		}
		found = append(found, Change{At: skipped + s.segments[best].from + s.segments[best].split, P: p})
		s.divide(best)
	}
	slices.SortFunc(found, func(a, b Change) int { return a.At - b.At })
	return found
}

// MinPoints is the smallest number of points that [Find] searches at a level. Of the C(n, n/2)
// ways to divide n points into two halves, only the one that was measured and its mirror image
// separate the lower from the higher points: where 2/C(n, n/2) is above the level, two levels,
// however far apart, are no evidence. A change near the end of a series needs more points.
func MinPoints(level float64) int {
	if !(level > 0) {
		return math.MaxInt
	}
	n := 2 * MinSegment
	for ways := 20.0; 2/ways > level; n++ { // ways is C(n, n/2), first C(6, 3)
		ways *= float64(n+1) / float64(n+1-(n+1)/2)
	}
	return n
}
