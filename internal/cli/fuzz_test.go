package cli

import (
	"math"
	"strings"
	"testing"
)

// FuzzOptions checks that the values of --margin, --fail-on and --engine are an error, or a share
// between 0 and 1, a word of the list, and the given names.
func FuzzOptions(f *testing.F) {
	f.Add("5%", "worse:5%", "a=10.0.0.1", "b=tcp://x:1=10.0.0.2")
	f.Add("0.05", "lost", "=", "a=")
	f.Add("NaN", "worse:", "lab", "")
	f.Add("1e-400%", " cannot_tell:1", "a==", "\x1b[31m=x")
	f.Add("-0.1\n", "refused", "", "")
	f.Fuzz(func(t *testing.T, margin, failOn, one, other string) {
		v, err := share(margin)
		if err == nil && (math.IsNaN(v) || v <= 0 || v >= 1) {
			t.Errorf("%q is a share of %g", margin, v)
		}
		g, err := gateOf([]string{failOn})
		if err == nil && (len(g.on) != 1 || !strings.Contains("worse lost cannot_tell refused", g.on[0])) {
			t.Errorf("%q is %+v", failOn, g)
		}
		e, err := (&engineFlags{engines: []string{one, other}}).parse()
		for i, given := range []string{one, other} {
			if err == nil && (e.Hosts[i].Engine+"="+e.Hosts[i].Address != given || e.Hosts[i].Engine == "" || e.Hosts[i].Address == "") {
				t.Errorf("%q is %+v", given, e.Hosts[i])
			}
		}
	})
}
