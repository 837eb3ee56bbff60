package stats

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/testkit/must"
)

// Method 5, item 14, the numbers: binom.test of R, and 0 of n.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{
		{1, 5, 0.005050763, 0.7164179}, {7, 20, 0.1539092, 0.5921885}, {0, 21, 0, 0.1610976},
		{5, 5, 0.4781762, 1}, {0, 1, 0, 0.975}, {1, 1, 0.025, 1},
	} {
		lo, hi, ok := ClopperPearson(c.k, c.n, 0.95)
		must.Require(t, ok, "%d of %d: no interval", c.k, c.n)
		near(t, fmt.Sprintf("%d of %d, lo", c.k, c.n), lo, c.lo, 1e-6)
		near(t, fmt.Sprintf("%d of %d, hi", c.k, c.n), hi, c.hi, 1e-6)
	}
	hi, ok := ClopperPearsonUpper(0, 21, 0.95)
	must.Require(t, ok, "no upper limit")
	near(t, "0 of 21, upper limit", hi, 0.1329, 5e-5)
	for _, c := range []struct {
		k, n int
		conf float64
	}{{-1, 5, 0.95}, {6, 5, 0.95}, {0, 0, 0.95}, {1, 5, 0}, {1, 5, 1}, {1, 5, math.NaN()}} {
		_, _, two := ClopperPearson(c.k, c.n, c.conf)
		_, one := ClopperPearsonUpper(c.k, c.n, c.conf)
		must.True(t, !two && !one, "%d of %d at %g has an interval", c.k, c.n, c.conf)
	}
}

// binomial is the probability of at most k successes in n trials that succeed with probability q.
func binomial(k, n int, q float64) float64 {
	return distuv.Binomial{N: float64(n), P: q}.CDF(float64(k))
}

// The limits are the proportions at which what was seen becomes improbable, and so
// the interval covers at least as often as it says, whatever the proportion.
func TestClopperPearsonIsExact(t *testing.T) {
	for _, n := range []int{1, 5, 21, 100} {
		for k := range n + 1 {
			lo, hi, _ := ClopperPearson(k, n, 0.95)
			if k > 0 {
				near(t, fmt.Sprintf("P(%d or more of %d) at lo", k, n), 1-binomial(k-1, n, lo), 0.025, 1e-9)
			}
			if k < n {
				near(t, fmt.Sprintf("P(%d or less of %d) at hi", k, n), binomial(k, n, hi), 0.025, 1e-9)
				up, _ := ClopperPearsonUpper(k, n, 0.95)
				near(t, fmt.Sprintf("P(%d or less of %d) at the upper limit", k, n), binomial(k, n, up), 0.05, 1e-9)
			}
		}
	}
}
