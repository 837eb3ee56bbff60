package workloads

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Every workload has everything that the study file and the reports need.
func TestRegistry(t *testing.T) {
	for _, w := range All() {
		s := w.Spec()
		must.True(t, s.Kind != "" && s.Title != "" && len(s.Params) != 0, "spec %+v", s)
		if m, ok := result.MetricNamed(s.Metric); !ok || !m.Primary {
			t.Errorf("%s has the main metric %q", s.Kind, s.Metric)
		}
		for _, profile := range []string{"quick", "standard", "paper"} {
			if l := s.Lengths[profile]; l.Duration <= 0 && s.Profiles[profile].Step <= 0 {
				t.Errorf("%s has no length in profile %s", s.Kind, profile)
			}
		}
	}
	must.FailFor(t, "an unknown workload was found", must.Err(Named("tcp_nothing")))
}
