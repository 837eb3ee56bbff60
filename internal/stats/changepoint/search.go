package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
)

// search is the state of a search: the series, and its segments so far.
type search struct {
	xs       []float64
	segments []segment // in the order of the series
	// The following are used by best: see there, and 1/i at index i.
	to, first, inverse []float64
}

// segment is a part of the series without a change found within it: n values from index from.
// Split is the number of values before its best split, 0 if it is too short for one, and q the
// statistic there.
type segment struct {
	from, n, split int
	q              float64
}

func newSearch(xs []float64) *search {
	n := len(xs)
	s := &search{xs: xs, to: make([]float64, n), first: make([]float64, n+1), inverse: make([]float64, n+1)}
	for i := range s.inverse {
		s.inverse[i] = 1 / float64(i)
	}
	s.segments = []segment{s.segment(0, n)}
	return s
}

// segment is a part of the series with its best split.
func (s *search) segment(from, n int) segment {
	split, q := s.best(s.xs[from : from+n])
	return segment{from, n, split, q}
}

// divide replaces a segment by its two sides.
func (s *search) divide(i int) {
	seg := s.segments[i]
	s.segments = slices.Replace(s.segments, i, i+1, s.segment(seg.from, seg.split), s.segment(seg.from+seg.split, seg.n-seg.split))
}

// best is the split of values with the largest statistic
//
//	Q = (m n / (m+n)) (2/(m n) B - 2/(m (m-1)) X - 2/(n (n-1)) Y)
//
// of the m values before it and the next n, with every n that there is: B is the sum of the
// distances between the two sides, X and Y those of the pairs within each (Matteson and James,
// equations 2 to 5, for exponent 1). That the second side may end before the values do finds a
// level that is left again. Of equal ones it is the first.
func (s *search) best(xs []float64) (split int, q float64) {
	q = math.Inf(-1)
	// The sums of the distances of the pairs among the values from xs[j] to the last one so
	// far, and, of each number of first values, among these.
	to, first := s.to[:len(xs)], s.first[:len(xs)+1]
	clear(to)
	for last, x := range xs {
		sum := 0.0
		for j := last - 1; j >= 0; j-- {
			sum += math.Abs(x - xs[j])
			to[j] += sum
		}
		first[last+1] = to[0]
		for m := MinSegment; m <= last+1-MinSegment; m++ {
			n := last + 1 - m
			across := to[0] - first[m] - to[m]
			at := 2 * s.inverse[m+n] * (across - float64(n)*s.inverse[m-1]*first[m] - float64(m)*s.inverse[n-1]*to[m])
			if at > q {
				split, q = m, at
			}
		}
	}
	return split, q
}

// test is the permutation test of a split with statistic q: the values of each segment are
// permuted within it, and the best split of all segments is searched again. Its p value is
// (g+1)/(permutations+1), where g permutations have a statistic as large. It stops when p is
// above the level.
func (s *search) test(q, level float64, permutations int, rng *rand.Rand) (p float64, significant bool) {
	// Rounding must not make a permutation that is equal to the series seem smaller.
	q -= 1e-9 * math.Abs(q)
	xs := slices.Clone(s.xs)
	g := 0
	for range permutations {
		for _, seg := range s.segments {
			part := xs[seg.from : seg.from+seg.n]
			rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			if _, drawn := s.best(part); drawn >= q {
				g++
				break
			}
		}
		if p = float64(g+1) / float64(permutations+1); p > level {
			return p, false
		}
	}
	return p, true
}
