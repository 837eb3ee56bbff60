package stats_test

import (
	"math"
	"testing"

	"tare/internal/stats"
	"tare/internal/testkit/must"
)

// The p values of a region agree with those of the tests that it is made of, and with the intervals.
func TestRegionP(t *testing.T) {
	inf := math.Inf(1)
	for _, l := range []stats.LogRatio{{N: 5, Mean: 0.03, SD: 0.02}, {N: 12, Mean: -0.2, SD: 0.3}, {N: 3, Mean: 0.001, SD: 0.01}} {
		in, out := l.RegionP(0, inf)
		if p := l.P(); l.Mean > 0 && math.Abs(in-p) > 1e-12 || l.Mean < 0 && math.Abs(out-p) > 1e-12 {
			t.Errorf("%+v: above 0: %g, %g; two-sided %g", l, in, out, p)
		}
		lo, hi, _ := l.Interval(0.95)
		for _, limit := range []float64{math.Log(lo), math.Log(hi)} {
			in, out := l.RegionP(limit, inf)
			must.True(t, math.Abs(min(in, out)-0.05) <= 1e-6, "%+v: at a limit of the 95 %% interval: %g, %g", l, in, out)
			below, notBelow := l.RegionP(-inf, limit)
			must.True(t, below == out && notBelow == in, "%+v: below %g: %g, %g; above: %g, %g", l, limit, below, notBelow, in, out)
		}
		const margin = 0.05
		in, out = l.RegionP(-math.Log1p(margin), math.Log1p(margin))
		want := l.EquivalentP(margin)
		must.True(t, math.Abs(in-want) <= 1e-9, "%+v: within the margin %g; equivalence %g", l, in, want)
		must.True(t, in >= 0.05 || out >= 0.5, "%+v: both in (%g) and out (%g)", l, in, out)
	}
	for _, tt := range []struct {
		l               stats.LogRatio
		lo, hi, in, out float64
	}{
		{stats.LogRatio{N: 3, Mean: 1}, 0, 2, 0, 1},
		{stats.LogRatio{N: 3, Mean: 3}, 0, 2, 1, 0},
		{stats.LogRatio{N: 3, Mean: 2}, 0, 2, 1, 1},
		{stats.LogRatio{N: 3, Mean: 2}, -inf, inf, 0, 1},
		{stats.LogRatio{N: 3, Mean: -5}, 0, inf, 1, 0},
	} {
		in, out := tt.l.RegionP(tt.lo, tt.hi)
		must.True(t, in == tt.in && out == tt.out, "%+v in %g to %g: %g, %g; want %g, %g", tt.l, tt.lo, tt.hi, in, out, tt.in, tt.out)
	}
	in, out := (stats.LogRatio{N: 1, Mean: 1}).RegionP(0, 1)
	must.True(t, math.IsNaN(in) && math.IsNaN(out), "one block: %g, %g", in, out)
}

func TestBlocksUntil(t *testing.T) {
	l := stats.LogRatio{N: 5, Mean: 0.05, SD: 0.1}
	positive := func(l stats.LogRatio) bool { return l.P() < 0.05 }
	n := l.BlocksUntil(positive)
	want := stats.BlocksNeeded([]stats.LogRatio{l}, 0)[0]
	must.True(t, n == want && n >= 1, "%d more blocks; Decide needs %d", n, want)
	must.Equal(t, -1, (stats.LogRatio{N: 5, SD: 0.1}).BlocksUntil(positive))
}
