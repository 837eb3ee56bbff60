package stats

import "math"

// Counted is how many of the attempts of a cluster failed: attempts that share what made some of them fail, such
// as those of one set-up. 0 <= K <= N.
type Counted struct{ K, N int64 }

// ShareInterval is the share of all attempts that failed, pooled over clusters, with its interval at confidence conf.
//
//	value = sum K / sum N
//
// The clusters are the replicates, because failures come in bursts (the ratio estimator, Cochran, Sampling Techniques, 3rd ed., 6.3 and
// 9A), and their shares are skewed to the right, so that few of them rarely contain the worst:
//
//	se = sqrt(m/(m-1) sum (K - value N)^2) / sum N    m clusters with attempts
//	lo = value - t(1-0.6a) se                         a = 1-conf, t with m-1 degrees of freedom
//	hi = value / (1 - t(1-0.4a) se / (2 value))^2     1 where the root is not above 0
//
// hi is on the scale of 1/sqrt(value), on which a variance that rises with the cube of the mean is constant (the power
// transformation of Box and Cox, J. R. Statist. Soc. B 26, 1964). se is at least a quarter of that of independent attempts, so that clusters that are alike
// by chance have an interval.
//
// With fewer than 5 failures for each cluster their spread is hardly known: the limits are then those of [ClopperPearson], which
// are exact for independent attempts and conservative, or of the clusters where these are wider, with hi = value exp(t se / value). None of n has
// the exact one-sided upper limit [ClopperPearsonUpper]. A single cluster, or failures in one of few, say nothing of others: then
// the interval holds for what was seen. ok is false without attempts, for impossible counts, and unless 0 < conf < 1.
//
// Simulated at 95 %, with 4 to 30 clusters of 20 and 100 failures, 94 to 97 % of the intervals hold the share if those of clusters
// are alike or log-normal with a standard deviation of up to 0.7, and 93 to 95 % with one of 1; with 2 failures for each cluster 94 to 100 %.
// With 2 or 3 clusters 94 to 100 %, but 89 % with 2 failures in each of 2 clusters and a standard deviation of 1.
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
	se := math.Sqrt(squares*float64(m)/float64(m-1)) / float64(n)
	t := func(share float64) float64 { return TQuantile(1-share*(1-conf), float64(m-1)) }
	if k < leastFailures*int64(m) {
		return value, max(0, min(lo, value-t(lowerTail)*se)), min(1, max(hi, value*math.Exp(t(upperTail)*se/value))), true
	}
	se = max(se, math.Sqrt(value*(1-value)/float64(n))/4)
	lo, hi = max(0, value-t(lowerTail)*se), 1
	if root := 1 - t(upperTail)*se/(2*value); root > 0 {
		hi = min(1, value/(root*root))
	}
	return value, lo, hi, true
}

const (
	leastFailures = 5 // of each cluster, for their spread to be known
	// The parts of 1-conf on each side: the upper limit of a skewed share is missed more often than the lower one.
	lowerTail, upperTail = 0.6, 0.4
)
