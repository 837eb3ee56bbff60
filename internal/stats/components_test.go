package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

func TestVarianceComponents(t *testing.T) {
	// By hand: means 2, 6; variances within 1 and 1; S_2^2 = 8, less 1/3.
	c := must.Get(VarianceComponents([][]float64{{1, 2, 3}, {5, 6, 7}}))(t)
	near(t, "within", c.Within, 1, 1e-12)
	near(t, "between", c.Between, 8-1.0/3, 1e-12)
	// Means closer than their samples explain.
	c = must.Get(VarianceComponents([][]float64{{1, 3}, {1, 3}, {1, 3}}))(t)
	near(t, "within, alike", c.Within, 2, 1e-12)
	near(t, "between, alike", c.Between, 0, 0)
	const what = "estimate variance components: "
	for _, r := range []struct {
		trials [][]float64
		want   string
	}{
		{nil, what + "fewer than 2 trials"},
		{[][]float64{{1, 2}}, what + "fewer than 2 trials"},
		{[][]float64{{1, 2}, {1}}, what + "trial 2 has fewer than 2 samples"},
		{[][]float64{{1, math.NaN()}, {1, 2}}, what + "trial 1: value 2 is NaN"},
	} {
		_, err := VarianceComponents(r.trials)
		must.True(t, text(err) == r.want, "%q, want %q", text(err), r.want)
	}
}

// The components that went in come out, on average, trials of unlike length too.
func TestVarianceComponentsAreUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	var within, between float64
	for range reps {
		trials := make([][]float64, 8)
		for i := range trials {
			level := 1 + 0.04*rng.NormFloat64()
			trials[i] = make([]float64, 5+i)
			for j := range trials[i] {
				trials[i][j] = level + 0.03*rng.NormFloat64()
			}
		}
		c := must.Get(VarianceComponents(trials))(t)
		within, between = within+c.Within/reps, between+c.Between/reps
	}
	inRange(t, "sd within", math.Sqrt(within), 0.0297, 0.0303)
	inRange(t, "sd between", math.Sqrt(between), 0.0395, 0.0405)
}

func TestOptimalLength(t *testing.T) {
	for _, c := range []struct {
		name         string
		sample, more float64
		c            Components
		want         int
		ok           bool
	}{
		{"by hand: sqrt(4/1 * 9/1)", 1, 4, Components{9, 1}, 6, true},
		{"rounded up: sqrt(3 * 2/1)", 1, 3, Components{2, 1}, 3, true},
		{"samples do not vary", 1, 4, Components{0, 1}, 1, true},
		{"a trial costs nothing", 1, 0, Components{9, 1}, 1, true},
		{"trials do not differ", 1, 4, Components{9, 0}, 0, false},
		{"nothing varies", 1, 4, Components{}, 0, false},
		{"hardly differ", 1, 1, Components{1, 1e-300}, math.MaxInt32, true},
		{"a sample costs nothing", 0, 4, Components{9, 1}, 0, false},
		{"negative", 1, -1, Components{9, 1}, 0, false},
		{"not a number", 1, 1, Components{math.NaN(), 1}, 0, false},
		{"infinite", 1, math.Inf(1), Components{9, 1}, 0, false},
	} {
		n, ok := OptimalLength(c.sample, c.more, c.c)
		must.True(t, n == c.want && ok == c.ok, "%s: %d %t, want %d %t", c.name, n, ok, c.want, c.ok)
	}
}

// The length named is the one that makes the mean surest in a given time: with
// trials of n samples there is time for T/(more + n sample), each with variance
// Between + Within/n.
func TestOptimalLengthIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 500 {
		c := Components{Within: math.Exp(3 * rng.NormFloat64()), Between: math.Exp(3 * rng.NormFloat64())}
		sample, more := math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64())
		best, ok := OptimalLength(sample, more, c)
		must.Require(t, ok, "no length")
		cost := func(n int) float64 { return (more + float64(n)*sample) * (c.Between + c.Within/float64(n)) }
		least := 1
		for n := 1; n <= 2*best+10; n++ {
			if cost(n) < cost(least) {
				least = n
			}
		}
		must.Require(t, best == least || best == least+1, "%d samples, the best is %d", best, least) // rounded up
	}
}
