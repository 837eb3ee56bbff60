package result_test

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The name of a percentile has its quantile. Those that only the tail pass measures are none of a trial.
func TestPercentiles(t *testing.T) {
	must.Equal(t, map[string]float64{"rtt_p50": 0.5, "rtt_p90": 0.9, "rtt_p99": 0.99, "rtt_p999": 0.999, "rtt_max": 1}, result.Percentiles("rtt"))
	must.Equal(t, map[string]float64{"delay_p50": 0.5, "delay_p99": 0.99, "delay_p999": 0.999}, result.Percentiles("delay"))
	must.Equal(t, map[string]float64{}, result.Percentiles("setup"))
	for _, m := range result.Metrics() {
		q, ok := result.BeyondP99(m.Name)
		want := map[string]float64{"rtt_p999": 0.999, "rtt_p9999": 0.9999, "delay_p999": 0.999}[m.Name]
		must.EqualFor(t, m.Name, want, q)
		must.EqualFor(t, m.Name, want > 0, ok)
	}
}
