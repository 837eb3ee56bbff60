package result

import (
	"testing"

	"tare/internal/testkit/must"
)

// A rate search has a metric for whatever it is asked, and its cells come in the
// order of the goals, strict ones last.
func TestSearchMetrics(t *testing.T) {
	for _, name := range []string{"throughput_0", "throughput_1", "throughput_0_5", "throughput_0_01", "throughput_10", "throughput_0_strict"} {
		if m, ok := MetricNamed(name); !ok || m.Name != name || m.Unit != "bit/s" || m.Better != Higher || m.Title == "" || m.Primary != (name == "throughput_0") {
			t.Errorf("%s: %+v", name, m)
		}
	}
	for _, name := range []string{"throughput_", "throughput_x", "throughput_01", "throughput_101", "throughput_1_0", "throughput_-1", "throughput_1_2_3", "throughput_strict"} {
		if m, ok := MetricNamed(name); ok {
			t.Errorf("%s passes for %+v", name, m)
		}
	}
	search := &Search{Payload: 1400}
	var got []string
	for _, m := range MetricsOf([]Trial{
		{Search: search, Metrics: map[string]float64{"throughput_0": 1, "throughput_1_strict": 1, "throughput_10": 1, "throughput_0_5": 1}},
		{Search: search, Metrics: map[string]float64{"throughput_2": 1, "throughput_0_strict": 1, "unheard_of": 1}},
	})[len(Metrics()):] {
		got = append(got, m.Name)
	}
	must.Equal(t, []string{"throughput_0_5", "throughput_2", "throughput_10", "throughput_0_strict", "throughput_1_strict"}, got)
}
