package selection

import "testing"

// FuzzEngines checks that the values of --engine are an error, or the given names.
func FuzzEngines(f *testing.F) {
	f.Add("a=10.0.0.1", "b=tcp://x:1=10.0.0.2")
	f.Add("=", "a=")
	f.Add("lab", "")
	f.Add("a==", "\x1b[31m=x")
	f.Fuzz(func(t *testing.T, one, other string) {
		e, err := (&engineFlags{Engines: []string{one, other}}).parse()
		for i, given := range []string{one, other} {
			if err == nil && (e.Hosts[i].Engine+"="+e.Hosts[i].Address != given || e.Hosts[i].Engine == "" || e.Hosts[i].Address == "") {
				t.Errorf("%q is %+v", given, e.Hosts[i])
			}
		}
	})
}
