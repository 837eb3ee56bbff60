package stats

import (
	"fmt"
	"math"
	"testing"
)

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
