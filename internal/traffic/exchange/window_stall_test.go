package exchange

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// stalledServer answers each request after 20 us, but none for 100 ms of every second.
func stalledServer(asked time.Duration) (answered time.Duration) {
	const service, stall = 20 * time.Microsecond, 100 * time.Millisecond
	if in := asked % time.Second; in < stall {
		asked += stall - in
	}
	return asked + service
}

// stalledTrial returns the round trips of one flow with stalledServer in a window of 3 s, at a rate or in a closed loop.
func stalledTrial(rate int) *traffic.Distribution {
	p := traffic.Params{Workload: study.Workload{Streams: 1, TransactionRate: rate}, Warmup: 250 * time.Millisecond, Duration: 3 * time.Second}
	hist := traffic.NewDistribution()
	w := NewWindow(p, 0, hist, make([]int64, 1))
	slot, limit := w.FirstSlot(0)
	for at := time.Duration(0); ; {
		from := at
		switch {
		case w.Open() && (slot >= limit || at > w.LastSend()), !w.Open() && at >= w.Bins.End:
			return hist
		case w.Open():
			from = w.Schedule.Due(slot)
			slot++
		}
		at = stalledServer(max(at, from))
		w.Done(0, from, at)
	}
}

// A stall of 100 ms delays one exchange of a closed loop, so that its 99.9th percentile does not show it. On a schedule at
// half of the rate it delays all that were due, a tenth of the time.
func TestStallIsSeenOnASchedule(t *testing.T) {
	closed := stalledTrial(0)
	reached := int(float64(closed.Count()) / 3)
	open := stalledTrial(reached / 2)
	got := closed.Quantile(0.999)
	must.True(t, got <= 1e-3, "the closed loop has %g s as its 99.9th percentile", got)
	if got := open.Quantile(0.999); got < 90e-3 || got > 101e-3 {
		t.Errorf("on a schedule the 99.9th percentile is %g s", got)
	}
	if got := open.Quantile(0.95); got < 10e-3 {
		t.Errorf("on a schedule the 95th percentile is %g s", got)
	}
	if got := open.Quantile(0.5); got > 1e-3 {
		t.Errorf("on a schedule the median is %g s", got)
	}
}
