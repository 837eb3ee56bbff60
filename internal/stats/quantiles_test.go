package stats

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/testkit/must"
)

// relative fails the test unless got is within tol of want, relative to want.
func relative(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	must.True(t, math.Abs(got-want) <= tol*math.Abs(want), "%s: %.12g, want %.12g within %g", what, got, want, tol)
}

// The tails are where Cephes is known to be weak: closed forms of 1, 2 and 4 degrees
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
	for _, c := range []struct{ df, tail, quantile float64 }{ // mpmath 1.3.0 with 40 digits: P(t > 2.1) and t_.975
		{4.6, 0.04729695753953587, 2.639291609747002}, {9, 0.03255914120607603, 2.262157162798206},
		{29.7, 0.02216508165292339, 2.043137856247258}, {200, 0.01849131859041951, 1.971896223633909},
	} {
		relative(t, fmt.Sprintf("P(t > 2.1), df %g", c.df), TTwoSidedP(2.1, c.df)/2, c.tail, 1e-12)
		relative(t, fmt.Sprintf("t_.975,%g", c.df), TQuantile(0.975, c.df), c.quantile, 1e-9)
	}
	// Beyond its reach: both sides of the switch, and the normal limit.
	for _, p := range []float64{1e-8, 0.025, 0.4999} {
		relative(t, "the switch", TQuantile(p, tNear*(1+1e-9)), TQuantile(p, tNear), 1e-7)
	}
	relative(t, "t_.975,1e9", TQuantile(0.975, 1e9), 1.959963985, 1e-8)
	relative(t, "t_.975,2e4", TQuantile(0.975, 2e4), 1.9600826, 1e-6)
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
		got := BetaQuantile(c[0], c[1], c[2])
		must.True(t, math.IsNaN(got), "BetaQuantile%v = %g, want NaN", c, got)
	}
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

// The package distuv has the same functions of the same library.
func TestQuantilesOfDistuv(t *testing.T) {
	const tol = 1e-12
	for _, p := range []float64{1e-12, 1e-8, 1e-4, 0.01, 0.025, 0.3, 0.5, 0.7, 0.95, 0.975, 0.9999, 1 - 1e-9} {
		relative(t, fmt.Sprintf("z_%g", p), normalQuantile(p), distuv.UnitNormal.Quantile(p), tol)
		for _, a := range []float64{0.3, 0.5, 1, 1.7, 4, 29.5, 300, tNear} {
			d := distuv.StudentsT{Sigma: 1, Nu: a}
			relative(t, fmt.Sprintf("t_%g,%g", p, a), TQuantile(p, a), d.Quantile(p), tol)
			relative(t, fmt.Sprintf("P(|t| > t_%g,%g)", p, a), TTwoSidedP(d.Quantile(p), a), 2*d.CDF(-math.Abs(d.Quantile(p))), tol)
			for _, b := range []float64{0.5, 1, 3, 40, 1e4} {
				relative(t, fmt.Sprintf("B_%g;%g,%g", p, a, b), BetaQuantile(p, a, b), distuv.Beta{Alpha: a, Beta: b}.Quantile(p), tol)
			}
		}
	}
}
