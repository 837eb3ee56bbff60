package stats

import (
	"math"
	"slices"
)

// SignFlipMax is the most differences that SignFlip takes.
const SignFlipMax = 30

// SignFlip is the exact two-sided p value of the sign-flip permutation test
// (Fisher, The Design of Experiments, 1935) of paired differences, such as the d_i
// of [Differences]: the share of all 2^n ways to choose their signs for which the
// sum is at least as far from 0 as the one seen. It assumes only that a difference
// is as likely the other way round if nothing differs; nothing about its size.
//
// The smallest p is 2/2^n: below 5 % only from n = 6 on (2/64), and with Holm over
// five comparisons from n = 8 on (2/256). Zeros count as differences. Sums that
// differ by rounding alone are taken for equal. It returns NaN, which [Holm] passes
// over, for no differences, more than SignFlipMax (by then the t test needs no
// help), or one that is not finite.
//
// All sums of one half of the differences meet all sums of the other, in order of
// size: 2^(n/2) log 2^(n/2) steps.
func SignFlip(ds []float64) float64 {
	if len(ds) > SignFlipMax || check(ds, 0.95) != nil {
		return math.NaN()
	}
	// By the largest, so that no sum overflows; signs and shares do not mind.
	var largest float64
	for _, d := range ds {
		largest = math.Max(largest, math.Abs(d))
	}
	if largest == 0 {
		return 1
	}
	scaled := make([]float64, len(ds))
	var seen float64
	for i, d := range ds {
		scaled[i] = d / largest
		seen += scaled[i]
	}
	least := math.Abs(seen) - 1e-12*float64(len(ds))
	if least <= 0 {
		return 1
	}
	left, right := signedSums(scaled[:len(ds)/2]), signedSums(scaled[len(ds)/2:])
	slices.Sort(left)
	slices.Sort(right)
	count, j := 0, len(right) // right[j:] reach least together with left[i]
	for _, a := range left {
		for j > 0 && a+right[j-1] >= least {
			j--
		}
		count += len(right) - j
	}
	return math.Min(1, 2*float64(count)/math.Exp2(float64(len(ds))))
}

// signedSums are the sums for every choice of signs.
func signedSums(ds []float64) []float64 {
	sums := make([]float64, 1, 1<<len(ds))
	for _, d := range ds {
		for i := range len(sums) {
			sums = append(sums, sums[i]+d)
			sums[i] -= d
		}
	}
	return sums
}
