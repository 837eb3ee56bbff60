package stats

import "math"

// Counted is how many of the attempts of a cluster failed: attempts that share what made some of them fail, such
// as those of one set-up. 0 <= K <= N.
type Counted struct{ K, N int64 }

// ShareInterval is the share of all attempts that failed, pooled over clusters, with its interval at confidence conf.
//
//	value = sum K / sum N
//
// None of n has the exact one-sided upper limit [ClopperPearsonUpper]. Otherwise two intervals are computed, and each limit is
// the wider: [ClopperPearson], which is exact for independent attempts, and that of the ratio estimator, for which the
// clusters are the replicates (Cochran, Sampling Techniques, 3rd ed., 6.3 and 9A):
//
//	se = sqrt(m/(m-1) sum (K - value N)^2) / sum N    m clusters with attempts, t with m-1 degrees of freedom
//	lo = value - t se,  hi = value exp(t se / value)
//
// hi is on the log scale, where it is higher, because shares of clusters are skewed to the right: few clusters rarely contain the
// worst. Failures come in bursts, and then independent attempts would have a far narrower interval. A single cluster, or failures in one
// of few, say nothing of others: then the interval holds for what was seen. ok is false without
// attempts, for impossible counts, and unless 0 < conf < 1.
func ShareInterval(clusters []Counted, conf float64) (value, lo, hi float64, ok bool) {
	var k, n int64
	m := 0
	for _, c := range clusters {
		if c.K < 0 || c.K > c.N || n > math.MaxInt64-c.N {
			return 0, 0, 0, false
		}
		k, n = k+c.K, n+c.N
		if c.N > 0 {
			m++
		}
	}
	if n < 1 || !(conf > 0 && conf < 1) {
		return 0, 0, 0, false
	}
	if k == 0 {
		hi, ok = ClopperPearsonUpper(0, int(n), conf)
		return 0, 0, hi, ok
	}
	value = float64(k) / float64(n)
	if lo, hi, ok = ClopperPearson(int(k), int(n), conf); !ok || m < 2 {
		return value, lo, hi, ok
	}
	var squares float64
	for _, c := range clusters {
		d := float64(c.K) - value*float64(c.N)
		squares += d * d
	}
	half := TQuantile((1+conf)/2, float64(m-1)) * math.Sqrt(squares*float64(m)/float64(m-1)) / float64(n)
	return value, max(0, min(lo, value-half)), min(1, max(hi, value*math.Exp(half/value))), true
}
