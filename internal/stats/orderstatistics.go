package stats

import (
	"math"
	"slices"
)

// OrderQuantile is a quantile of a sample: the smallest value that is not below a share q of it. Low and High are the limits of
// its interval, NaN where the sample is too small for one.
type OrderQuantile struct{ Value, Low, High float64 }

// QuantileByOrder is the quantile q, 0 < q < 1, of independent values, with its interval at confidence conf by order
// statistics, which assumes nothing about their distribution (David and Nagaraja, Order Statistics, 3rd ed. 2003, 7.1): the number
// of values up to the quantile is binomial, and each limit is the innermost value that is beyond it with a probability of at most
// (1-conf)/2. The true confidence is conf or more. ok is false without values, and for values that are no numbers.
func QuantileByOrder(values []float64, q, conf float64) (o OrderQuantile, ok bool) {
	n := len(values)
	if n == 0 || !(q > 0 && q < 1) || slices.ContainsFunc(values, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return OrderQuantile{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	tail := (1 - conf) / 2
	at := int(math.Ceil(q * float64(n)))
	o = OrderQuantile{Value: sorted[min(max(at, 1), n)-1], Low: math.NaN(), High: math.NaN()}
	// The r-th smallest is above the quantile if fewer than r values are up to it.
	upTo := 0.0 // the probability of at most k values
	for k := range n {
		upTo += binomialProbability(n, k, q)
		if upTo <= tail {
			o.Low = sorted[k]
		}
		if 1-upTo <= tail {
			o.High = sorted[k] // the (k+1)-th smallest is below it if more than k values are up to it
			break
		}
	}
	return o, true
}

// binomialProbability is the probability of k of n, each with probability p, 0 < p < 1.
func binomialProbability(n, k int, p float64) float64 {
	choose := func(n float64) float64 { l, _ := math.Lgamma(n + 1); return l }
	a, b := float64(n), float64(k)
	return math.Exp(choose(a) - choose(b) - choose(a-b) + b*math.Log(p) + (a-b)*math.Log1p(-p))
}
