package stats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
	"pgregory.net/rapid"
)

// Method 5, item 7: the least p of the U test, and so of no verdict by ranks at n 3
// (item 6).
func TestMannWhitneyLeastP(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 3: 0.1, 4: 0.0286, 5: 0.0079, 6: 0.0022} {
		x, b := upTo(n), upTo(n)
		for i := range b {
			b[i] += 100
		}
		got, err := MannWhitney(x, b)
		if err != nil || !got.Exact || got.U != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		near(t, fmt.Sprintf("least p at n %d", n), got.P, want, 5e-5)
	}
}

// go-moremath's test, exact and with ties, is an independent implementation. Where
// sides differ in size and ties are lopsided it takes the tail of the mirrored
// distribution; there the enumeration below is the judge.
func TestMannWhitneyOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 500 {
		nx := 2 + rng.IntN(9)
		nb := nx
		levels := 1 << (1 + rng.IntN(5)) // few: many ties
		if rng.IntN(2) == 0 {
			nb, levels = 2+rng.IntN(9), 1<<30
		}
		x, b := drawn(rng, nx, levels), drawn(rng, nb, levels)
		want, err := moremath.MannWhitneyUTest(x, b, moremath.LocationDiffers)
		got, ours := MannWhitney(x, b)
		if ours != nil {
			t.Fatal(ours)
		}
		if err != nil { // all equal
			near(t, "p of equals", got.P, 1, 0)
			continue
		}
		near(t, "U", got.U, want.U, 0)
		near(t, fmt.Sprintf("p of %v, %v", x, b), got.P, want.P, 1e-9)
	}
	for range 20 { // beyond the exact: the approximations are the same
		x, b := drawn(rng, 60, 50), drawn(rng, 70, 50)
		want, err := moremath.MannWhitneyUTest(x, b, moremath.LocationDiffers)
		got, ours := MannWhitney(x, b)
		if err != nil || ours != nil {
			t.Fatal(err, ours)
		}
		near(t, "p of many", got.P, want.P, 1e-9)
	}
}

func drawn(rng *rand.Rand, n, levels int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(rng.IntN(levels))
	}
	return xs
}

// Every way to divide the values, one by one.
func TestMannWhitneyIsTheEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(0, 5), func(i int) float64 { return float64(i) })
		x := rapid.SliceOfN(value, 1, 5).Draw(t, "x")
		b := rapid.SliceOfN(value, 1, 6).Draw(t, "b")
		got, err := MannWhitney(x, b)
		if err != nil {
			t.Fatal(err)
		}
		all := append(append([]float64{}, x...), b...)
		var n, below, above float64
		for mask := range uint(1) << len(all) {
			if bits.OnesCount(mask) != len(x) {
				continue
			}
			u := 0.0
			for i, v := range all {
				for j, w := range all {
					if mask>>i&1 == 1 && mask>>j&1 == 0 {
						u += half(v, w)
					}
				}
			}
			n++
			if u <= got.U {
				below++
			}
			if u >= got.U {
				above++
			}
		}
		if want := math.Min(1, 2*math.Min(below, above)/n); math.Abs(want-got.P) > 1e-12 {
			t.Fatalf("p %g, enumeration %g", got.P, want)
		}
	})
}

func half(v, w float64) float64 {
	switch {
	case v > w:
		return 1
	case v == w:
		return 0.5
	}
	return 0
}

func TestMannWhitneyRefuses(t *testing.T) {
	for _, c := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{math.NaN()}, {1}}, {{1}, {math.Inf(-1)}}} {
		if got, err := MannWhitney(c[0], c[1]); err == nil {
			t.Errorf("%v: %+v", c, got)
		}
	}
	same := make([]float64, 50)
	if got, err := MannWhitney(same, same); err != nil || got.P != 1 || got.Exact {
		t.Errorf("a hundred equals: %+v, %v", got, err)
	}
}

func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		name string
		ds   []float64
		want float64
	}{
		{"all the same way, n 5", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"all the same way, n 6", []float64{-1, -2, -3, -4, -5, -6}, 2.0 / 64},
		{"all the same way, n 8", upTo(8), 2.0 / 256},
		{"the smallest the other way", []float64{-1, 2, 3, 4, 5, 6}, 4.0 / 64},
		{"sums that tie but for rounding", []float64{0.1, 0.2, -0.3, 0.3, 0.1, 0.2}, 24.0 / 64},
		{"nothing", []float64{0, 0, 0}, 1},
		{"sum of zero", []float64{1, -1}, 1},
		{"one", []float64{3}, 1},
		{"zeros count", []float64{0, 0, 1, 1, 1}, 2 * 4.0 / 32},
		{"huge", []float64{1e308, 1e308, 1e308}, 2.0 / 8},
		// Fisher's own, Darwin's maize (1935, 21): 1726 of 2^15 on both sides.
		{"Darwin's maize", []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}, 1726.0 / 32768},
	} {
		near(t, c.name, SignFlip(c.ds), c.want, 1e-12)
	}
	for _, ds := range [][]float64{nil, upTo(SignFlipMax + 1), {1, math.NaN()}, {math.Inf(1)}} {
		if p := SignFlip(ds); !math.IsNaN(p) {
			t.Errorf("%v: p %g, want NaN", ds, p)
		}
	}
	near(t, "the most", SignFlip(upTo(SignFlipMax)), math.Exp2(1-SignFlipMax), 1e-20)
}

// The halves that meet give what counting every choice of signs gives.
func TestSignFlipIsTheEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Map(rapid.IntRange(-9, 9), func(i int) float64 { return float64(i) })
		ds := rapid.SliceOfN(whole, 1, 9).Draw(t, "ds")
		sum := func(mask int) (s float64) {
			for i, d := range ds {
				if mask>>i&1 == 1 {
					d = -d
				}
				s += d
			}
			return math.Abs(s)
		}
		count := 0
		for mask := range 1 << len(ds) {
			if sum(mask) >= sum(0) {
				count++
			}
		}
		if want := float64(count) / math.Exp2(float64(len(ds))); math.Abs(want-SignFlip(ds)) > 1e-12 {
			t.Fatalf("p %g, enumeration %g", SignFlip(ds), want)
		}
	})
}
