package stats

import (
	"fmt"
	"math"
	"testing"

	"tare/internal/testkit/must"
)

// sleepers are Student's own example (R's data set sleep), made values whose
// logarithms they are.
func sleepers() (x, b []float64) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	for i := range first {
		x, b = append(x, math.Exp(first[i])), append(b, math.Exp(second[i]))
	}
	return x, b
}

func TestPairedKnownAnswer(t *testing.T) {
	l := must.Get(Paired(sleepers()))(t)
	lo, hi, ok := l.Interval(0.95)
	must.Require(t, l.N == 10 && ok, "n %d, interval %t", l.N, ok)
	near(t, "mean", l.Mean, -1.58, 1e-9)
	near(t, "t", l.Mean*math.Sqrt(10)/l.SD, -4.0621, 5e-5)
	near(t, "p", l.P(), 0.002833, 5e-7)
	near(t, "ln lo", math.Log(lo), -2.4598858, 5e-8)
	near(t, "ln hi", math.Log(hi), -0.7001142, 5e-8)
	near(t, "ratio", l.Ratio(), math.Exp(-1.58), 1e-9)
}

func TestPairedWithoutSpread(t *testing.T) {
	for _, c := range []struct {
		name     string
		x, b     []float64
		ratio, p float64
		ok       bool
	}{
		{"identical", []float64{3, 5, 7}, []float64{3, 5, 7}, 1, 1, true},
		{"half each time", []float64{1, 2, 4}, []float64{2, 4, 8}, 0.5, 0, true},
		{"one pair", []float64{1}, []float64{2}, 0.5, math.NaN(), false},
	} {
		l := must.Get(Paired(c.x, c.b))(t)
		near(t, c.name+" ratio", l.Ratio(), c.ratio, 1e-12)
		near(t, c.name+" p", l.P(), c.p, 1e-12)
		lo, hi, ok := l.Interval(0.95)
		must.True(t, ok == c.ok, "%s: interval %t, want %t", c.name, ok, c.ok)
		if ok {
			near(t, c.name+" lo", lo, c.ratio, 1e-9)
			near(t, c.name+" hi", hi, c.ratio, 1e-9)
		}
	}
	// No rounding here: SD is 0 to the bit.
	must.Equal(t, float64(0), (LogRatio{N: 4, Mean: -0.2}).P())
}

func TestPairedRefuses(t *testing.T) {
	const what = "pair values with their baseline: "
	for _, c := range []struct {
		x, b []float64
		want string
	}{
		{nil, nil, what + "no pairs"},
		{[]float64{1, 2}, []float64{1}, what + "2 values, 1 of the baseline"},
		{[]float64{1, 0}, []float64{1, 2}, what + "pair 2 is 0 to 2, not both positive and finite"},
		{[]float64{1}, []float64{-2}, what + "pair 1 is 1 to -2, not both positive and finite"},
		{[]float64{1}, []float64{math.NaN()}, what + "pair 1 is 1 to NaN, not both positive and finite"},
		{[]float64{math.Inf(1)}, []float64{1}, what + "pair 1 is +Inf to 1, not both positive and finite"},
	} {
		_, err := Paired(c.x, c.b)
		must.EqualFor(t, fmt.Sprintf("%v, %v", c.x, c.b), c.want, text(err))
	}
}

func TestIntervalRefuses(t *testing.T) {
	l := LogRatio{N: 5, Mean: 0.1, SD: 0.1}
	for _, conf := range []float64{0, 1, -1, 2, math.NaN()} {
		_, _, ok := l.Interval(conf)
		must.True(t, !ok, "interval at confidence %g", conf)
	}
	for _, margin := range []float64{-0.01, -2, math.NaN()} {
		must.True(t, !(LogRatio{N: 5}).Equivalent(margin), "equivalent within %g", margin)
	}
}
