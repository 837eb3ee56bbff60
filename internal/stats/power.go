package stats

import (
	"math"
	"sort"
)

// Detectable is the smallest relative difference that so many blocks with this
// spread would have found four times out of five (80 % power, two-sided 5 %, one
// comparison):
//
//	exp((t_{.975, DF} + t_{.80, DF}) SD / sqrt N) - 1
//
// 0.05 is 5 %. The sum of quantiles is the usual approximation to the noncentral
// t; below 5 blocks the true power at this difference is a little off 80 %. With
// Holm over several modes the difference found as often is larger. NaN if N < 2;
// +Inf where the exponential overflows.
func (l LogRatio) Detectable() float64 {
	if l.N < 2 {
		return math.NaN()
	}
	df := l.df()
	f := (TQuantile(0.975, df) + TQuantile(0.80, df)) / math.Sqrt(float64(l.N))
	return math.Expm1(f * l.SD)
}

// MaxBlocksNeeded caps the answer of BlocksNeeded: a forecast further away than
// this says no more than "not with this method".
const MaxBlocksNeeded = 1000

// BlocksNeeded is the number of further blocks after which Decide on family[i]
// would say something other than CannotTell, if every member of the family (the
// comparisons that Holm corrects together) got so many more blocks and kept its
// Mean and SD. It is 0 if Decide says so already.
//
// ok is false if N < 2, or if it takes more than MaxBlocksNeeded. It is a
// forecast from an estimated mean and spread: right in size, not in digits.
// i must be an index of family.
func BlocksNeeded(family []LogRatio, i int, margin float64) (blocks int, ok bool) {
	if family[i].N < 2 {
		return 0, false
	}
	ps := make([]float64, len(family))
	// With Mean and SD fixed, intervals and p only shrink as blocks are added, so
	// an answer once reached is kept, and a binary search finds the first.
	blocks = sort.Search(MaxBlocksNeeded+1, func(more int) bool {
		for j, l := range family {
			ps[j] = l.grown(more).P()
		}
		return Decide(family[i].grown(more), Holm(ps)[i], margin) != CannotTell
	})
	if blocks > MaxBlocksNeeded {
		return 0, false
	}
	return blocks, true
}

// grown is l after more blocks that change neither Mean nor SD. A single block
// has no SD to keep and stays as it is. Degrees of freedom of their own grow with
// N-1, as Welch's do where both sides have N values.
func (l LogRatio) grown(more int) LogRatio {
	if l.N >= 2 {
		l.DF *= float64(l.N+more-1) / float64(l.N-1)
		l.N += more
	}
	return l
}
