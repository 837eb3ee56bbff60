package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

// The statistic of {0, 1, 3} before {10, 12, 15}, by hand: the nine distances across sum to 99,
// the pairs before the split to 6 and those after it to 10, so that Q is
// 9/6 (2/9 99 - 2/6 6 - 2/6 10) = 25.
func TestStatisticByHand(t *testing.T) {
	s := newSearch([]float64{0, 1, 3, 10, 12, 15})
	got := s.segments[0]
	must.True(t, got.split == 3 && math.Abs(got.q-25) <= 1e-12, "best split after %d with Q %.15g, want after 3 with 25", got.split, got.q)
}

// Every split of any series has the statistic of the definition, whatever the order in which it
// is computed, and the best is the largest.
func TestStatisticIsThatOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2*MinSegment, 24).Draw(t, "xs")
		want := math.Inf(-1)
		for k := MinSegment; k <= len(xs)-MinSegment; k++ {
			for end := k + MinSegment; end <= len(xs); end++ {
				want = max(want, defined(xs[:k], xs[k:end]))
			}
		}
		got := newSearch(xs).segments[0]
		must.Require(t, math.Abs(got.q-want) <= 1e-8*(1+math.Abs(want)), "the best Q is %g, want %g", got.q, want)
		at := math.Inf(-1)
		for end := got.split + MinSegment; end <= len(xs); end++ {
			at = max(at, defined(xs[:got.split], xs[got.split:end]))
		}
		must.Require(t, math.Abs(at-want) <= 1e-8*(1+math.Abs(want)), "the split after %d has Q %g, and the best %g", got.split, at, want)
	})
}

// defined is Q by its definition.
func defined(x, y []float64) float64 {
	m, n := float64(len(x)), float64(len(y))
	across := 0.0
	for _, a := range x {
		for _, b := range y {
			across += math.Abs(a - b)
		}
	}
	within := func(zs []float64) (sum float64) {
		for i, a := range zs {
			for _, b := range zs[:i] {
				sum += math.Abs(a - b)
			}
		}
		return sum
	}
	return m * n / (m + n) * (2/(m*n)*across - 2/(m*(m-1))*within(x) - 2/(n*(n-1))*within(y))
}

// Of the 70 ways to divide eight points into halves two separate the lower from the higher ones,
// so that eight are the least for 5 %.
func TestMinPoints(t *testing.T) {
	for level, want := range map[float64]int{0.5: 6, 0.1: 6, 0.099: 7, 0.05: 8, 0.0285: 9, 0.01: 10, 0.0011: 14, 0: math.MaxInt} {
		got := MinPoints(level)
		must.True(t, got == want, "level %g takes %d points, want %d", level, got, want)
	}
	step := []float64{1, 2, 3, 4, 11, 12, 13, 14}
	got := at(Find(step, 0.05, 1))
	must.True(t, slices.Equal(got, []int{4}), "changes at %v, want at 4", got)
	found := Find(step[:7], 0.05, 1)
	must.True(t, found == nil, "seven points have %v", found)
}

// noise is n normal values.
func noise(rng *rand.Rand, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = rng.NormFloat64()
	}
	return xs
}

func at(found []Change) []int {
	var out []int
	for _, c := range found {
		out = append(out, c.At)
	}
	return out
}

func TestFindsWhatWasPlanted(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		levels map[int]float64 // from this index on
		want   []int
	}{
		{"none", 60, nil, nil},
		{"one", 60, map[int]float64{25: 6}, []int{25}},
		{"up and back", 60, map[int]float64{20: 6, 32: 0}, []int{20, 32}},
		{"a stair", 60, map[int]float64{15: 6, 30: 12, 45: 18}, []int{15, 30, 45}},
		{"at the end", 60, map[int]float64{57: 8}, []int{57}},
		{"at the start", 60, map[int]float64{3: -8}, []int{3}},
		{"too few at the end", 60, map[int]float64{59: 8}, nil},
		{"long", 300, map[int]float64{200: 6}, []int{200}},
		{"beyond what is searched", MaxPoints + 100, map[int]float64{50: 50, 300: 6}, []int{300}},
	} {
		xs := noise(rand.New(rand.NewPCG(2, 5)), c.n)
		level := 0.0
		for i := range xs {
			if l, has := c.levels[i]; has {
				level = l
			}
			xs[i] += level
		}
		got := at(Find(xs, 0.01, 1))
		must.True(t, slices.Equal(got, c.want), "%s: changes at %v, want %v", c.name, got, c.want)
	}
}

// Equal values have no change, and constant levels without any noise have those between them.
func TestWithoutNoise(t *testing.T) {
	found := Find(make([]float64, 40), 0.05, 1)
	must.True(t, found == nil, "equal values changed: %v", found)
	xs := slices.Concat(slices.Repeat([]float64{1}, 12), slices.Repeat([]float64{2}, 12), slices.Repeat([]float64{1}, 12))
	got := at(Find(xs, 0.05, 1))
	must.True(t, slices.Equal(got, []int{12, 24}), "changes at %v, want 12 and 24", got)
}

func TestLevelsThatCannotBe(t *testing.T) {
	xs := slices.Concat(make([]float64, 30), slices.Repeat([]float64{1}, 30))
	for _, level := range []float64{0, -1, 1, 2, math.NaN(), MinLevel / 2} {
		found := Find(xs, level, 1)
		must.True(t, found == nil, "level %g finds %v", level, found)
	}
}

// Neither the unit nor a common offset matters, the same series has the same result, and the
// argument stays as it is.
func TestFindProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-8, 8), 0, 40).Draw(t, "xs")
		before := slices.Clone(xs)
		found := Find(xs, 0.1, 7)
		must.Require(t, slices.Equal(xs, before), "changed its argument: %v to %v", before, xs)
		last := 0
		for _, c := range found {
			must.Require(t, c.At-last >= MinSegment && c.P <= 0.1 && c.P > 0, "%v among %d points", found, len(xs))
			last = c.At
		}
		must.Require(t, len(found) <= 0 || len(xs)-last >= MinSegment, "%v among %d points", found, len(xs))
		again := Find(xs, 0.1, 7)
		must.Require(t, slices.Equal(again, found), "%v, and again %v", found, again)
		scaled := make([]float64, len(xs))
		for i, x := range xs {
			scaled[i] = 4*x - 1024 // exact, so that ties stay ties
		}
		other := at(Find(scaled, 0.1, 7))
		must.Require(t, len(xs) <= 0 || !exact(xs) || slices.Equal(other, at(found)), "%v, and scaled %v", found, other)
	})
}

// exact says whether 4x-1024 is exact for each value.
func exact(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return (4*x-1024+1024)/4 != x })
}

// Series without a change have one in at most the stated share, whatever their distribution,
// and in not much less, so that the test is no weaker than stated.
func TestFalseAlarms(t *testing.T) {
	const series, level = 1000, 0.05
	for name, draw := range map[string]func(*rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return r.NormFloat64() },
		"skewed": func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) },
		"two":    func(r *rand.Rand) float64 { return float64(r.IntN(2)) },
	} {
		for _, n := range []int{10, 30} {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(len(name))))
			alarms := 0
			for i := range series {
				xs := make([]float64, n)
				for j := range xs {
					xs[j] = draw(rng)
				}
				if Find(xs, level, uint64(i)) != nil {
					alarms++
				}
			}
			rate := float64(alarms) / series
			t.Logf("%s values, %d of them: %.4f", name, n, rate)
			most := level + 3*math.Sqrt(level*(1-level)/series)
			must.True(t, rate <= most, "%s values, %d of them: a change in %.4f of series, want at most %.4f", name, n, rate, most)
			must.True(t, name != "normal" || rate >= level/2, "%s values, %d of them: a change in only %.4f of series", name, n, rate)
		}
	}
}

// Of series with one change of three standard deviations, nearly all have it found within one
// point, and the stated share at most has another one.
func TestPowerAndSecondChanges(t *testing.T) {
	const series, level = 400, 0.05
	rng := rand.New(rand.NewPCG(5, 6))
	found, near, more := 0, 0, 0
	for i := range series {
		xs := noise(rng, 40)
		for j := 24; j < len(xs); j++ {
			xs[j] += 3
		}
		changes := Find(xs, level, uint64(i))
		if len(changes) > 0 {
			found++
		}
		if slices.ContainsFunc(changes, func(c Change) bool { return c.At >= 23 && c.At <= 25 }) {
			near++
		}
		if len(changes) > 1 {
			more++
		}
	}
	t.Logf("found %d of %d, %d within one point; %d with another", found, series, near, more)
	must.True(t, found == series && near >= series*95/100, "found %d of %d, %d within one point", found, series, near)
	must.True(t, more <= series*9/100, "%d of %d series have a second change, want 5 %%", more, series)
}
