package tcp

import (
	"math/bits"
	"sync"
	"time"

	"tare/internal/traffic"
)

// rrWindow is one piece of a trial at the client: what is to be sent, and the
// account of it. One thread at a time may use it, or all take turns with mu.
type rrWindow struct {
	p        traffic.Params // Warmup and Duration are this window's
	schedule rrSchedule
	mu       sync.Mutex
	bins     *traffic.BinCounter
	hist     *traffic.Distribution
	streams  []int64
	missed   int64
}

func newRRWindow(p traffic.Params, s *rrSession) *rrWindow {
	return &rrWindow{
		p: p, schedule: rrSchedule{p.TransactionRate, s.planned},
		bins: traffic.NewBinCounter(p).ReportTo(p.Meter.Begin(1), 0), hist: s.hist, streams: s.streams,
	}
}

// open reports whether requests have a schedule.
func (w *rrWindow) open() bool { return w.schedule.rate > 0 }

// done counts an exchange that began at from, or should have, and ended at at.
// One that began in the window counts for the round trips however long it took:
// the longest would be missing otherwise.
func (w *rrWindow) done(flow int, from, at time.Duration) {
	w.bins.Add(at, 1)
	if at >= w.bins.Warmup && at < w.bins.End {
		w.streams[flow]++
	}
	if from >= w.bins.Warmup && from < w.bins.End {
		w.hist.Record(at - from)
	}
}

// The schedule's backlog: requests that are still waiting when the window ends
// are sent for a tenth of its length, within these bounds, and then given up.
const (
	backlogShare = 10
	minBacklog   = time.Millisecond
	maxBacklog   = time.Second
)

// lastSend is when the sending of what the schedule asks for is given up.
func (w *rrWindow) lastSend() time.Duration {
	return w.bins.End + min(max((w.bins.End)/backlogShare, minBacklog), maxBacklog)
}

// slots is how many requests the schedule asks for in the timed part.
func (w *rrWindow) slots() int64 {
	if !w.open() {
		return 0
	}
	return int64(w.schedule.first(w.bins.End) - w.schedule.first(w.bins.Warmup))
}

// firstSlot is the first of a flow's slots in this window, and limit the first
// slot behind the window.
func (w *rrWindow) firstSlot(flow int) (slot, limit uint64) {
	if !w.open() {
		return 0, 0
	}
	return w.nextSlot(flow, w.schedule.first(0)), w.schedule.first(w.bins.End)
}

// nextSlot is the first of a flow's slots from a given one on. The schedule deals
// its slots out to the flows in turn.
func (w *rrWindow) nextSlot(flow int, from uint64) uint64 {
	n := uint64(w.p.Streams)
	return from + (uint64(flow)+n-from%n)%n
}

// skipSlots counts what was never sent of a flow: its slots of the timed part from
// slot on.
func (w *rrWindow) skipSlots(flow int, slot, limit uint64) {
	if slot = max(slot, w.nextSlot(flow, w.schedule.first(w.bins.Warmup))); slot < limit {
		w.missed += int64((limit-slot-1)/uint64(w.p.Streams)) + 1
	}
}

// rrSchedule says when requests are due: slot k at k/rate of the trial's traffic
// time, of which base lies before the window. So a rate below one a slice is
// kept, too.
type rrSchedule struct {
	rate uint64 // 1/s, 0 for none
	base time.Duration
}

// due is when a slot is due, since the window's start.
func (s rrSchedule) due(slot uint64) time.Duration {
	hi, lo := bits.Mul64(slot, uint64(time.Second))
	if hi >= s.rate {
		return 1<<63 - 1
	}
	at, _ := bits.Div64(hi, lo, s.rate)
	if at > 1<<62 {
		return 1<<63 - 1
	}
	return time.Duration(at) - s.base
}

// first is the first slot that is due at or behind a moment since the window's start.
func (s rrSchedule) first(at time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(max(at+s.base, 0)), s.rate)
	lo, carry := bits.Add64(lo, uint64(time.Second)-1, 0)
	slot, _ := bits.Div64(hi+carry, lo, uint64(time.Second))
	return slot
}
