package drivertest

import (
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/traffic/workloads"
)

// Every workload with trials of its own has one in each mode, and TCP and UDP have one in each
// direction over each address family.
func TestConformanceCoversPairs(t *testing.T) {
	trials := conformance()
	kinds, combined := map[string]bool{}, map[[3]bool]bool{}
	for _, v := range trials {
		w := must.Get(workloads.Named(v.kind))(t)
		kinds[v.kind] = true
		combined[[3]bool{w.Spec().Datagrams, v.ipv6, v.reverse}] = true
	}
	if len(combined) != 8 {
		t.Errorf("only %v of protocol, family and direction", combined)
	}
	own := 0
	for _, w := range workloads.All() {
		s := w.Spec()
		if s.MadeOf != "" {
			continue // it uses the trials of another
		}
		if own++; !kinds[s.Kind] {
			t.Errorf("no trial of %s", s.Kind)
		}
	}
	if len(trials) > own+1 {
		t.Errorf("%d trials a mode, of %d workloads", len(trials), own)
	}
}
