package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

// The limits are those of tables: for the median of 10 values the 2nd and the 9th smallest at 95 % (97.9 %), and for the 90th percentile
// of 40 the 32nd and the 40th.
func TestQuantileByOrder(t *testing.T) {
	none := math.NaN()
	for _, tt := range []struct {
		n    int
		q    float64
		want OrderQuantile
	}{
		{1, 0.5, OrderQuantile{1, none, none}}, {5, 0.5, OrderQuantile{3, none, none}}, {6, 0.5, OrderQuantile{3, 1, 6}},
		{10, 0.5, OrderQuantile{5, 2, 9}}, {7, 0.9, OrderQuantile{7, 4, none}}, {35, 0.9, OrderQuantile{32, 28, none}}, {36, 0.9, OrderQuantile{33, 29, 36}}, {40, 0.9, OrderQuantile{36, 32, 40}},
	} {
		got, ok := QuantileByOrder(upTo(tt.n), tt.q, 0.95)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		must.True(t, ok && got.Value == tt.want.Value && same(got.Low, tt.want.Low) && same(got.High, tt.want.High), "quantile %v of %d: %+v, want %+v", tt.q, tt.n, got, tt.want)
	}
	for _, bad := range [][]float64{nil, {1, math.NaN()}, {math.Inf(1)}} {
		got, ok := QuantileByOrder(bad, 0.5, 0.95)
		must.True(t, !ok, "of %v: %+v", bad, got)
	}
}

// At least 95 % of the intervals contain the quantile, of values that are far from normal.
func TestQuantileByOrderCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, q := range []float64{0.5, 0.9} {
		truth := -math.Log(1-q) * -math.Log(1-q) // of the square of an exponential
		held := share(reps, func() bool {
			xs := make([]float64, 45)
			for i := range xs {
				e := rng.ExpFloat64()
				xs[i] = e * e
			}
			got, _ := QuantileByOrder(xs, q, 0.95)
			return got.Low <= truth && truth <= got.High
		})
		must.True(t, held >= 0.945, "quantile %v: %.3f of the intervals contain it", q, held)
	}
}
