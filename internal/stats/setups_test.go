package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// With a set-up for each pair the result is that of Paired, with equal groups that of the groups' means.
func TestPairedBySetupEqualGroups(t *testing.T) {
	x := []float64{1.1, 1.3, 1.2, 1.6, 1.5, 1.4}
	b := []float64{1, 1.1, 0.9, 1, 1.2, 1}
	plain := must.Get(Paired(x, b))(t)
	near(t, "each its own", must.Get(PairedBySetup(x, b, []int{9, 3, 4, 5, 6, 7}))(t).HalfWidth(0.95), plain.HalfWidth(0.95), 1e-12)
	one := must.Get(PairedBySetup(x, b, []int{2, 2, 2, 2, 2, 2}))(t)
	near(t, "one for all", one.HalfWidth(0.95), plain.HalfWidth(0.95), 1e-12)
	must.Equal(t, 1, one.Setups)

	l := must.Get(PairedBySetup(x, b, []int{1, 1, 2, 2, 3, 3}))(t)
	must.Equal(t, 3, l.Setups)
	ds := must.Get(Differences(x, b))(t)
	mean, sd := meanSD([]float64{(ds[0] + ds[1]) / 2, (ds[2] + ds[3]) / 2, (ds[4] + ds[5]) / 2})
	near(t, "mean", l.Mean, mean, 1e-9)
	near(t, "standard error", l.SD/math.Sqrt(6), sd/math.Sqrt(3), 1e-9)
	near(t, "degrees of freedom", l.DF, 2, 1e-9)
	e := must.Get(MeanIntervalBySetup(ds, []int{1, 1, 2, 2, 3, 3}, 0.95))(t)
	near(t, "p", MeanZeroPBySetup(ds, []int{1, 1, 2, 2, 3, 3}), l.P(), 1e-9)
	g := must.Get(GeoMeanIntervalBySetup([]float64{math.Exp(ds[0]), math.Exp(ds[1]), math.Exp(ds[2]), math.Exp(ds[3]), math.Exp(ds[4]), math.Exp(ds[5])},
		[]int{1, 1, 2, 2, 3, 3}, 0.95))(t)
	lo, hi, _ := l.Interval(0.95)
	near(t, "lower limit of the geometric mean", g.Lo, lo, 1e-9)
	near(t, "lower limit", e.Lo, math.Log(lo), 1e-9)
	near(t, "upper limit", e.Hi, math.Log(hi), 1e-9)
}

func TestPairedBySetupRefuses(t *testing.T) {
	_, err := PairedBySetup([]float64{1, 2}, []float64{1, 1}, []int{1})
	must.Fail(t, err, "2 pairs, and set-ups of 1")
	_, err = MeanIntervalBySetup([]float64{1, 2}, []int{}, 0.95)
	must.Fail(t, err, "2 values, and set-ups of 0")
}

// 95 % of the intervals cover the truth for set-ups of several lengths, the last one shorter, whatever part of the variance is
// between set-ups, and those of Paired do not. Package plan has the lengths of the profiles.
func TestPairedBySetupCovers(t *testing.T) {
	const runs = 2000
	r := rand.New(rand.NewPCG(1, 7))
	missedByPairs := 0.0
	for _, c := range []struct{ blocks, every int }{{7, 2}, {7, 3}, {10, 3}, {12, 3}, {20, 3}, {20, 7}} {
		for _, between := range []float64{0, 0.25, 0.5, 0.9, 1} {
			pairs := 0.0
			share := share(runs, func() bool {
				x, b, setups := make([]float64, c.blocks), make([]float64, c.blocks), make([]int, c.blocks)
				var level float64
				for i := range x {
					if i%c.every == 0 {
						level = r.NormFloat64() * math.Sqrt(between)
					}
					setups[i] = i / c.every
					b[i] = math.Exp(0.1 * r.NormFloat64()) // shared by the pair
					x[i] = b[i] * 0.8 * math.Exp(0.02*(level+r.NormFloat64()*math.Sqrt(1-between)))
				}
				if covers(must.Get(Paired(x, b))(t), 0.95, 0.8) {
					pairs += 1.0 / runs
				}
				return covers(must.Get(PairedBySetup(x, b, setups))(t), 0.95, 0.8)
			})
			t.Logf("%2d blocks, set up every %d, %3.0f %% between: %.1f %% cover; without set-ups %.1f %%", c.blocks, c.every, 100*between, 100*share, 100*pairs)
			must.True(t, share >= 0.94 && share <= 0.985,
				"%d blocks, set up every %d, %g of the variance between set-ups: %.3f of the intervals cover", c.blocks, c.every, between, share)
			missedByPairs = max(missedByPairs, 1-pairs)
		}
	}
	must.True(t, missedByPairs >= 0.15, "pairs as replicates miss at most %.3f: the simulation has no effect of set-ups", missedByPairs)
}

// The factors are those of the intervals of values that vary between set-ups alone, or not at all.
func TestSetupWidth(t *testing.T) {
	for _, sizes := range [][]int{{2, 2, 2}, {2, 2, 2, 1}, {3, 3, 1}} {
		df, least, most, ok := SetupWidth(sizes)
		n := 0
		var setups []int
		for s, m := range sizes {
			n += m
			setups = append(setups, slices.Repeat([]int{s}, m)...)
		}
		ds := make([]float64, n)
		for i := range ds {
			ds[i] = float64(i * i % 5)
		}
		l := LevelBySetup(ds, setups)
		if near(t, "degrees of freedom", df, l.DF, 1e-9); !ok {
			t.Errorf("%v has no factor", sizes)
		}
		narrow := TQuantile(0.975, float64(n-1))
		near(t, "least", least, TQuantile(0.975, df)/narrow, 1e-9)
		squares := 0.0
		for _, m := range sizes {
			squares += float64(m * m)
		}
		near(t, "most", most, least*math.Sqrt(squares/float64(n)), 1e-9)
	}
	_, least, most, ok := SetupWidth([]int{1, 1, 1, 1})
	must.True(t, ok && math.Abs(least-1) <= 1e-9 && math.Abs(most-1) <= 1e-9, "a set-up for each block: %g to %g, %t", least, most, ok)
	if _, _, _, ok := SetupWidth([]int{7}); ok {
		t.Error("one set-up has a factor")
	}
}

// The form is that of the squared standard error.
func TestMeanCovariance(t *testing.T) {
	x, y, setups := []float64{1, 2, 4, 3, 7, 5, 6}, []float64{2, 1, 0, 5, 3, 3, 9}, []int{1, 1, 2, 2, 3, 3, 4}
	for _, setups := range [][]int{nil, setups} {
		xx, df := MeanCovariance(x, x, setups)
		l := LevelBySetup(x, setups)
		near(t, "with itself", xx, l.SD*l.SD/7, 1e-9)
		near(t, "degrees of freedom", df, l.df(), 1e-9)
		xy, _ := MeanCovariance(x, y, setups)
		yy, _ := MeanCovariance(y, y, setups)
		sum := make([]float64, 7)
		for i := range sum {
			sum[i] = x[i] + 2*y[i]
		}
		ss, _ := MeanCovariance(sum, sum, setups)
		near(t, "of a sum", ss, xx+4*xy+4*yy, 1e-9)
	}
}
