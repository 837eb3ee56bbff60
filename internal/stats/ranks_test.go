package stats

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"tare/internal/must"
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
		got := must.Get(MannWhitney(x, b))(t)
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

// MannWhitneyMax is the number of values, of both sides together, up to which the
// test is exact.
const MannWhitneyMax = 60

// RankTest is what [MannWhitney] found.
type RankTest struct {
	U     float64 // pairs in which x is larger, ties counted half: 0 to n_x n_b
	P     float64 // two-sided
	Exact bool    // false: from the normal approximation
}

// MannWhitney tests whether values that share no blocks tend to be larger on one
// side (Mann, Whitney, Ann. Math. Statist. 18, 1947). P is twice the smaller tail
// of the distribution of the rank sum over all ways to divide these very values,
// ties at their mean rank included, and at most 1. Beyond [MannWhitneyMax] values it
// is the normal approximation with correction for ties and continuity.
//
// The smallest P, for values that do not overlap, with n on either side: 0.1 for
// n = 3, 0.0286 for 4, 0.0079 for 5, 0.0022 for 6. So with three trials nothing is
// ever shown. Where all values are equal P is 1. Errors: a side without values, a
// value that is not finite.
func MannWhitney(x, b []float64) (RankTest, error) {
	if err := errors.Join(check(x, 0.95), check(b, 0.95)); err != nil {
		return RankTest{}, fmt.Errorf("rank values against those of the baseline: %w", err)
	}
	ranks, ties := midranks(x, b)
	sum := 0 // twice the rank sum of x
	for _, r := range ranks[:len(x)] {
		sum += r
	}
	nx, nb := len(x), len(b)
	t := RankTest{U: float64(sum-nx*(nx+1)) / 2, Exact: nx+nb <= MannWhitneyMax}
	if t.Exact {
		t.P = rankSumP(ranks, nx, sum)
	} else {
		t.P = rankNormalP(t.U, float64(nx), float64(nb), ties)
	}
	return t, nil
}

// midranks are twice the ranks of the values of x, then of b, among all of them:
// ties share the mean of theirs, and doubled that is a whole number. ties is the
// sum of t^3 - t over groups of t equal values.
func midranks(x, b []float64) (ranks []int, ties float64) {
	all := slices.Concat(x, b)
	sorted := slices.Sorted(slices.Values(all))
	ranks = make([]int, len(all))
	for i, v := range all {
		lo, _ := slices.BinarySearch(sorted, v)
		hi := lo + 1
		for hi < len(sorted) && sorted[hi] == v {
			hi++
		}
		ranks[i] = lo + 1 + hi
		t := float64(hi - lo)
		ties += t*t - 1 // each of t members adds its share of t^3 - t
	}
	return ranks, ties
}

// rankSumP counts the ways to choose n of the ranks, by their sum.
func rankSumP(ranks []int, n, sum int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s]: k of the ranks so far with sum s. At most 60 choose 30, which a
	// float64 holds to 16 digits.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	var all, below, above float64
	for s, w := range ways[n] {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return math.Min(1, 2*math.Min(below, above)/all)
}

func rankNormalP(u, nx, nb, ties float64) float64 {
	n := nx + nb
	sd := math.Sqrt(nx * nb / 12 * (n + 1 - ties/(n*(n-1))))
	far := math.Abs(u-nx*nb/2) - 0.5
	if !(sd > 0) || far <= 0 {
		return 1
	}
	return 2 * distuv.UnitNormal.Survival(far/sd)
}

// SignFlipMax is the most differences that SignFlip takes.
const SignFlipMax = 30

// SignFlip is the exact two-sided p value of the sign-flip permutation test
// (Fisher, The Design of Experiments, 1935) of paired differences, such as the d_i
// of [Differences]: the share of all 2^n ways to choose their signs for which the
// sum is at least as far from 0 as the one seen. It assumes only that a difference
// is as likely the other way round if nothing differs; nothing about its size.
//
// The smallest p is 2/2^n: below 5 % only from n = 6 on (2/64), and with Holm over
// five comparisons from n = 8 on (2/256). Zeros count as differences. Sums that
// differ by rounding alone are taken for equal. It returns NaN, which [Holm] passes
// over, for no differences, more than SignFlipMax (by then the t test needs no
// help), or one that is not finite.
//
// All sums of one half of the differences meet all sums of the other, in order of
// size: 2^(n/2) log 2^(n/2) steps.
func SignFlip(ds []float64) float64 {
	if len(ds) > SignFlipMax || check(ds, 0.95) != nil {
		return math.NaN()
	}
	// By the largest, so that no sum overflows; signs and shares do not mind.
	var largest float64
	for _, d := range ds {
		largest = math.Max(largest, math.Abs(d))
	}
	if largest == 0 {
		return 1
	}
	scaled := make([]float64, len(ds))
	var seen float64
	for i, d := range ds {
		scaled[i] = d / largest
		seen += scaled[i]
	}
	least := math.Abs(seen) - 1e-12*float64(len(ds))
	if least <= 0 {
		return 1
	}
	left, right := signedSums(scaled[:len(ds)/2]), signedSums(scaled[len(ds)/2:])
	slices.Sort(left)
	slices.Sort(right)
	count, j := 0, len(right) // right[j:] reach least together with left[i]
	for _, a := range left {
		for j > 0 && a+right[j-1] >= least {
			j--
		}
		count += len(right) - j
	}
	return math.Min(1, 2*float64(count)/math.Exp2(float64(len(ds))))
}

// signedSums are the sums for every choice of signs.
func signedSums(ds []float64) []float64 {
	sums := make([]float64, 1, 1<<len(ds))
	for _, d := range ds {
		for i := range len(sums) {
			sums = append(sums, sums[i]+d)
			sums[i] -= d
		}
	}
	return sums
}
