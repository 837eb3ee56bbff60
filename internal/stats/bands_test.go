package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/testkit/must"
)

func TestTwoBands(t *testing.T) {
	for _, c := range []struct {
		name string
		xs   []float64
		want Bands
		ok   bool
	}{
		{"two levels", []float64{8, 12, 8, 12, 12}, Bands{Band{2, 8}, Band{3, 12}}, true},
		{"least gap", []float64{10, 10, 12.01, 12.01}, Bands{Band{2, 10}, Band{2, 12.01}}, true},
		{"gap below 20 %", []float64{10, 10, 11.99, 11.99}, Bands{}, false},
		{"gap 3 times the range", []float64{1, 2, 16.01, 16.01}, Bands{Band{2, math.Sqrt2}, Band{2, 16.01}}, true},
		{"gap below 3 times the range", []float64{1, 2, 15.99, 15.99}, Bands{}, false},
		{"range above the gap counts too", []float64{1, 1, 7.9, 15.8}, Bands{}, false},
		{"an outlier is no band", []float64{10, 10, 10, 20}, Bands{}, false},
		{"an outlier hides two bands", []float64{1, 10, 10, 20, 20}, Bands{}, false},
		{"all alike", []float64{5, 5, 5, 5}, Bands{}, false},
		{"too few", []float64{1, 10, 10}, Bands{}, false},
		{"none", nil, Bands{}, false},
		{"zeros have no log", []float64{0, 0, 10, 10}, Bands{}, false},
		{"not a number", []float64{1, 1, math.NaN(), 10}, Bands{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.xs)
			got, ok := TwoBands(c.xs)
			d := cmp.Diff(c.want, got, cmpopts.EquateApprox(1e-12, 0))
			must.True(t, d == "" && ok == c.ok, "%t, want %t; %s", ok, c.ok, d)
			must.True(t, cmp.Equal(before, c.xs, cmpopts.EquateNaNs()), "changed its argument: %v", c.xs)
		})
	}
}

// flagged is how often log-normal trials with this noise are flagged, each at a
// level drawn by level.
func flagged(reps, n int, cv float64, level func(*rand.Rand) float64) float64 {
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	xs := make([]float64, n)
	return share(reps, func() bool {
		for i := range xs {
			xs[i] = level(rng) * math.Exp(cv*rng.NormFloat64())
		}
		_, ok := TwoBands(xs)
		return ok
	})
}

func TestTwoBandsFalseAlarms(t *testing.T) {
	one := func(*rand.Rand) float64 { return 1 }
	for _, c := range []struct {
		n          int
		cv, lo, hi float64
	}{
		{4, 0.02, 0, 0}, {10, 0.02, 0, 0},
		{4, 0.05, 0, 0.0002}, {10, 0.05, 0, 0},
		{4, 0.10, 0.010, 0.018}, {5, 0.10, 0.005, 0.011}, {10, 0.10, 0, 0.0005},
	} {
		name := fmt.Sprintf("false alarms at n %d, noise %g", c.n, c.cv)
		inRange(t, name, flagged(20000, c.n, c.cv, one), c.lo, c.hi)
	}
}

// Trials that fall on one of two levels 40 % apart are found: at n 10 nearly
// always, at n 4 whenever two fall on each, which is 3/8 of the time.
func TestTwoBandsFinds(t *testing.T) {
	either := func(r *rand.Rand) float64 { return []float64{1, 1.4}[r.IntN(2)] }
	inRange(t, "found at n 4", flagged(reps, 4, 0.02, either), 0.33, 0.40)
	inRange(t, "found at n 10", flagged(reps, 10, 0.02, either), 0.85, 1)
}
