package result

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestCount(t *testing.T) {
	trials := []Trial{{Status: TrialOK}, {Status: TrialFailed}, {Status: TrialOK}, {Status: TrialInvalid}, {Status: "odd"}}
	must.Equal(t, Tally{OK: 2, Invalid: 1, Failed: 1}, Count(trials))
}

// The baseline's value is that of the same workload and metric.
func TestBoundBaselines(t *testing.T) {
	cells := []Cell{
		{Mode: "host", Workload: "tcp_rr", Metric: "transactions", AtLeast: true},
		{Mode: "host", Workload: "tcp_stream", Metric: "goodput"},
		{Mode: "bridge", Baseline: "host", Workload: "tcp_rr", Metric: "transactions"},
		{Mode: "bridge", Baseline: "host", Workload: "tcp_rr", Metric: "rtt_p50"},
		{Mode: "bridge", Baseline: "host", Workload: "tcp_stream", Metric: "goodput", AtLeast: true},
	}
	bounded := BoundBaselines(cells)
	var got []bool
	for _, c := range cells {
		got = append(got, bounded(c))
	}
	must.Equal(t, []bool{false, false, true, false, false}, got)
}
