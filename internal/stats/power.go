package stats

import (
	"math"
	"sort"
)

// Detectable is the smallest relative difference that this number of blocks with this
// spread would detect in four of five cases (80 % power, two-sided 5 %, one comparison):
//
//	exp((t_{.975, DF} + t_{.80, DF}) SD / sqrt N) - 1
//
// 0.05 is 5 %. The sum of quantiles is the usual approximation to the noncentral t; below
// 5 blocks the true power at this difference deviates a little from 80 %. With Holm over
// several modes the difference detected as often is larger. NaN if N < 2; +Inf where the
// exponential overflows.
func (l LogRatio) Detectable() float64 {
	if l.N < 2 {
		return math.NaN()
	}
	df := l.df()
	f := (TQuantile(0.975, df) + TQuantile(0.80, df)) / math.Sqrt(float64(l.N))
	return math.Expm1(f * l.SD)
}

// MaxBlocksNeeded is the maximum result of BlocksNeeded: a larger estimate only means
// that this method cannot decide.
const MaxBlocksNeeded = 1000

// BlocksNeeded is the number of further blocks after which the result of Decide for
// family[i] would no longer be CannotTell, if every member of the family (the comparisons
// that Holm corrects together) got that many more blocks and kept its Mean and SD. It is
// 0 if Decide already has another result. ok is false if N < 2, or if more than
// MaxBlocksNeeded are needed. It is an estimate from an estimated mean and spread, with
// the right order of magnitude only. i must be an index of family.
func BlocksNeeded(family []LogRatio, i int, margin float64) (blocks int, ok bool) {
	if family[i].N < 2 {
		return 0, false
	}
	ps := make([]float64, len(family))
	// With Mean and SD fixed, intervals and p only shrink as blocks are added, so a
	// result never reverts, and a binary search finds the first.
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

// grown is l after more blocks that change neither Mean nor SD. A single block has no SD
// and stays unchanged. Explicit degrees of freedom grow with N-1, as Welch's do if both
// sides have N values.
func (l LogRatio) grown(more int) LogRatio {
	if l.N >= 2 {
		l.DF *= float64(l.N+more-1) / float64(l.N-1)
		l.N += more
	}
	return l
}
