package exchange

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The schedule assigns each slot to exactly one flow, and the skipped slots are exactly those not
// sent.
func TestScheduleAssignsSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := traffic.Params{
			Workload: study.Workload{Streams: rapid.IntRange(1, 9).Draw(t, "flows"), TransactionRate: int(rapid.Uint64Range(1, 5000).Draw(t, "rate"))},
			Warmup:   time.Duration(rapid.Int64Range(0, 2e8).Draw(t, "warmup")), Duration: time.Duration(rapid.Int64Range(0, 2e8).Draw(t, "duration")),
		}
		base := time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "base"))
		w := NewWindow(p, base, nil, nil)
		first, limit := w.Schedule.First(0), w.Schedule.First(p.Warmup+p.Duration)
		owner, timed := map[uint64]int{}, int64(0)
		for flow := range p.Streams {
			slot, l := w.FirstSlot(flow)
			must.Require(t, l == limit, "limit %d, want %d", l, limit)
			for ; slot < limit; slot += uint64(p.Streams) {
				was, taken := owner[slot]
				must.Require(t, !taken, "slot %d is of flows %d and %d", slot, was, flow)
				owner[slot] = flow
				due := w.Schedule.Due(slot)
				must.Require(t, due >= 0 && due < p.Warmup+p.Duration, "slot %d is due at %s", slot, due)
				if due >= p.Warmup {
					timed++
				}
			}
		}
		must.Require(t, uint64(len(owner)) == limit-first && timed == w.slots(),
			"%d slots assigned of %d, %d timed of %d", len(owner), limit-first, timed, w.slots())
		for flow := range p.Streams {
			slot, _ := w.FirstSlot(flow)
			w.SkipSlots(flow, slot, limit)
		}
		must.Require(t, w.missed == timed, "skipped %d of %d", w.missed, timed)
	})
}

// Extreme values neither overflow nor crash.
func TestScheduleExtremes(t *testing.T) {
	for _, rate := range []uint64{1, 999_999_937, MaxRate} {
		s := schedule{rate, 1 << 62}
		k := s.First(1 << 61)
		must.True(t, s.Due(k) >= 1<<61, "rate %d: slot %d is due at %s", rate, k, s.Due(k))
		got := s.Due(1<<64 - 1)
		must.True(t, got >= 0, "rate %d: the last slot is due at %s", rate, got)
	}
}

// The slots of a schedule that belong to a flow without a connection are not missed: no generator could send them.
func TestBrokenFlowsMissNothing(t *testing.T) {
	p := loopback.Params("tcp_rr")
	p.Streams, p.TransactionRate, p.Warmup, p.Duration = 4, 1000, 0, time.Second
	w := NewWindow(p, 0, traffic.NewDistribution(), make([]int64, 4))
	w.Broken[1], w.Broken[2] = true, true
	for flow := range p.Streams {
		slot, limit := w.FirstSlot(flow)
		w.SkipSlots(flow, slot, limit)
	}
	must.EqualFor(t, "missed slots of two flows of four", int64(500), w.missed)
}
