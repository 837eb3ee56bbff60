package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testkit/must"
)

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 12).Draw(t, "ps")
		before := slices.Clone(ps)
		adj := Holm(ps)
		must.Require(t, slices.Equal(ps, before), "changed its argument: %v to %v", before, ps)
		for i, p := range ps {
			if adj[i] < p || adj[i] > 1 {
				t.Fatalf("p %g became %g", p, adj[i])
			}
			if bonferroni := math.Min(1, float64(len(ps))*p); adj[i] > bonferroni {
				t.Fatalf("p %g became %g, above Bonferroni's %g", p, adj[i], bonferroni)
			}
			for j, q := range ps {
				if p <= q && adj[i] > adj[j] {
					t.Fatalf("order lost: %g, %g became %g, %g", p, q, adj[i], adj[j])
				}
			}
		}
		if len(ps) > 0 {
			p := slices.Min(ps)
			must.Require(t, slices.Min(adj) == math.Min(1, float64(len(ps))*p), "least p %g of %d became %g", p, len(ps), slices.Min(adj))
		}
		// A test that could not be made changes nothing for the others.
		with := Holm(append(before, math.NaN()))
		must.Require(t, slices.Equal(with[:len(ps)], adj) && math.IsNaN(with[len(ps)]), "with NaN %v, without %v", with, adj)
	})
}

// pairs draws two equally long series of positive values.
func pairs(t *rapid.T) (x, b []float64) {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	positive := rapid.Float64Range(1e-6, 1e12)
	return rapid.SliceOfN(positive, n, n).Draw(t, "x"), rapid.SliceOfN(positive, n, n).Draw(t, "b")
}

// The baseline may stand above or below the line, and the unit does not matter.
func TestPairedSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, b := pairs(t)
		there, err := Paired(x, b)
		must.Require(t, err == nil, "%v", err)
		back, err := Paired(b, x)
		must.Require(t, err == nil, "%v", err)
		alike(t, "ratio", there.Ratio(), 1/back.Ratio())
		if there.N < 2 {
			return
		}
		alike(t, "p", there.P(), back.P())
		alike(t, "detectable", there.Detectable(), back.Detectable())
		lo, hi, _ := there.Interval(0.95)
		backLo, backHi, _ := back.Interval(0.95)
		alike(t, "lower limit", lo, 1/backHi)
		alike(t, "upper limit", hi, 1/backLo)
		must.Require(t, lo <= there.Ratio() && there.Ratio() <= hi, "ratio %g outside its interval %g to %g", there.Ratio(), lo, hi)
		for i := range x {
			x[i], b[i] = x[i]*1e-3, b[i]*1e-3
		}
		scaled, err := Paired(x, b)
		must.Require(t, err == nil, "%v", err)
		alike(t, "ratio in another unit", scaled.Ratio(), there.Ratio())
	})
}

func alike(t *rapid.T, what string, got, want float64) {
	t.Helper()
	must.Require(t, got == want || math.Abs(got-want) <= 1e-8*math.Max(math.Abs(got), math.Abs(want)), "%s: %g, other way round %g", what, got, want)
}

// The test and the interval are the same statement, at any confidence.
func TestPAgreesWithInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLogRatio(t)
		conf := rapid.Float64Range(0.5, 0.999).Draw(t, "conf")
		lo, hi, ok := l.Interval(conf)
		must.Require(t, ok, "no interval")
		p := l.P()
		if math.Abs(p-(1-conf)) < 1e-6 {
			return // on the edge: rounding decides
		}
		excludes := lo > 1 || hi < 1
		must.Require(t, excludes == (p < 1-conf), "%+v: p %g, %g interval %g to %g", l, p, conf, lo, hi)
	})
}

// Equivalent is a pair of tests; as an interval it is the 90 % one.
func TestEquivalentAgreesWithInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLogRatio(t)
		margin := rapid.Float64Range(0, 0.5).Draw(t, "margin")
		lo, hi, ok := l.Interval(0.90)
		must.Require(t, ok, "no interval")
		if math.Abs(lo*(1+margin)-1) < 1e-9 || math.Abs(hi/(1+margin)-1) < 1e-9 {
			return // on the edge: rounding decides
		}
		inside := lo >= 1/(1+margin) && hi <= 1+margin
		must.Require(t, inside == l.Equivalent(margin), "%+v: 90 %% interval %g to %g, margin %g, equivalent %t", l, lo, hi, margin, !inside)
	})
}

func drawLogRatio(t *rapid.T) LogRatio {
	return LogRatio{
		N:    rapid.IntRange(2, 15).Draw(t, "n"),
		Mean: rapid.Float64Range(-0.3, 0.3).Draw(t, "mean"),
		SD:   rapid.Float64Range(1e-4, 0.3).Draw(t, "sd"),
	}
}

// BlocksNeeded names the first number of blocks with an answer: a plain search
// from 0 upwards, with every member of the family grown by hand, finds the same.
func TestBlocksNeededIsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SliceOfN(rapid.Custom(drawLogRatio), 1, 4).Draw(t, "family")
		margin := rapid.SampledFrom([]float64{0, 0.02, 0.05, 0.1}).Draw(t, "margin")
		got, ok := blocksOfFirst(family, margin)
		const far = 60
		want := -1
		for more := 0; more <= far && want < 0; more++ {
			ps := make([]float64, len(family))
			for j, l := range family {
				ps[j] = LogRatio{N: l.N + more, Mean: l.Mean, SD: l.SD}.P()
			}
			if Decide(LogRatio{N: family[0].N + more, Mean: family[0].Mean, SD: family[0].SD}, Holm(ps)[0], margin) != CannotTell {
				want = more
			}
		}
		if want >= 0 && (!ok || got != want) || want < 0 && ok && got <= far {
			t.Fatalf("%d %t, plain search %d", got, ok, want)
		}
	})
}

// Method 5, item 6: where nothing can be told there are both limits, and the blocks
// still needed or the knowledge that no number within reach would do.
func TestCannotTellSaysWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SliceOfN(rapid.Custom(drawLogRatio), 1, 4).Draw(t, "family")
		margin := rapid.SampledFrom([]float64{0.02, 0.05, 0.1}).Draw(t, "margin")
		ps := make([]float64, len(family))
		for i, l := range family {
			ps[i] = l.P()
		}
		l := family[0]
		if Decide(l, Holm(ps)[0], margin) != CannotTell {
			return
		}
		lo, hi, ok := l.Interval(0.95)
		must.Require(t, ok && lo > 0 && lo < l.Ratio() && l.Ratio() < hi, "%+v: limits %g to %g", l, lo, hi)
		more, ok := blocksOfFirst(family, margin)
		must.Require(t, !ok || more >= 1, "%+v: %d more blocks", l, more)
		if !ok { // so many would not do either
			at := make([]float64, len(family))
			for i, l := range family {
				at[i] = l.grown(MaxBlocksNeeded).P()
			}
			must.EqualFor(t, fmt.Sprintf("%+v: no answer within reach, but then", l), CannotTell, Decide(l.grown(MaxBlocksNeeded), Holm(at)[0], margin))
		}
	})
}
