package stats

import (
	"fmt"
	"math"
	"sort"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// relative fails the test unless got is within tol of want, relative to want.
func relative(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s: %.12g, want %.12g within %g", what, got, want, tol)
	}
}

// The tails are where gonum is known to be weak: closed forms of 1, 2 and 4 degrees
// of freedom hold it there, and its own inverse elsewhere.
func TestTQuantileTails(t *testing.T) {
	for _, p := range []float64{1e-8, 1e-6, 1e-4, 0.001, 0.0125, 0.025, 0.1, 0.4, 0.499} {
		relative(t, fmt.Sprintf("t_%g,1", p), TQuantile(p, 1), -1/math.Tan(math.Pi*p), 1e-9)
		relative(t, fmt.Sprintf("t_%g,2", p), TQuantile(p, 2), (2*p-1)/math.Sqrt(2*p*(1-p)), 1e-9)
		a := 4 * p * (1 - p)
		four := -2 * math.Sqrt(math.Cos(math.Acos(math.Sqrt(a))/3)/math.Sqrt(a)-1)
		relative(t, fmt.Sprintf("t_%g,4", p), TQuantile(p, 4), four, 1e-7)
		for _, df := range []float64{0.5, 1.3, 3, 4.6, 9, 29.7, 200, 1e4} {
			q := TQuantile(p, df)
			relative(t, fmt.Sprintf("P(t < t_%g,%g)", p, df), TTwoSidedP(q, df)/2, p, 1e-8)
			relative(t, fmt.Sprintf("t_%g,%g mirrored", p, df), TQuantile(1-p, df), -q, 1e-7)
		}
	}
	for _, df := range []float64{4.6, 9, 29.7, 200} { // another's arithmetic
		d := moremath.TDist{V: df}
		relative(t, fmt.Sprintf("go-moremath's P(t > 2.1), df %g", df), TTwoSidedP(2.1, df)/2, d.CDF(-2.1), 1e-9)
		relative(t, fmt.Sprintf("go-moremath's P(t < t_.975), df %g", df), d.CDF(TQuantile(0.975, df)), 0.975, 1e-9)
	}
	// Beyond gonum's reach: both sides of the switch, and the normal limit.
	for _, p := range []float64{1e-8, 0.025, 0.4999} {
		relative(t, "the switch", TQuantile(p, tNear*(1+1e-9)), TQuantile(p, tNear), 1e-7)
	}
	relative(t, "t_.975,1e9", TQuantile(0.975, 1e9), 1.959963985, 1e-8)
	relative(t, "t_.975,2e4", TQuantile(0.975, 2e4), 1.9600826, 1e-6)
}

func TestFQuantile(t *testing.T) {
	// Any printed F table, upper 5 % and 2.5 %.
	for _, c := range []struct{ p, d1, d2, want float64 }{
		{0.95, 1, 1, 161.45}, {0.95, 2, 10, 4.103}, {0.95, 5, 2, 19.296}, {0.95, 4, 20, 2.866}, {0.975, 9, 9, 4.026},
	} {
		near(t, fmt.Sprintf("F_%g,%g,%g", c.p, c.d1, c.d2), FQuantile(c.p, c.d1, c.d2), c.want, 0.006)
	}
	for _, p := range []float64{1e-6, 0.025, 0.5, 0.975, 0.999999} {
		for _, d := range []float64{1, 3.5, 10, 1000} {
			closed := d / 2 * math.Expm1(-2/d*math.Log1p(-p)) // of 2 degrees of freedom above
			relative(t, fmt.Sprintf("F_%g,2,%g", p, d), FQuantile(p, 2, d), closed, 1e-7)
		}
	}
	q := TQuantile(0.975, 7)
	relative(t, "t squared", FQuantile(0.95, 1, 7), q*q, 1e-8)
	for _, c := range [][3]float64{{0, 1, 1}, {1, 1, 1}, {math.NaN(), 1, 1}, {0.5, 0, 1}, {0.5, 1, -1}, {0.5, math.Inf(1), 1}, {0.5, 1, math.NaN()}} {
		if got := FQuantile(c[0], c[1], c[2]); !math.IsNaN(got) {
			t.Errorf("FQuantile%v = %g, want NaN", c, got)
		}
	}
}

func TestBetaQuantile(t *testing.T) {
	for _, p := range []float64{1e-6, 0.025, 0.5, 0.975, 0.999999} {
		for _, s := range []float64{0.5, 1, 5, 100} {
			relative(t, fmt.Sprintf("B_%g;1,%g", p, s), BetaQuantile(p, 1, s), -math.Expm1(math.Log1p(-p)/s), 1e-7)
			relative(t, fmt.Sprintf("B_%g;%g,1", p, s), BetaQuantile(p, s, 1), math.Pow(p, 1/s), 1e-7)
		}
		arcsine := math.Sin(math.Pi * p / 2)
		relative(t, fmt.Sprintf("B_%g;.5,.5", p), BetaQuantile(p, 0.5, 0.5), arcsine*arcsine, 1e-9)
	}
	for _, c := range [][3]float64{{0, 1, 1}, {1, 1, 1}, {math.NaN(), 1, 1}, {0.5, 0, 1}, {0.5, 1, -1}, {0.5, math.Inf(1), 1}} {
		if got := BetaQuantile(c[0], c[1], c[2]); !math.IsNaN(got) {
			t.Errorf("BetaQuantile%v = %g, want NaN", c, got)
		}
	}
}

// Against the sum of its terms.
func TestBinomial(t *testing.T) {
	for _, n := range []int{1, 2, 7, 60, 1000} {
		for _, q := range []float64{0.001, 0.1, 0.5, 0.93} {
			sum := 0.0
			for k := range n + 1 {
				lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
				sum += math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q))
				near(t, fmt.Sprintf("P(B <= %d), n %d, q %g", k, n, q), BinomialCDF(k, n, q), sum, 1e-10)
			}
			for _, p := range []float64{0.001, 0.025, 0.5, 0.975} {
				k := BinomialQuantile(p, n, q)
				if k < 0 || k > n || BinomialCDF(k, n, q) < p || BinomialCDF(k-1, n, q) >= p {
					t.Errorf("quantile %g of n %d, q %g: %d", p, n, q, k)
				}
			}
		}
	}
	for _, c := range []struct {
		k, n int
		q    float64
		want float64
	}{{-1, 5, 0.5, 0}, {5, 5, 0.5, 1}, {9, 5, 0.5, 1}, {0, 0, 0.5, 1}, {0, 5, 0, 1}, {4, 5, 1, 0}, {5, 5, 1, 1}} {
		near(t, fmt.Sprintf("P(B <= %d), n %d, q %g", c.k, c.n, c.q), BinomialCDF(c.k, c.n, c.q), c.want, 0)
	}
	if !math.IsNaN(BinomialCDF(0, -1, 0.5)) || !math.IsNaN(BinomialCDF(0, 5, 1.1)) || !math.IsNaN(BinomialCDF(0, 5, math.NaN())) {
		t.Error("a binomial that is none has a probability")
	}
	for _, got := range []int{BinomialQuantile(0, 5, 0.5), BinomialQuantile(1, 5, 0.5), BinomialQuantile(0.5, -1, 0.5), BinomialQuantile(0.5, 5, -0.1)} {
		if got != -1 {
			t.Errorf("quantile of what is none: %d", got)
		}
	}
}

// FQuantile is the value below which an F variable with d1 and d2 degrees of
// freedom lies with probability p (Snedecor 1934). It returns NaN unless
// 0 < p < 1 and both degrees of freedom are positive and finite.
func FQuantile(p, d1, d2 float64) float64 {
	if !(p > 0 && p < 1) || !shape(d1) || !shape(d2) {
		return math.NaN()
	}
	if p > 0.5 { // the upper tail from the lower one of 1/F, which keeps its digits
		return 1 / distuv.F{D1: d2, D2: d1}.Quantile(1-p)
	}
	return distuv.F{D1: d1, D2: d2}.Quantile(p)
}

// BinomialCDF is the probability of at most k successes in n independent trials
// that succeed with probability q each: 0 below 0 successes, 1 from n on. It
// returns NaN unless n >= 0 and 0 <= q <= 1.
func BinomialCDF(k, n int, q float64) float64 {
	switch {
	case n < 0 || !(q >= 0 && q <= 1):
		return math.NaN()
	case k < 0:
		return 0
	case k >= n || q == 0:
		return 1
	case q == 1:
		return 0
	}
	return distuv.Binomial{N: float64(n), P: q}.CDF(float64(k))
}

// BinomialQuantile is the smallest k with BinomialCDF(k, n, q) >= p. It returns -1
// unless 0 < p < 1, n >= 0 and 0 <= q <= 1.
func BinomialQuantile(p float64, n int, q float64) int {
	if !(p > 0 && p < 1) || n < 0 || !(q >= 0 && q <= 1) {
		return -1
	}
	return sort.Search(n, func(k int) bool { return BinomialCDF(k, n, q) >= p })
}

// Method 5, item 7: t quantiles against a table.
func TestTQuantile(t *testing.T) {
	// Any printed t table; two-sided 95 %, one-sided 95 %, 99.5 % and 80 %.
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 4, 2.776}, {0.975, 9, 2.262}, {0.975, 30, 2.042},
		{0.95, 4, 2.132}, {0.95, 9, 1.833}, {0.995, 4, 4.604}, {0.80, 4, 0.941}, {0.80, 1, 1.376},
		{0.5, 3, 0}, {0.025, 4, -2.776},
	} {
		near(t, fmt.Sprintf("t_%g,%g", c.p, c.df), TQuantile(c.p, c.df), c.want, 0.00051)
	}
	for _, c := range [][2]float64{{0, 4}, {1, 4}, {-1, 4}, {math.NaN(), 4}, {0.9, 0}, {0.9, -1}, {0.9, math.NaN()}, {0.9, math.Inf(1)}} {
		if got := TQuantile(c[0], c[1]); !math.IsNaN(got) {
			t.Errorf("TQuantile(%g, %g) = %g, want NaN", c[0], c[1], got)
		}
	}
}

func TestTTwoSidedP(t *testing.T) {
	for _, c := range []struct{ t, df, want, tol float64 }{
		{0, 4, 1, 0},
		{1, 1, 0.5, 1e-12},           // Cauchy: 1 - 2 atan(1)/pi
		{-4.0621, 9, 0.002833, 5e-7}, // R, t.test of the sleep data
		{2.776445, 4, 0.05, 1e-7},    // qt(0.975, 4)
		{1e8, 2, 1e-16, 1e-24},       // df 2: about 1/t^2, digits kept far out
		{math.Inf(-1), 3, 0, 0},      // constant difference
	} {
		near(t, fmt.Sprintf("p of t %g, df %g", c.t, c.df), TTwoSidedP(c.t, c.df), c.want, c.tol)
	}
	for _, c := range [][2]float64{{math.NaN(), 4}, {1, 0}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if got := TTwoSidedP(c[0], c[1]); !math.IsNaN(got) {
			t.Errorf("TTwoSidedP(%g, %g) = %g, want NaN", c[0], c[1], got)
		}
	}
}
