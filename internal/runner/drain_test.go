package runner

import (
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
)

// The drain time of a trial is what all its buffers need at the underlay's rate: those of
// fifty streams take seconds.
func TestDrainTime(t *testing.T) {
	for name, c := range map[string]struct {
		rate quantity.Rate
		w    study.Workload
		want time.Duration
	}{
		"no limit":      {0, study.Workload{Streams: 50, SendBuffer: quantity.Buffer(1 << 20)}, 0},
		"one stream":    {200_000_000, study.Workload{Streams: 1, SendBuffer: quantity.Buffer(1 << 20)}, 335 * time.Millisecond},
		"fifty":         {200_000_000, study.Workload{Streams: 50, SendBuffer: quantity.Buffer(1 << 20)}, 4194 * time.Millisecond},
		"fifty, tuned":  {200_000_000, study.Workload{Streams: 50, SendBuffer: quantity.AutoBuffer()}, 16777 * time.Millisecond},
		"in two pairs":  {200_000_000, study.Workload{Streams: 50, SendBuffer: quantity.Buffer(1 << 20), Pairs: 2}, 8388 * time.Millisecond},
		"not for ever":  {1_000_000, study.Workload{Streams: 50, SendBuffer: quantity.Buffer(1 << 20)}, maxDrain},
		"of datagrams":  {200_000_000, study.Workload{Flows: 1, SendBuffer: quantity.Buffer(1 << 20)}, 335 * time.Millisecond},
		"small buffers": {200_000_000, study.Workload{Streams: 1, SendBuffer: quantity.Buffer(4096)}, 335 * time.Millisecond},
	} {
		s := &modeUnderTest{path: &driver.Path{Underlay: &driver.Underlay{Rate: uint64(c.rate)}}}
		s.mode.ID = "host"
		r := &measurement{testbed: testbed{tested: []*modeUnderTest{s}}}
		got := r.drainLimit(plan.Trial{Mode: "host", Workload: c.w})
		if d := got - c.want; d < -2*time.Millisecond || d > 2*time.Millisecond {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
