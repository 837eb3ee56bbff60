package stats

import (
	"cmp"
	"math"
	"slices"
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
func (l LogRatio) Detectable() float64 { return l.DetectableAmong(1) }

// DetectableAmong is [LogRatio.Detectable] for one of so many comparisons that [Holm] corrects
// together, none of the others being found: the two-sided level is 5 % / tests.
func (l LogRatio) DetectableAmong(tests int) float64 {
	if l.N < 2 || tests < 1 {
		return math.NaN()
	}
	df := l.df()
	f := (TQuantile(1-0.025/float64(tests), df) + TQuantile(0.80, df)) / math.Sqrt(float64(l.N))
	return math.Expm1(f * l.SD)
}

// MaxBlocksNeeded is the maximum result of BlocksNeeded: a larger estimate only means
// that this method cannot decide.
const MaxBlocksNeeded = 1000

// BlocksNeeded is, for each member of a family (the comparisons that Holm corrects
// together), the number of further blocks after which the result of Decide would no longer
// be CannotTell, if every member got that many more blocks and kept its Mean and SD. It is 0
// if Decide already has another result, and -1 if N < 2 or if more than MaxBlocksNeeded are
// needed. It is an estimate from an estimated mean and spread, with the right order of
// magnitude only.
func BlocksNeeded(family []LogRatio, margin float64) []int {
	significant := holmNeeded(family)
	needed := make([]int, len(family))
	for i, l := range family {
		needed[i] = -1
		if l.N < 2 {
			continue
		}
		// With Mean and SD fixed, intervals and p only shrink as blocks are added, so a
		// result never reverts, and a binary search finds the first.
		blocks := sort.Search(MaxBlocksNeeded+1, func(more int) bool {
			holmP := 1.0
			if more >= significant[i] {
				holmP = 0
			}
			return Decide(l.grown(more), holmP, margin) != CannotTell
		})
		if blocks <= MaxBlocksNeeded {
			needed[i] = blocks
		}
	}
	return needed
}

// holmNeeded is, for each member of a family, the number of further blocks after which its
// adjusted p value is below 5 %, MaxBlocksNeeded+1 if that is never.
func holmNeeded(family []LogRatio) []int {
	h := holmSearch{family: family, needed: make([]int, len(family))}
	var open []int
	for i, l := range family {
		h.needed[i] = MaxBlocksNeeded + 1
		if !math.IsNaN(l.P()) {
			open = append(open, i)
		}
	}
	h.tests = len(open)
	h.between(0, MaxBlocksNeeded+1, 0, open)
	return h.needed
}

// holmSearch finds for all members at once after how many blocks they are below 5 %.
type holmSearch struct {
	family []LogRatio
	needed []int
	tests  int // that are possible
}

// between sets needed for the open members that are below 5 % after a number of blocks from
// least on and before most. A number of others, sure, are already below with fewer than
// least, and the rest is not with any before most. With s members below, another one is too
// if its p times the number of the others is: the order in which they are found does not
// matter.
func (h *holmSearch) between(least, most, sure int, open []int) {
	if len(open) == 0 || least >= most {
		return
	}
	more := (least + most) / 2
	type member struct {
		i int
		p float64
	}
	members := make([]member, len(open))
	for n, i := range open {
		members[n] = member{i, h.family[i].grown(more).P()}
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.p, b.p) })
	below := 0
	for below < len(members) && float64(h.tests-sure-below)*members[below].p < 0.05 {
		below++
	}
	var by, later []int
	for n, o := range members {
		if n < below {
			h.needed[o.i] = more
			by = append(by, o.i)
		} else {
			later = append(later, o.i)
		}
	}
	h.between(least, more, sure, by)
	h.between(more+1, most, sure+below, later)
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
