package stats

import (
	"fmt"
	"math"
	"slices"
)

// OrderInterval is a quantile of some values and an interval whose limits are two
// of these, the First and Last of them in order of size, counted from 1.
type OrderInterval struct {
	Estimate
	First, Last int
	Coverage    float64 // the confidence reached, at least the one asked for
}

// MedianInterval is [QuantileInterval] of the median. At 95 % it takes 6 values:
// then it is from the smallest to the largest and covers 96.875 %.
func MedianInterval(xs []float64, conf float64) (OrderInterval, error) {
	return QuantileInterval(xs, 0.5, conf)
}

// QuantileInterval is the q quantile of a population by order statistics: without
// any assumption but that values are independent and from one continuous
// distribution (David, Nagaraja, Order Statistics, 7.1). With B binomial(n, q),
//
//	P(x_(l) <= quantile <= x_(u)) >= P(l <= B <= u-1)
//
// l is the largest and u the smallest index that leave at most (1-conf)/2 on
// their side. Where even the smallest or the largest value leaves more, there is
// no interval: HasInterval is false, and First, Last and Coverage are 0. Value is
// the sample quantile by linear interpolation (Hyndman, Fan 1996, type 7). xs is
// left alone. Errors: no values, a value that is not finite, q or conf not within
// (0, 1).
func QuantileInterval(xs []float64, q, conf float64) (OrderInterval, error) {
	err := check(xs, conf)
	if err == nil && !(q > 0 && q < 1) {
		err = fmt.Errorf("quantile %g is not within (0, 1)", q)
	}
	if err != nil {
		return OrderInterval{}, fmt.Errorf("interval of a quantile: %w", err)
	}
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	o := OrderInterval{Estimate: Estimate{N: n, Value: sampleQuantile(sorted, q)}}
	// Exactly (1-conf)/2 is allowed, whatever rounding makes of it.
	tail := (1 - conf) / 2 * (1 + 1e-12)
	// P(B <= l-1) <= tail: one below the smallest k whose probability is more.
	first := BinomialQuantile(tail, n, q)
	if BinomialCDF(first, n, q) <= tail {
		first++
	}
	// P(B >= u) <= tail, which is P(n-B <= n-u) <= tail.
	above := BinomialQuantile(tail, n, 1-q)
	if BinomialCDF(above, n, 1-q) <= tail {
		above++
	}
	last := n + 1 - above
	if first < 1 || last > n || first >= last {
		return o, nil
	}
	o.First, o.Last, o.HasInterval = first, last, true
	o.Lo, o.Hi = sorted[first-1], sorted[last-1]
	o.Coverage = BinomialCDF(last-1, n, q) - BinomialCDF(first-1, n, q)
	return o, nil
}

// sampleQuantile interpolates between the values on either side.
func sampleQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	f := at - math.Floor(at)
	return (1-f)*sorted[i] + f*sorted[j] // no difference that could overflow
}
