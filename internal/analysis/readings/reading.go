package readings

import (
	"math"
	"slices"
)

// Reading is one trial's value of one metric, or of what is computed from those of one block. Readings with the
// same setup share a set-up of a mode, by any number.
type Reading struct {
	Block int
	Value float64
	Setup int
}

// Usable says whether a metric can have a value: each is a rate, a time, a count or a share.
func Usable(v float64) bool { return Finite(v) && v >= 0 }

// Plain are the values alone.
func Plain(rs []Reading) []float64 {
	xs := make([]float64, len(rs))
	for i, r := range rs {
		xs[i] = r.Value
	}
	return xs
}

// InBoth are the values of the blocks that both have, and the set-ups that these share.
func InBoth(own, base []Reading) (x, b []float64, setups []int) {
	own, base = Common(own, base)
	return Plain(own), Plain(base), joined(own, base)
}

// Ratios are the ratios of the values in each block that both have.
func Ratios(own, base []Reading) []Reading {
	return combined(own, base, func(own, base float64) float64 { return own / base })
}

// combined computes a value from those of both in each block that both have.
func combined(own, base []Reading, of func(own, base float64) float64) []Reading {
	own, base = Common(own, base)
	setups := joined(own, base)
	out := make([]Reading, len(own))
	for i := range own {
		out[i] = Reading{own[i].Block, of(own[i].Value, base[i].Value), -own[i].Block}
		if setups != nil {
			out[i].Setup = setups[i]
		}
	}
	return out
}

// Common are the readings of the blocks that both have.
func Common(own, base []Reading) (a, b []Reading) {
	if slices.EqualFunc(own, base, func(a, b Reading) bool { return a.Block == b.Block }) {
		return own, base
	}
	for i, j := 0, 0; i < len(own) && j < len(base); {
		switch {
		case own[i].Block < base[j].Block:
			i++
		case own[i].Block > base[j].Block:
			j++
		default:
			a, b = append(a, own[i]), append(b, base[j])
			i, j = i+1, j+1
		}
	}
	return a, b
}

// joined tells for each block of two modes which set-ups it shares with other blocks: blocks have the same number if they
// share a set-up of either mode, directly or through others. A mode that is set up in every block therefore does not
// divide the blocks of one that is not. It is nil if no block shares any.
func joined(own, base []Reading) []int {
	if apart(own) && apart(base) {
		return nil
	}
	group := make([]int, len(own))
	root := func(i int) int {
		for group[i] != i {
			i = group[i]
		}
		return i
	}
	for i := range group {
		group[i] = i
	}
	for _, side := range [][]Reading{own, base} {
		first := map[int]int{}
		for i, r := range side {
			if earlier, known := first[r.Setup]; known {
				group[root(i)] = root(earlier)
			} else {
				first[r.Setup] = i
			}
		}
	}
	out := make([]int, len(own))
	for i := range out {
		out[i] = root(i)
	}
	return out
}

// apart reports that no two readings share a set-up: their numbers only rise, or only fall.
func apart(rs []Reading) bool {
	for i := 1; i < len(rs); i++ {
		if rs[i].Setup == rs[i-1].Setup || (rs[i].Setup > rs[i-1].Setup) != (rs[1].Setup > rs[0].Setup) {
			return false
		}
	}
	return true
}

// SetupsOf are the set-ups of readings, nil if no two share one.
func SetupsOf(rs []Reading) []int {
	if apart(rs) {
		return nil
	}
	out := make([]int, len(rs))
	for i, r := range rs {
		out[i] = r.Setup
	}
	return out
}

// Finite says whether x is a number.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// TimesOf are values of a rate as times: rate is how many of its units are in one unit of the time, such as 1e9 bit in a Gbit. 0 leaves the
// values as they are.
func TimesOf(own []Reading, rate float64) []Reading {
	if rate == 0 {
		return own
	}
	var out []Reading
	for _, r := range own {
		if r.Value > 0 {
			out = append(out, Reading{r.Block, rate / r.Value, r.Setup})
		}
	}
	return out
}

// Differences are those of two modes in each block that both have.
func Differences(with, without []Reading) []Reading {
	return combined(with, without, func(with, without float64) float64 { return with - without })
}

// Mean is the mean, NaN of none.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// Confidence of the intervals of costs.
const Confidence = 0.95
