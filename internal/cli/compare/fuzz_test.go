package compare

import (
	"math"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzShares checks that the values of --margin and --fail-on are an error, or a share between 0 and 1 and a word of the list.
func FuzzShares(f *testing.F) {
	f.Add("5%", "worse:5%")
	f.Add("0.05", "lost")
	f.Add("NaN", "worse:")
	f.Add("1e-400%", " cannot_tell:1")
	f.Add("-0.1\n", "refused")
	f.Fuzz(func(t *testing.T, margin, failOn string) {
		v, err := share(margin)
		must.True(t, err != nil || !math.IsNaN(v) && v > 0 && v < 1, "%q is a share of %g", margin, v)
		g, err := gateOf([]string{failOn})
		must.True(t, err != nil || len(g.on) == 1 && strings.Contains("worse lost cannot_tell refused", g.on[0]), "%q is %+v", failOn, g)
	})
}
