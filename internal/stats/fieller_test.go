package stats

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tare/internal/must"
)

// Method 5, item 7: a published run of R's mratios (t.test.ratio with unequal
// variances on rnorm(5, 1) and rnorm(5, 2) after set.seed(12345)), which prints
// 0.8643849 and 0.4056763 to 2.6170008.
func TestFiellerKnownAnswer(t *testing.T) {
	x := []float64{1.5855288, 1.7094660, 0.8906967, 0.5465028, 1.6058875}
	b := []float64{0.1820440, 2.6300986, 1.7238159, 1.7158403, 1.0806780}
	m, err := Fieller(x, b, 0.95)
	if err != nil || !m.HasInterval || m.Unbounded || m.N != 5 {
		t.Fatalf("%+v, %v", m, err)
	}
	near(t, "ratio", m.Value, 0.8643849, 1e-7)
	near(t, "lo", m.Lo, 0.4056763, 1e-6)
	near(t, "hi", m.Hi, 2.6170008, 1e-5)
}

// The interval is the set of ratios that the t test does not reject: at its limits
// the test is exactly at its quantile. And it does not mind units, nor which of the
// two is called the baseline.
func TestFiellerIsTheTestInverted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(1, 100), 2, 8).Draw(t, "x")
		b := rapid.SliceOfN(rapid.Float64Range(1, 100), 2, 8).Draw(t, "b")
		m, err := Fieller(x, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if m.HasInterval == m.Unbounded {
			t.Fatalf("neither or both: %+v", m)
		}
		mx, sx := meanSD(x)
		mb, sb := meanSD(b)
		ex, eb := sx/math.Sqrt(float64(len(x))), sb/math.Sqrt(float64(len(b)))
		if ex == 0 && eb == 0 || m.Unbounded {
			return
		}
		q := TQuantile(0.975, m.DF)
		for _, r := range []float64{m.Lo, m.Hi} {
			got := math.Abs(mx-r*mb) / math.Hypot(ex, r*eb)
			if math.Abs(got-q) > 1e-5*q && mb*mb/(eb*eb) > 1.01*q*q {
				t.Fatalf("t at the limit %g is %g, not %g", r, got, q)
			}
		}
		back, err := Fieller(b, x, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if back.HasInterval && m.Lo > 0 && m.Hi < 1e3 {
			alike(t, "lo the other way round", 1/back.Hi, m.Lo)
			alike(t, "hi the other way round", 1/back.Lo, m.Hi)
		}
	})
}

func TestFiellerEdges(t *testing.T) {
	for _, c := range []struct {
		name           string
		x, b           []float64
		value          float64
		has, unbounded bool
	}{
		{"baseline not to be told from 0", []float64{1, 2, 3}, []float64{-1, 2, 3}, 1.5, false, true},
		{"one value", []float64{1}, []float64{2, 3, 4}, 1.0 / 3, false, false},
		{"no spread", []float64{1, 1}, []float64{4, 4, 4}, 0.25, true, false},
		{"only the baseline varies", []float64{3, 3}, []float64{4, 4.1, 3.9}, 0.75, true, false},
		{"of nothing", []float64{0, 0}, []float64{4, 4.1, 3.9}, 0, true, false},
		{"negative", []float64{-3, -3.1}, []float64{-4, -4.1, -3.9}, 0.7625, true, false},
	} {
		m := must.Get(Fieller(c.x, c.b, 0.95))(t)
		near(t, c.name, m.Value, c.value, 1e-12)
		if m.HasInterval != c.has || m.Unbounded != c.unbounded || c.has && !(m.Lo <= m.Value && m.Value <= m.Hi) {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
	const what = "ratio of arithmetic means: "
	for _, c := range []struct {
		x, b []float64
		conf float64
		want string
	}{
		{nil, []float64{1}, 0.95, what + "no values"},
		{[]float64{1}, nil, 0.95, what + "baseline: no values"},
		{[]float64{1, math.NaN()}, []float64{1}, 0.95, what + "value 2 is NaN"},
		{[]float64{1, 2}, []float64{1, -1}, 0.95, what + "the mean of the baseline is 0"},
		{[]float64{1, 2}, []float64{1, 1}, 2, what + "confidence 2 is not within (0, 1)"},
	} {
		if _, err := Fieller(c.x, c.b, c.conf); text(err) != c.want {
			t.Errorf("%q, want %q", text(err), c.want)
		}
	}
}

// Student's sleep data again, this time as two groups: Welch's test of R on the
// same numbers (t = -1.8608, df = 17.776, p = 0.07939, -3.3654832 to 0.2054832).
func TestUnpairedKnownAnswer(t *testing.T) {
	x, b := sleepers()
	l := must.Get(Unpaired(x, b))(t)
	lo, hi, ok := l.Interval(0.95)
	if !ok || l.N != 10 {
		t.Fatalf("%+v", l)
	}
	near(t, "df", l.DF, 17.776, 5e-4)
	near(t, "p", l.P(), 0.07939, 5e-6)
	near(t, "t", l.inErrors(l.Mean), -1.8608, 5e-5)
	near(t, "ln lo", math.Log(lo), -3.3654832, 5e-7)
	near(t, "ln hi", math.Log(hi), 0.2054832, 5e-7)
}

func TestUnpairedEdges(t *testing.T) {
	one, err := Unpaired([]float64{2}, []float64{1, 1, 1, 1})
	if err != nil || one.N != 1 || !math.IsNaN(one.P()) || Decide(one, 0, 0.05) != CannotTell {
		t.Errorf("one value: %+v, %v", one, err)
	}
	same, err := Unpaired([]float64{2, 2}, []float64{2, 2, 2})
	if err != nil || same.P() != 1 || same.DF != 3 {
		t.Errorf("no spread, equal: %+v, %v", same, err)
	}
	far, err := Unpaired([]float64{4, 4, 4}, []float64{2, 2, 2})
	if err != nil || far.P() != 0 || Decide(far, 0, 0.05) != Different {
		t.Errorf("no spread, twice: %+v, %v", far, err)
	}
	const what = "compare values with those of the baseline: "
	for _, c := range []struct {
		x, b []float64
		want string
	}{
		{nil, []float64{1}, what + "no values"},
		{[]float64{1}, nil, what + "baseline: no values"},
		{[]float64{1, 0}, []float64{1}, what + "value 2 is 0, not positive"},
		{[]float64{1}, []float64{1, math.Inf(1)}, what + "baseline: value 2 is +Inf"},
	} {
		if _, err := Unpaired(c.x, c.b); text(err) != c.want {
			t.Errorf("%q, want %q", text(err), c.want)
		}
	}
}

// More values on either side come to what the forecast says of them: degrees of
// freedom of Welch grow with n-1.
func TestUnpairedGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		value := rapid.Float64Range(1, 3)
		x, b := rapid.SliceOfN(value, n, n).Draw(t, "x"), rapid.SliceOfN(value, n, n).Draw(t, "b")
		l, err := Unpaired(x, b)
		if err != nil {
			t.Fatal(err)
		}
		if l.SD == 0 {
			return
		}
		if lo, hi := float64(n-1), float64(2*n-2); l.DF < lo*(1-1e-9) || l.DF > hi*(1+1e-9) {
			t.Fatalf("%g degrees of freedom of %d and %d values", l.DF, n, n)
		}
		alike(t, "degrees of freedom", l.grown(n).DF/float64(2*n-1), l.DF/float64(n-1))
		back, err := Unpaired(b, x)
		if err != nil {
			t.Fatal(err)
		}
		alike(t, "p the other way round", back.P(), l.P())
		if got, ok := blocksOfFirst([]LogRatio{l}, 0.05); ok && got > 0 {
			grown := l.grown(got)
			if Decide(grown, grown.P(), 0.05) == CannotTell {
				t.Fatalf("%d more blocks do not do: %+v", got, l)
			}
		}
	})
}

// The ratio of two ratios to a constant baseline is what Welch makes of the values
// themselves.
func TestOver(t *testing.T) {
	x, b := sleepers()
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	lx := must.Get(Paired(x, ones))(t)
	lb := must.Get(Paired(b[:7], ones[:7]))(t)
	want := must.Get(Unpaired(x, b[:7]))(t)
	got := lx.Over(lb)
	must.Equal(t, want, got, cmpopts.EquateApprox(1e-12, 0))
	if l := lx.Over(LogRatio{N: 1, Mean: 0.5}); l.N != 1 || !math.IsNaN(l.P()) {
		t.Errorf("over a single block: %+v", l)
	}
	if l := (LogRatio{N: 3}).Over(LogRatio{N: 4, Mean: 0.1}); l.P() != 0 || l.DF != 5 {
		t.Errorf("without spread: %+v", l)
	}
}

// MeanRatio is a ratio of two arithmetic means. N is the smaller number of values.
type MeanRatio struct {
	Estimate
	DF        float64 // degrees of freedom, 0 where there is no interval
	Unbounded bool    // the baseline's mean cannot be told from 0: no finite interval holds the ratio
}

// Fieller is the ratio of the arithmetic means of x and b, values that share no
// blocks, with the interval of all ratios R that a t test of mean x = R mean b does
// not reject (Fieller, J. R. Statist. Soc. B 16, 1954; the effect-size interval of
// Kalibera and Jones 2013): with means X, B and
//
//	hx^2 = t^2 s_x^2/n_x,   hb^2 = t^2 s_b^2/n_b,   t = t_{(1+conf)/2, DF}:
//
//	[X B -+ sqrt((X B)^2 - (X^2-hx^2)(B^2-hb^2))] / (B^2 - hb^2)
//
// DF is Satterthwaite's for X - R B at R = X/B (Tamhane, Logan, J. Biopharm. Stat.
// 14, 2004). If hb >= |B| no finite interval exists: Unbounded is true and
// HasInterval false. A side of one value has neither. Values may be 0 or negative.
// Errors: a side without values, a value that is not finite, a baseline whose mean
// is 0, conf not within (0, 1).
//
// For positive values with noise in proportion, [Unpaired] is better; where blocks
// are known, [Paired] is.
func Fieller(x, b []float64, conf float64) (MeanRatio, error) {
	const what = "ratio of arithmetic means"
	if err := check(x, conf); err != nil {
		return MeanRatio{}, fmt.Errorf("%s: %w", what, err)
	}
	if err := check(b, conf); err != nil {
		return MeanRatio{}, fmt.Errorf("%s: baseline: %w", what, err)
	}
	mx, sx := meanSD(x)
	mb, sb := meanSD(b)
	if mb == 0 {
		return MeanRatio{}, errors.New(what + ": the mean of the baseline is 0")
	}
	r := mx / mb
	m := MeanRatio{Estimate: Estimate{N: min(len(x), len(b)), Value: r}}
	if m.N < 2 {
		return m, nil
	}
	// In units of B, where the formula has R for X and 1 for B.
	ex, eb := sx/math.Sqrt(float64(len(x)))/mb, sb/math.Sqrt(float64(len(b)))/mb
	_, m.DF = welch(sx, len(x), r*sb, len(b))
	t := TQuantile((1+conf)/2, m.DF)
	hx2, hb2 := t*t*ex*ex, t*t*eb*eb
	if !(hb2 < 1) {
		m.Unbounded, m.DF = true, 0
		return m, nil
	}
	root := math.Sqrt(math.Max(0, r*r*hb2+hx2*(1-hb2))) // the terms of r^2 cancel
	m.Lo, m.Hi, m.HasInterval = (r-root)/(1-hb2), (r+root)/(1-hb2), true
	return m, nil
}
