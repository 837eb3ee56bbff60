package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// The quantiles here are gonum's. Checked against closed forms and their own
// inverse they are good to 7 digits for p from 1e-6 to 1-1e-6 and parameters from
// 0.5 to 1e4; further out in the tails, gonum loses digits without a word.

// FQuantile is the value below which an F variable with d1 and d2 degrees of
// freedom lies with probability p (Snedecor 1934). It returns NaN unless
// 0 < p < 1 and both degrees of freedom are positive and finite.
func FQuantile(p, d1, d2 float64) float64 {
	if !(p > 0 && p < 1) || !shape(d1) || !shape(d2) {
		return math.NaN()
	}
	if p > 0.5 { // the upper tail from the lower one of 1/F, which keeps its digits
		return 1 / distuv.F{D1: d2, D2: d1}.Quantile(1-p)
	}
	return distuv.F{D1: d1, D2: d2}.Quantile(p)
}

// BetaQuantile is the value below which a beta variable with shapes a and b lies
// with probability p. It returns NaN unless 0 < p < 1 and both shapes are positive
// and finite.
func BetaQuantile(p, a, b float64) float64 {
	if !(p > 0 && p < 1) || !shape(a) || !shape(b) {
		return math.NaN()
	}
	return distuv.Beta{Alpha: a, Beta: b}.Quantile(p)
}

func shape(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// BinomialCDF is the probability of at most k successes in n independent trials
// that succeed with probability q each: 0 below 0 successes, 1 from n on. It
// returns NaN unless n >= 0 and 0 <= q <= 1.
func BinomialCDF(k, n int, q float64) float64 {
	switch {
	case n < 0 || !(q >= 0 && q <= 1):
		return math.NaN()
	case k < 0:
		return 0
	case k >= n || q == 0:
		return 1
	case q == 1:
		return 0
	}
	return distuv.Binomial{N: float64(n), P: q}.CDF(float64(k))
}

// BinomialQuantile is the smallest k with BinomialCDF(k, n, q) >= p. It returns -1
// unless 0 < p < 1, n >= 0 and 0 <= q <= 1.
func BinomialQuantile(p float64, n int, q float64) int {
	if !(p > 0 && p < 1) || n < 0 || !(q >= 0 && q <= 1) {
		return -1
	}
	return sort.Search(n, func(k int) bool { return BinomialCDF(k, n, q) >= p })
}
