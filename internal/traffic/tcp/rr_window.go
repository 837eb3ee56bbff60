package tcp

import (
	"math/bits"
	"sync"
	"time"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/unit"
	"tare/internal/warning"
)

// rrWindow is one window of a trial at the client: its schedule and its counts. It may be used by
// one thread, or by several that lock mu.
type rrWindow struct {
	p        traffic.Params // Warmup and Duration are those of this window
	schedule rrSchedule
	mu       sync.Mutex
	bins     traffic.LoopCounter
	hist     *traffic.Distribution
	streams  []int64
	missed   int64
	unread   int64                           // requests over connections that failed before the response
	content  content                         // nil for zeros
	broken   []bool                          // whether its connection failed, by flow
	fail     func(flow int, err error) error // see rrSession.fail
}

// newRRWindow begins a window after that much traffic time of the schedule. Nothing is known to be broken.
func newRRWindow(p traffic.Params, planned time.Duration, hist *traffic.Distribution, streams []int64) *rrWindow {
	flows := p.Streams
	if p.TransactionRate > 0 {
		flows = 0
	}
	return &rrWindow{
		p: p, schedule: rrSchedule{uint64(p.TransactionRate), planned}, hist: hist, streams: streams, broken: make([]bool, p.Streams),
		bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(p).ReportTo(p.Meter.Begin(1), 0), Flows: flows},
	}
}

// open reports whether requests have a schedule (open loop).
func (w *rrWindow) open() bool { return w.schedule.rate > 0 }

// done counts an exchange that began at from, or was due then, and ended at at. An exchange that
// began in the window counts for the round trips however long it took; otherwise the longest ones
// would be missing.
func (w *rrWindow) done(flow int, from, at time.Duration) {
	began := w.bins.Add(from, at, true)
	if began {
		w.hist.Record(at - from)
	}
	if began && !w.open() || w.open() && at >= w.bins.Warmup && at < w.bins.End {
		w.streams[flow]++
	}
}

// The backlog of the schedule: requests that are still waiting when the window ends are sent for a
// tenth of its length, within these bounds, and then skipped.
const (
	backlogShare = 10
	minBacklog   = time.Millisecond
	maxBacklog   = time.Second
)

// lastSend returns the time after which no more scheduled requests are sent.
func (w *rrWindow) lastSend() time.Duration {
	return w.bins.End + min(max((w.bins.End)/backlogShare, minBacklog), maxBacklog)
}

// slots returns how many requests the schedule has in the timed part.
func (w *rrWindow) slots() int64 {
	if !w.open() {
		return 0
	}
	return int64(w.schedule.first(w.bins.End) - w.schedule.first(w.bins.Warmup))
}

// firstSlot returns the first of a flow's slots in this window, and as limit the first slot after
// the window.
func (w *rrWindow) firstSlot(flow int) (slot, limit uint64) {
	if !w.open() {
		return 0, 0
	}
	return w.nextSlot(flow, w.schedule.first(0)), w.schedule.first(w.bins.End)
}

// nextSlot returns the first of a flow's slots from a given slot on. The schedule assigns its slots
// to the flows in rotation.
func (w *rrWindow) nextSlot(flow int, from uint64) uint64 {
	n := uint64(w.p.Streams)
	return from + (uint64(flow)+n-from%n)%n
}

// skipSlots counts the unsent slots of a flow in the timed part, from slot on, as missed. Those of a flow without a
// connection are not: no generator could send them.
func (w *rrWindow) skipSlots(flow int, slot, limit uint64) {
	if w.broken[flow] {
		return
	}
	if slot = max(slot, w.nextSlot(flow, w.schedule.first(w.bins.Warmup))); slot < limit {
		w.missed += int64((limit-slot-1)/uint64(w.p.Streams)) + 1
	}
}

// addTo adds what the window counted to that of a trial.
func (w *rrWindow) addTo(all *traffic.Window) {
	all.Messages += w.bins.Counted()
	all.Failed += w.bins.Failed
	all.Seconds += w.bins.Time().Seconds()
	all.Slots += w.slots()
	all.Missed += w.missed
	if timed := w.p.Duration; timed > 0 {
		all.Series = append(all.Series, traffic.Series(w.p, []*traffic.BinCounter{w.bins.BinCounter})...)
		all.Interval = min(traffic.SeriesInterval, timed).Seconds()
		all.AddProfile(w.bins.BinCounter)
	}
}

// missedNotes reports the requests of a trial's schedule that were not sent. times names what was measured of the others.
func missedNotes(p traffic.Params, w traffic.Window, times string) []result.Note {
	if w.Missed == 0 {
		return nil
	}
	return []result.Note{warning.NewNote(warning.GeneratorLimited,
		"%d of %d requests of the schedule at %d/s were not sent: %s reached %.0f/s. The %s are those of the sent requests only, so the true ones are longer",
		w.Missed, w.Slots, p.TransactionRate, unit.Count(p.Streams, "flow", "flows"), float64(w.Messages)/w.Seconds, times)}
}

// rrSchedule is the schedule of requests: slot k is due at k/rate of the trial's traffic time, of
// which base is before the window. So a rate below one per slice is kept, too.
type rrSchedule struct {
	rate uint64 // 1/s, 0 for none
	base time.Duration
}

// due returns when a slot is due, since the start of the window.
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

// first returns the first slot that is due at or after a time since the start of the window.
func (s rrSchedule) first(at time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(max(at+s.base, 0)), s.rate)
	lo, carry := bits.Add64(lo, uint64(time.Second)-1, 0)
	slot, _ := bits.Div64(hi+carry, lo, uint64(time.Second))
	return slot
}
