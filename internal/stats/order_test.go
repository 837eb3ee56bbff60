package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/must"
)

func upTo(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(n - i) // not in order
	}
	return xs
}

// Method 5, item 7: the interval of a median.
func TestMedianInterval(t *testing.T) {
	for _, c := range []struct {
		n, first, last int
		value          float64
		coverage       float64
	}{
		{1, 0, 0, 1, 0}, {5, 0, 0, 3, 0},
		{6, 1, 6, 3.5, 0.96875}, {8, 1, 8, 4.5, 0.9921875}, {9, 2, 8, 5, 0.9609375}, {10, 2, 9, 5.5, 0.978515625}, {20, 6, 15, 10.5, 0.958610535},
	} {
		got := must.Get(MedianInterval(upTo(c.n), 0.95))(t)
		want := OrderInterval{Estimate: Estimate{N: c.n, Value: c.value}, First: c.first, Last: c.last, Coverage: c.coverage}
		if c.first > 0 {
			want.Lo, want.Hi, want.HasInterval = float64(c.first), float64(c.last), true
		}
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-8)); d != "" {
			t.Errorf("n %d: %s", c.n, d)
		}
	}
	// Exactly at what is asked: 1 - 2/2^6.
	if o, _ := MedianInterval(upTo(6), 0.96875); !o.HasInterval {
		t.Error("n 6 has no interval at 96.875 %")
	}
}

// The p99 of a few values has no upper limit; of 400 it has one.
func TestQuantileInterval(t *testing.T) {
	o, err := QuantileInterval(upTo(100), 0.99, 0.95)
	if err != nil || o.HasInterval {
		t.Errorf("p99 of 100: %+v, %v", o, err)
	}
	near(t, "p99 of 100", o.Value, 99.01, 1e-9)
	o, err = QuantileInterval(upTo(400), 0.99, 0.95)
	if err != nil || !o.HasInterval || o.Coverage < 0.95 || o.Lo >= o.Value || o.Hi <= o.Value {
		t.Errorf("p99 of 400: %+v, %v", o, err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	const n, q = 40, 0.8
	truth := -math.Log(1 - q) // of the exponential distribution
	hits := 0
	xs := make([]float64, n)
	for range reps {
		for i := range xs {
			xs[i] = rng.ExpFloat64()
		}
		o, _ = QuantileInterval(xs, q, 0.90)
		if o.Lo <= truth && truth <= o.Hi {
			hits++
		}
	}
	inRange(t, "coverage of the 80 % quantile", float64(hits)/reps, o.Coverage-0.015, o.Coverage+0.015)
	for _, c := range []struct {
		xs      []float64
		q, conf float64
		want    string
	}{
		{nil, 0.5, 0.95, "interval of a quantile: no values"},
		{[]float64{1}, 0, 0.95, "interval of a quantile: quantile 0 is not within (0, 1)"},
		{[]float64{1}, 0.5, 1, "interval of a quantile: confidence 1 is not within (0, 1)"},
		{[]float64{math.NaN()}, 0.5, 0.95, "interval of a quantile: value 1 is NaN"},
	} {
		if _, err := QuantileInterval(c.xs, c.q, c.conf); text(err) != c.want {
			t.Errorf("%v: %q, want %q", c.xs, text(err), c.want)
		}
	}
}

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
