package measure

import (
	"strings"
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A plan names a limit of load only where trials meet it: not interleaved ones, whose modes share the load.
func TestRuling(t *testing.T) {
	sliced := study.Workload{ID: "rr", Kind: "tcp_rr", Flows: 1, Slice: quantity.Duration(20 * time.Millisecond), Duration: quantity.Duration(time.Second)}
	tool := study.Workload{ID: "other", Kind: "tcp_stream", Streams: 1, Tool: "iperf3", Duration: quantity.Duration(time.Second)}
	paced := study.Workload{ID: "paced", Kind: "udp_stream", Flows: 1, PayloadSize: 1200, Rate: 10e6, Slice: sliced.Slice, Duration: sliced.Duration}
	of := func(modes []string, w ...study.Workload) string {
		return ruling(study.InvalidDefaults(), plan.Plan{Modes: modes, Workloads: w})
	}
	two := []string{"host", "netns/bridge"}
	const others, wait = "other programs take more than 5 % of a CPU", "wait for a CPU"
	for _, c := range []struct {
		text     string
		has, not string
	}{
		{of(two, sliced), "a workload with more than 20 % of them has no verdict", "other programs"},
		{of(two, sliced, tool), others + " during other, whose trials run alone", wait},
		{of(two, tool), others + ",", "run alone"},
		{of(two[:1], sliced), others + ",", "run alone"},
		{of(two, paced), wait, "other programs take"},
	} {
		must.Contain(t, c.text, c.has)
		must.EqualFor(t, c.text, false, strings.Contains(c.text, c.not))
	}
}
