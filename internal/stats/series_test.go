package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBatches(t *testing.T) {
	xs := []float64{1, 2, 3, 4, 5}
	for m, want := range map[int][]float64{1: xs, 2: {1.5, 3.5}, 5: {3}, 6: {}, 0: nil, -1: nil} {
		if d := cmp.Diff(want, Batches(xs, m)); d != "" {
			t.Errorf("%d: %s", m, d)
		}
	}
}

func TestAutocorrelation(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		lag  int
		want float64
		ok   bool
	}{
		// R: acf(1:5): 1, 0.4, -0.1, -0.4, -0.4.
		{[]float64{1, 2, 3, 4, 5}, 0, 1, true},
		{[]float64{1, 2, 3, 4, 5}, 1, 0.4, true},
		{[]float64{1, 2, 3, 4, 5}, 2, -0.1, true},
		{[]float64{1, 2, 3, 4, 5}, 4, -0.4, true},
		{[]float64{1, 2, 3, 4, 5}, 5, 0, false},
		{[]float64{1, 2, 3}, -1, 0, false},
		{[]float64{2, 2, 2}, 1, 0, false},
		{[]float64{2, math.NaN(), 2}, 1, 0, false},
		{nil, 0, 0, false},
	} {
		r, ok := Autocorrelation(c.xs, c.lag)
		if ok != c.ok || !(math.Abs(r-c.want) < 1e-12) {
			t.Errorf("%v, lag %d: %g %t, want %g %t", c.xs, c.lag, r, ok, c.want, c.ok)
		}
	}
	xs := simulated(rand.New(rand.NewPCG(1, 1)), 20000, 0.05, 0.6, flat)
	for lag, want := range map[int]float64{1: 0.6, 2: 0.36, 10: 0.006} {
		r, _ := Autocorrelation(xs, lag)
		inRange(t, "AR(1) of 0.6", r, want-0.03, want+0.03)
	}
}

func TestTheilSen(t *testing.T) {
	// By hand: 10 slopes of five samples, one far off: 0.5 .. with median 1.
	s, ok := TheilSen([]float64{0, 1, 2, 30, 4}, 0.90)
	if !ok {
		t.Fatal("no slope")
	}
	near(t, "slope with an outlier", s.Value, 1, 1e-12)
	if !(s.Lo <= 1 && s.Hi >= 1) {
		t.Errorf("%+v", s)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	hits := 0
	for range 1000 {
		xs := make([]float64, 20)
		for i := range xs {
			xs[i] = 0.1*float64(i) + rng.NormFloat64()
		}
		s, ok := TheilSen(xs, 0.95)
		if ok && s.Lo <= 0.1 && 0.1 <= s.Hi {
			hits++
		}
	}
	inRange(t, "coverage of the slope", float64(hits)/1000, 0.93, 0.975)
	for _, c := range []struct {
		xs   []float64
		conf float64
	}{{nil, 0.95}, {[]float64{1}, 0.95}, {[]float64{1, 2, 3, 4}, 0.95}, {upTo(20), 1}, {[]float64{1, 2, 3, 4, 5, math.Inf(1)}, 0.95}} {
		if s, ok := TheilSen(c.xs, c.conf); ok {
			t.Errorf("%v at %g: %+v", c.xs, c.conf, s)
		}
	}
	if s, ok := TheilSen(make([]float64, 20), 0.95); !ok || s != (Slope{}) {
		t.Errorf("constant: %+v %t", s, ok)
	}
}

// Autocorrelation is how much samples lag apart resemble each other, -1 to 1
// (Box, Jenkins, Time Series Analysis, 2.1.5):
//
//	sum_{i<=n-lag} (x_i - mean)(x_{i+lag} - mean) / sum_i (x_i - mean)^2
//
// Of n independent samples it is about -1/n +- 2/sqrt n. ok is false unless
// 0 <= lag < n, for samples that are all equal or not finite.
func Autocorrelation(series []float64, lag int) (r float64, ok bool) {
	if lag < 0 || lag >= len(series) || check(series, 0.95) != nil {
		return 0, false
	}
	mean, _ := meanSD(series)
	var products, squares float64
	for i, x := range series {
		squares += (x - mean) * (x - mean)
		if i >= lag {
			products += (x - mean) * (series[i-lag] - mean)
		}
	}
	if !(squares > 0) || math.IsInf(squares, 1) {
		return 0, false
	}
	return products / squares, true
}
