package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ClopperPearson is the exact interval of a proportion of which k of n trials were
// seen (Clopper, Pearson, Biometrika 26, 1934), from quantiles of the beta
// distribution, with a = (1-conf)/2:
//
//	lo = B(a; k, n-k+1)      0 for k = 0
//	hi = B(1-a; k+1, n-k)    1 for k = n
//
// It covers at least conf, often more. ok is false unless 0 <= k <= n, n >= 1 and
// 0 < conf < 1.
func ClopperPearson(k, n int, conf float64) (lo, hi float64, ok bool) {
	if k < 0 || n < 1 || k > n || !(conf > 0 && conf < 1) {
		return 0, 0, false
	}
	a := (1 - conf) / 2
	if k > 0 {
		lo = BetaQuantile(a, float64(k), float64(n-k+1))
	}
	return lo, atMost(k, n, a), true
}

// ClopperPearsonUpper is the exact one-sided upper limit of a proportion of which
// k of n were seen: with confidence conf it is lower than this. For none of n it is
// 1 - (1-conf)^(1/n), a little below 3/n at 95 %: none of 21 is "less than 13 %".
// ok is false as for [ClopperPearson].
func ClopperPearsonUpper(k, n int, conf float64) (hi float64, ok bool) {
	if k < 0 || n < 1 || k > n || !(conf > 0 && conf < 1) {
		return 0, false
	}
	return atMost(k, n, 1-conf), true
}

// addSaturating is the proportion at which k or fewer of n have probability a.
func atMost(k, n int, a float64) float64 {
	switch k {
	case n:
		return 1
	case 0:
		return -math.Expm1(math.Log(a) / float64(n))
	}
	// The lower tail of the mirrored beta: 1-a would lose digits.
	return 1 - BetaQuantile(a, float64(n-k), float64(k+1))
}

// BetaQuantile is the value below which a beta variable with shapes a and b lies
// with probability p. It returns NaN unless 0 < p < 1 and both shapes are positive
// and finite. It is gonum's: checked against closed forms and its own inverse it is good
// to 7 digits for p from 1e-6 to 1-1e-6 and shapes from 0.5 to 1e4; further out in the
// tails, gonum loses digits without a word.
func BetaQuantile(p, a, b float64) float64 {
	if !(p > 0 && p < 1) || !shape(a) || !shape(b) {
		return math.NaN()
	}
	return distuv.Beta{Alpha: a, Beta: b}.Quantile(p)
}

func shape(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
