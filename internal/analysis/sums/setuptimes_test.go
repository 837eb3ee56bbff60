package sums

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Each valid set-up is one value; what so few of them do not show is unknown.
func TestSetupTimes(t *testing.T) {
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Status: result.ModeMeasured}, {ID: "gone", Status: result.ModeVoid}}
	var trials []result.Trial
	add := func(mode string, status result.TrialStatus, v float64) {
		trials = append(trials, result.Trial{Mode: mode, Workload: "setup", Status: status, Metrics: map[string]float64{result.SetupConnect: v}, SetupSteps: map[string]float64{"ADD bridge": v / 2}})
	}
	for i := range 6 {
		add("m", result.TrialOK, float64(1+i))
		add("gone", result.TrialOK, 9)
	}
	add("m", result.TrialInvalid, 100)
	trials = append(trials, result.Trial{Mode: "host", Workload: "tcp_rr", Status: result.TrialOK, Metrics: map[string]float64{"transaction_rate": 1}})
	low, high, halfLow, halfHigh, nine, half := 1.0, 6.0, 0.5, 3.0, 4.0, 2.0
	must.Equal(t, []result.SetupTime{
		{Mode: "m", Workload: "setup", Metric: result.SetupConnect, Setups: 6, P50: result.Percentile{Value: 3, Low: &low, High: &high}, P90: result.Percentile{Value: 6, Low: &nine}},
		{Mode: "m", Workload: "setup", Step: "ADD bridge", Setups: 6, P50: result.Percentile{Value: 1.5, Low: &halfLow, High: &halfHigh}, P90: result.Percentile{Value: 3, Low: &half}},
	}, SetupTimes(modes, []string{"setup", "tcp_rr"}, trials))
}
