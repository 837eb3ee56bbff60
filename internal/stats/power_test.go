package stats

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

// The table f(n) of the method: the detectable difference in units of SD. It is
// rounded up at n 6 (1.425) and n 10 (0.995), hence the tolerance.
func TestDetectableTable(t *testing.T) {
	for n, want := range map[int]float64{3: 3.10, 4: 2.08, 5: 1.66, 6: 1.43, 8: 1.15, 10: 1.00, 15: 0.78, 20: 0.66, 30: 0.53} {
		const sd = 0.042
		got := math.Log1p(LogRatio{N: n, SD: sd}.Detectable()) / sd
		near(t, fmt.Sprintf("f(%d)", n), got, want, 0.0056)
	}
	d := (LogRatio{N: 1}).Detectable()
	must.True(t, math.IsNaN(d), "detectable with one block: %g, want NaN", d)
	must.Equal(t, float64(0), (LogRatio{N: 5}).Detectable())
}

// What is called detectable is found about four times out of five.
func TestDetectableIsDetected(t *testing.T) {
	for _, n := range []int{5, 10} {
		const own = 0.03
		truth := LogRatio{N: n, SD: own * math.Sqrt2}
		m := newModel(n, own, 0.06)
		found := share(reps, func() bool { return m.compare(t, 1/(1+truth.Detectable()))[0].P() < 0.05 })
		inRange(t, fmt.Sprintf("power at n %d", n), found, 0.77, 0.83)
	}
}

// blocksOfFirst is what the first member of a family needs, and whether any number would do.
func blocksOfFirst(family []LogRatio, margin float64) (int, bool) {
	n := BlocksNeeded(family, margin)[0]
	return max(n, 0), n >= 0
}

// Searched for a whole family at once, each member needs the blocks that it needs by the
// definition: Holm's correction of the family, after each number of blocks.
func TestBlocksNeededOfFamily(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) LogRatio {
			l := drawLogRatio(t)
			l.N = rapid.IntRange(1, 9).Draw(t, "blocks")
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				l.SD = 0
			}
			return l
		})
		family := rapid.SliceOfN(one, 1, 30).Draw(t, "all")
		margin := rapid.SampledFrom([]float64{0, 0.02, 0.05}).Draw(t, "margin")
		for i, got := range BlocksNeeded(family, margin) {
			want := -1
			n := sort.Search(MaxBlocksNeeded+1, func(more int) bool {
				ps := make([]float64, len(family))
				for j, l := range family {
					ps[j] = l.grown(more).P()
				}
				return Decide(family[i].grown(more), Holm(ps)[i], margin) != CannotTell
			})
			if family[i].N >= 2 && n <= MaxBlocksNeeded {
				want = n
			}
			must.Require(t, got == want, "member %d of %+v: %d blocks, want %d", i, family, got, want)
		}
	})
}

// The work for a family grows with its size, not with the square of it.
func TestBlocksNeededGrowsLinearly(t *testing.T) {
	allocated := func(n int) float64 {
		family := make([]LogRatio, n)
		for i := range family {
			family[i] = LogRatio{N: 2 + i%7, Mean: 0.02 * float64(i%11), SD: 0.01 * float64(1+i%13)}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		BlocksNeeded(family, 0.05)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := allocated(4000), allocated(8000)
	must.True(t, many <= 2.3*few, "%g bytes for 4000 members, %g for 8000", few, many)
}

func TestBlocksNeeded(t *testing.T) {
	for _, c := range []struct {
		name   string
		family []LogRatio
		margin float64
		want   int
		ok     bool
	}{
		// (t_.95 + 0) sd / sqrt n <= ln 1.05 by the t table: with sd 8 %, n 9 gives
		// 1.860 * 8 % / 3 = 4.96 % > 4.88 %, n 10 gives 1.833 * 8 % / 3.16 = 4.64 %.
		{"towards same", []LogRatio{{N: 5, Mean: 0, SD: 0.08}}, 0.05, 5, true},
		// t_.975 sd / sqrt n < 10 %: with sd 10 %, n 6 gives 10.49 %, n 7 gives 9.25 %.
		{"towards different", []LogRatio{{N: 4, Mean: -0.10, SD: 0.10}}, 0.05, 3, true},
		// Two others alike: Holm asks p < .05/3 of the first, .05 of the last.
		// p at n 9 is .0171, at n 10 .0115 (t 3, df 8 and t 3.16, df 9).
		{"towards different, three modes", []LogRatio{{N: 4, Mean: -0.10, SD: 0.10}, {N: 4, Mean: 0, SD: 0.1}, {N: 4, Mean: 0, SD: 0.1}}, 0.05, 6, true},
		{"answered", []LogRatio{{N: 5, Mean: -0.5, SD: 0.01}}, 0.05, 0, true},
		{"third block", []LogRatio{{N: 2, Mean: -0.5, SD: 0.01}}, 0.05, 1, true},
		{"one block", []LogRatio{{N: 1, Mean: -0.5, SD: 0}}, 0.05, 0, false},
		{"too far", []LogRatio{{N: 5, Mean: 0, SD: 2}}, 0.05, 0, false},
		{"a relative of one block has no say", []LogRatio{{N: 4, Mean: -0.10, SD: 0.10}, {N: 1}}, 0.05, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := blocksOfFirst(c.family, c.margin)
			must.True(t, got == c.want && ok == c.ok, "%d %t, want %d %t", got, ok, c.want, c.ok)
		})
	}
}

// The cap is 1000 blocks, and 1000 itself is still an answer.
func TestBlocksNeededCap(t *testing.T) {
	const n, margin = 3, 0.05
	// The spread at which the 90 % interval of n+more blocks just fits the margin.
	fits := func(more int) float64 {
		all := float64(n + more)
		return math.Log1p(margin) * math.Sqrt(all) / TQuantile(0.95, all-1)
	}
	at := []LogRatio{{N: n, Mean: 0, SD: fits(MaxBlocksNeeded) * (1 - 1e-9)}}
	got, ok := blocksOfFirst(at, margin)
	must.True(t, got == MaxBlocksNeeded && ok, "at the cap: %d %t", got, ok)
	beyond := []LogRatio{{N: n, Mean: 0, SD: fits(MaxBlocksNeeded) * (1 + 1e-9)}}
	if got, ok := blocksOfFirst(beyond, margin); ok {
		t.Errorf("beyond the cap: %d", got)
	}
}

// Method 5, item 7, and the table g(n) of the method: the half-width of the 95 %
// interval in units of SD.
func TestHalfWidthTable(t *testing.T) {
	for n, want := range map[int]float64{4: 1.59, 5: 1.24, 6: 1.05, 8: 0.84, 10: 0.72, 20: 0.47} {
		const sd = 0.042
		got := math.Asinh(LogRatio{N: n, SD: sd}.HalfWidth(0.95)) / sd
		near(t, fmt.Sprintf("g(%d)", n), got, want, 0.0051)
	}
	l := LogRatio{N: 5, Mean: -0.3, SD: 0.1}
	lo, hi, _ := l.Interval(0.95)
	near(t, "half of the width, relative", l.HalfWidth(0.95), (hi-lo)/2/l.Ratio(), 1e-12)
	w := (LogRatio{N: 1}).HalfWidth(0.95)
	must.True(t, math.IsNaN(w), "half-width with one block: %g, want NaN", w)
	if w := l.HalfWidth(1); !math.IsNaN(w) {
		t.Errorf("half-width at 100 %%: %g, want NaN", w)
	}
}

// At true equality a margin of 5 % is shown at least four times out of five with 4 blocks of a
// spread of 2 %, or 9 of 4.2 %.
func TestEquivalentP(t *testing.T) {
	for _, c := range []struct {
		n  int
		sd float64
	}{{4, 0.02}, {9, 0.042}} {
		m := newModel(c.n, c.sd/math.Sqrt2, 0.06)
		shown := 0
		for range reps {
			if l := m.compare(t, 1)[0]; l.Equivalent(0.05) {
				shown++
			}
		}
		inRange(t, fmt.Sprintf("equivalence shown at n %d, spread %g", c.n, c.sd), float64(shown)/reps, 0.80, 0.96)
	}
	for _, c := range []struct {
		name   string
		l      LogRatio
		margin float64
		want   float64
	}{
		// t = ln 1.05 * sqrt 5 / 0.05 = 2.182 with 4 df.
		{"in the middle", LogRatio{N: 5, SD: 0.05}, 0.05, 0.0473},
		{"on the limit", LogRatio{N: 5, Mean: math.Log1p(0.05), SD: 0.05}, 0.05, 0.5},
		{"beyond", LogRatio{N: 5, Mean: 2 * math.Log1p(0.05), SD: 0.05}, 0.05, 1 - 0.0473},
		{"constant, inside", LogRatio{N: 5, Mean: 0.01}, 0.05, 0},
		{"constant, beyond", LogRatio{N: 5, Mean: -0.1}, 0.05, 1},
		{"no margin", LogRatio{N: 5, Mean: 0.0, SD: 0.1}, 0, 0.5},
		{"one block", LogRatio{N: 1}, 0.05, math.NaN()},
		{"negative margin", LogRatio{N: 5, SD: 0.1}, -0.1, math.NaN()},
	} {
		p := c.l.EquivalentP(c.margin)
		must.True(t, math.Abs(p-c.want) < 5e-4 || math.IsNaN(p) && math.IsNaN(c.want), "%s: p %g, want %g", c.name, p, c.want)
	}
}

// Of several comparisons each is at its share of 5 %, so that less is detected: with 10 blocks
// and 10 tests, t(.9975, 9) + t(.80, 9) = 3.690 + 0.883 standard errors.
func TestDetectableAmong(t *testing.T) {
	l := LogRatio{N: 10, SD: 0.1}
	near(t, "one", l.DetectableAmong(1), l.Detectable(), 0)
	near(t, "ten", math.Log1p(l.DetectableAmong(10)), (3.6897+0.8834)*0.1/math.Sqrt(10), 1e-4)
	d := l.DetectableAmong(0)
	must.True(t, math.IsNaN(d), "none: %g", d)
}
