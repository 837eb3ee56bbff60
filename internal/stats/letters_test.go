package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

// differing is the function of CompactLetters for a list of pairs that differ.
func differing(differ ...[2]int) func(i, j int) bool {
	return func(i, j int) bool { return slices.Contains(differ, [2]int{i, j}) }
}

func TestCompactLettersKnownAnswers(t *testing.T) {
	all := func(int, int) bool { return true }
	means := []float64{10, 9, 8, 7, 3}
	for name, c := range map[string]struct {
		n      int
		differ func(i, j int) bool
		want   [][]int
	}{
		"none":          {0, all, nil},
		"one":           {1, all, [][]int{{0}}},
		"all alike":     {4, differing(), [][]int{{0, 1, 2, 3}}},
		"all different": {4, all, [][]int{{0}, {1}, {2}, {3}}},
		// R: PlantGrowth, TukeyHSD at 5 %: trt2 a, ctrl ab, trt1 b. No tie of the two that differ
		// follows from their ties with the third.
		"PlantGrowth": {3, differing([2]int{0, 2}), [][]int{{0, 1}, {1, 2}}},
		// R: InsectSprays, TukeyHSD at 5 %, by mean F B A D E C: two sets.
		"InsectSprays": {6, func(i, j int) bool { return i < 3 && j >= 3 }, [][]int{{0, 1, 2}, {3, 4, 5}}},
		// A least significant difference of 1.5: a, ab, bc, c, d.
		"one size of difference": {5, func(i, j int) bool { return means[i]-means[j] > 1.5 }, [][]int{{0, 1}, {1, 2}, {2, 3}, {4}}},
		// The first and last cannot be told apart although those between differ: their spread is large.
		"a wide one": {4, differing([2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}, [2]int{1, 3}, [2]int{2, 3}), [][]int{{0, 3}, {1}, {2}}},
		// Each pair of 0, 1, 2 has a letter with a fourth one: sweeping removes the letter of these three.
		"swept": {6, func(i, j int) bool {
			return !slices.Contains([][2]int{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {1, 4}, {2, 4}, {0, 5}, {2, 5}}, [2]int{i, j})
		}, [][]int{{0, 1, 3}, {0, 2, 5}, {1, 2, 4}}},
	} {
		got, ok := CompactLetters(c.n, c.differ)
		diff := cmp.Diff(c.want, got)
		must.True(t, diff == "" && ok, "%s: %t (-want +got):\n%s", name, ok, diff)
	}
}

// drawnPairs is a random set of pairs that differ.
func drawnPairs(t *rapid.T) (int, func(i, j int) bool) {
	n := rapid.IntRange(1, 9).Draw(t, "n")
	of := rapid.SliceOfN(rapid.Bool(), n*n, n*n).Draw(t, "differ")
	return n, func(i, j int) bool {
		must.Require(t, i < j, "asked of %d and %d", i, j)
		return of[i*n+j]
	}
}

// together says of two things whether they have a letter in common.
func together(columns [][]int, i, j int) bool {
	return slices.ContainsFunc(columns, func(c []int) bool { return slices.Contains(c, i) && slices.Contains(c, j) })
}

// Two things share a letter if and only if they do not differ, each has one, and none can be
// taken away.
func TestCompactLettersProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, differ := drawnPairs(t)
		columns, ok := CompactLetters(n, differ)
		must.Require(t, ok, "%d things took more than %d letters", n, MaxLetters)
		holds := func(columns [][]int) error {
			for j := range n {
				if !together(columns, j, j) {
					return fmt.Errorf("%d has no letter", j)
				}
				for i := range j {
					if together(columns, i, j) == differ(i, j) {
						return fmt.Errorf("%d and %d differ: %t", i, j, differ(i, j))
					}
				}
			}
			return nil
		}
		must.Do(t, holds(columns))
		must.Require(t, slices.IsSortedFunc(columns, slices.Compare), "not in order: %v", columns)
		for k, c := range columns {
			for at := range c {
				fewer := slices.Clone(columns)
				fewer[k] = slices.Delete(slices.Clone(c), at, at+1)
				if holds(fewer) == nil {
					t.Fatalf("%v: %d does not need letter %d", columns, c[at], k)
				}
			}
		}
	})
}

// More letters than the alphabet has are refused, and quickly: of these n pairs each has a
// choice of its own, which makes 2^n columns.
func TestCompactLettersAreBounded(t *testing.T) {
	for pairs, want := range map[int]bool{5: true, 6: false, 30: false} {
		columns, ok := CompactLetters(2*pairs, func(i, j int) bool { return i%2 == 0 && j == i+1 })
		must.True(t, ok == want && (!ok || len(columns) <= MaxLetters) && (ok || columns == nil), "%d pairs: %d letters, %t", pairs, len(columns), ok)
	}
	// Things in an order never come near: at most one letter a thing.
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		means := make([]float64, 50)
		for i := range means {
			means[i] = rng.NormFloat64()
		}
		slices.Sort(means)
		columns, ok := CompactLetters(len(means), func(i, j int) bool { return means[j]-means[i] > 0.2 })
		must.True(t, ok && len(columns) <= 50, "%d letters, %t", len(columns), ok)
	}
}
