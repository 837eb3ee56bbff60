package runner

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// What an endpoint reports is foreign: times that cannot be are recorded as unknown.
func TestRecordOfImpossibleTimes(t *testing.T) {
	cpu, rtt := -1, 0.0
	got := end(traffic.Report{End: result.End{CPU: &cpu, RTT: &rtt, Sent: 3}}, traffic.Report{})
	must.Equal(t, result.End{Sent: 3}, got)
}
