package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

// Student's sleep data again, this time as two groups: Welch's test of R on the
// same numbers (t = -1.8608, df = 17.776, p = 0.07939, -3.3654832 to 0.2054832).
func TestUnpairedKnownAnswer(t *testing.T) {
	x, b := sleepers()
	l := must.Get(Unpaired(x, b, nil, nil))(t)
	lo, hi, ok := l.Interval(0.95)
	must.Require(t, ok && l.N == 10, "%+v", l)
	near(t, "df", l.DF, 17.776, 5e-4)
	near(t, "p", l.P(), 0.07939, 5e-6)
	near(t, "t", l.inErrors(l.Mean), -1.8608, 5e-5)
	near(t, "ln lo", math.Log(lo), -3.3654832, 5e-7)
	near(t, "ln hi", math.Log(hi), 0.2054832, 5e-7)
}

// The same data without logarithms: R's interval of the difference of the means.
func TestMeanDifference(t *testing.T) {
	var first, second []float64
	x, b := sleepers()
	for i := range x {
		first, second = append(first, math.Log(x[i])), append(second, math.Log(b[i]))
	}
	e := must.Get(MeanDifference(first, second, nil, nil, 0.95))(t)
	near(t, "difference", e.Value, -1.58, 1e-12)
	near(t, "lo", e.Lo, -3.3654832, 5e-7)
	near(t, "hi", e.Hi, 0.2054832, 5e-7)
	one := must.Get(MeanDifference([]float64{3}, second, nil, nil, 0.95))(t)
	must.True(t, !one.HasInterval && one.N == 1, "one value has no spread: %+v", one)
	const what = "difference of means: "
	must.Equal(t, what+"no values", text(must.Err(MeanDifference(nil, second, nil, nil, 0.95))))
	must.Equal(t, what+"value 1 is +Inf", text(must.Err(MeanDifference(first, []float64{math.Inf(1)}, nil, nil, 0.95))))
}

func TestUnpairedEdges(t *testing.T) {
	one, err := Unpaired([]float64{2}, []float64{1, 1, 1, 1}, nil, nil)
	must.True(t, err == nil && one.N == 1 && math.IsNaN(one.P()) && Decide(one, 0, 0.05) == CannotTell, "one value: %+v, %v", one, err)
	same, err := Unpaired([]float64{2, 2}, []float64{2, 2, 2}, nil, nil)
	must.True(t, err == nil && same.P() == 1 && same.DF == 3, "no spread, equal: %+v, %v", same, err)
	far, err := Unpaired([]float64{4, 4, 4}, []float64{2, 2, 2}, nil, nil)
	must.True(t, err == nil && far.P() == 0 && Decide(far, 0, 0.05) == Different, "no spread, twice: %+v, %v", far, err)
	const what = "compare values with those of the baseline: "
	for _, c := range []struct {
		x, b []float64
		want string
	}{
		{nil, []float64{1}, what + "no values"},
		{[]float64{1}, nil, what + "baseline: no values"},
		{[]float64{1, 0}, []float64{1}, what + "value 2 is 0, not positive"},
		{[]float64{1}, []float64{1, math.Inf(1)}, what + "baseline: value 2 is +Inf"},
	} {
		_, err := Unpaired(c.x, c.b, nil, nil)
		must.True(t, text(err) == c.want, "%q, want %q", text(err), c.want)
	}
}

// More values on either side come to what the forecast says of them: degrees of
// freedom of Welch grow with n-1.
func TestUnpairedGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		value := rapid.Float64Range(1, 3)
		x, b := rapid.SliceOfN(value, n, n).Draw(t, "x"), rapid.SliceOfN(value, n, n).Draw(t, "b")
		l, err := Unpaired(x, b, nil, nil)
		must.Require(t, err == nil, "%v", err)
		if l.SD == 0 {
			return
		}
		lo, hi := float64(n-1), float64(2*n-2)
		must.Require(t, l.DF >= lo*(1-1e-9) && l.DF <= hi*(1+1e-9), "%g degrees of freedom of %d and %d values", l.DF, n, n)
		alike(t, "degrees of freedom", l.grown(n).DF/float64(2*n-1), l.DF/float64(n-1))
		back, err := Unpaired(b, x, nil, nil)
		must.Require(t, err == nil, "%v", err)
		alike(t, "p the other way round", back.P(), l.P())
		if got, ok := blocksOfFirst([]LogRatio{l}, 0.05); ok && got > 0 {
			grown := l.grown(got)
			must.Require(t, Decide(grown, grown.P(), 0.05) != CannotTell, "%d more blocks do not do: %+v", got, l)
		}
	})
}

// The ratio of two ratios to a constant baseline is what Welch makes of the values
// themselves.
func TestOver(t *testing.T) {
	x, b := sleepers()
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	lx := must.Get(Paired(x, ones))(t)
	lb := must.Get(Paired(b[:7], ones[:7]))(t)
	want := must.Get(Unpaired(x, b[:7], nil, nil))(t)
	got := lx.Over(lb)
	must.Equal(t, want, got, cmpopts.EquateApprox(1e-12, 0))
	l := lx.Over(LogRatio{N: 1, Mean: 0.5})
	must.True(t, l.N == 1 && math.IsNaN(l.P()), "over a single block: %+v", l)
	if l := (LogRatio{N: 3}).Over(LogRatio{N: 4, Mean: 0.1}); l.P() != 0 || l.DF != 5 {
		t.Errorf("without spread: %+v", l)
	}
}
