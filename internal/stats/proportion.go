package stats

import "math"

// ClopperPearson is the exact interval of a proportion of which k of n trials were seen
// (Clopper, Pearson, Biometrika 26, 1934), from quantiles of the beta distribution, with
// a = (1-conf)/2:
//
//	lo = B(a; k, n-k+1)      0 for k = 0
//	hi = B(1-a; k+1, n-k)    1 for k = n
//
// Its coverage is at least conf, often more. ok is false unless 0 <= k <= n, n >= 1 and 0
// < conf < 1.
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

// ClopperPearsonUpper is the exact one-sided upper limit, at confidence conf, of a
// proportion of which k of n were seen. For none of n it is 1 - (1-conf)^(1/n), slightly
// below 3/n at 95 %: none of 21 is "less than 13 %". ok is false as for [ClopperPearson].
func ClopperPearsonUpper(k, n int, conf float64) (hi float64, ok bool) {
	if k < 0 || n < 1 || k > n || !(conf > 0 && conf < 1) {
		return 0, false
	}
	return atMost(k, n, 1-conf), true
}

// atMost is the proportion at which k or fewer of n have probability a.
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
