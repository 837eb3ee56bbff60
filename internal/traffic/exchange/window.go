// Package exchange has what the workloads of requests and responses over TCP share: a window of a trial with its schedule and counts, and how
// flows are run and given their slots.
package exchange

import (
	"math/bits"
	"sync"
	"time"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/unit"
	"tare/internal/warning"
)

// Window is one window of a trial at the client: its schedule and its counts. It may be used by
// one thread, or by several that lock Mu.
type Window struct {
	Params   traffic.Params // Warmup and Duration are those of this window
	Schedule schedule
	Mu       sync.Mutex
	Bins     traffic.LoopCounter
	hist     *traffic.Distribution
	streams  []int64
	missed   int64
	Broken   []bool   // whether its connection failed, by flow
	answers  *answers // nil without an event
}

// NewWindow begins a window after that much traffic time of the schedule. Nothing is known to be broken.
func NewWindow(p traffic.Params, planned time.Duration, hist *traffic.Distribution, streams []int64) *Window {
	flows := p.Streams * max(1, p.Pipeline) // a request in progress follows the one before as a flow's own does
	if p.TransactionRate > 0 {
		flows = 0
	}
	w := &Window{
		Params: p, Schedule: schedule{uint64(p.TransactionRate), planned}, hist: hist, streams: streams, Broken: make([]bool, p.Streams),
		Bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(p).ReportTo(p.Meter.Begin(1), 0), Flows: flows},
	}
	w.answers = newAnswers(p, w.slots())
	return w
}

// Begin starts the clock by which the times of the window are measured.
func (w *Window) Begin() clock.Instant {
	if w.answers != nil {
		w.answers.begun = w.answers.clock.Now()
	}
	return clock.Now()
}

// Open reports whether requests have a schedule (open loop).
func (w *Window) Open() bool { return w.Schedule.rate > 0 }

// Done counts an exchange that began at from, or was due then, and ended at at. An exchange that
// began in the window counts for the round trips however long it took; otherwise the longest ones
// would be missing.
func (w *Window) Done(flow int, from, at time.Duration) {
	began := w.Bins.Add(from, at, true)
	if w.answers != nil {
		w.answers.add(from, at)
	}
	if began {
		w.hist.Record(at - from)
	}
	if began && !w.Open() || w.Open() && at >= w.Bins.Warmup && at < w.Bins.End {
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

// LastSend returns the time after which no more scheduled requests are sent.
func (w *Window) LastSend() time.Duration {
	return w.Bins.End + min(max((w.Bins.End)/backlogShare, minBacklog), maxBacklog)
}

// slots returns how many requests the schedule has in the timed part.
func (w *Window) slots() int64 {
	if !w.Open() {
		return 0
	}
	return int64(w.Schedule.First(w.Bins.End) - w.Schedule.First(w.Bins.Warmup))
}

// FirstSlot returns the first of a flow's slots in this window, and as limit the first slot after
// the window.
func (w *Window) FirstSlot(flow int) (slot, limit uint64) {
	if !w.Open() {
		return 0, 0
	}
	return w.nextSlot(flow, w.Schedule.First(0)), w.Schedule.First(w.Bins.End)
}

// nextSlot returns the first of a flow's slots from a given slot on. The schedule assigns its slots
// to the flows in rotation.
func (w *Window) nextSlot(flow int, from uint64) uint64 {
	n := uint64(w.Params.Streams)
	return from + (uint64(flow)+n-from%n)%n
}

// SkipSlots counts the unsent slots of a flow in the timed part, from slot on, as missed. Those of a flow without a
// connection are not: no generator could send them.
func (w *Window) SkipSlots(flow int, slot, limit uint64) {
	if w.Broken[flow] {
		return
	}
	if slot = max(slot, w.nextSlot(flow, w.Schedule.First(w.Bins.Warmup))); slot < limit {
		w.missed += int64((limit-slot-1)/uint64(w.Params.Streams)) + 1
	}
}

// AddTo adds what the window counted to that of a trial. It fails if its event was not within it.
func (w *Window) AddTo(all *traffic.Window) error {
	all.Messages += w.Bins.Counted()
	all.Failed += w.Bins.Failed
	all.Seconds += w.Bins.Time().Seconds()
	all.Slots += w.slots()
	all.Missed += w.missed
	if timed := w.Params.Duration; timed > 0 {
		all.Series = append(all.Series, traffic.Series(w.Params, []*traffic.BinCounter{w.Bins.BinCounter})...)
		all.Interval = min(traffic.SeriesInterval, timed).Seconds()
		all.AddProfile(w.Bins.BinCounter)
	}
	if w.answers == nil {
		return nil
	}
	// Requests that were due and not sent waited for an answer to the one before: they have failed.
	all.Missed -= w.missed
	var err error
	all.Event, err = w.answers.seen(w.Params.TransactionRate)
	return err
}

// MissedNotes reports the requests of a trial's schedule that were not sent. times names what was measured of the others.
func MissedNotes(p traffic.Params, w traffic.Window, times string) []result.Note {
	if w.Missed == 0 {
		return nil
	}
	return []result.Note{warning.NewNote(warning.GeneratorLimited,
		"%d of %d requests of the schedule at %d/s were not sent: %s reached %.0f/s. The %s are those of the sent requests only, so the true ones are longer",
		w.Missed, w.Slots, p.TransactionRate, unit.Count(p.Streams, "flow", "flows"), float64(w.Messages)/w.Seconds, times)}
}

// Schedule is the schedule of requests: slot k is due at k/rate of the trial's traffic time, of
// which base is before the window. So a rate below one per slice is kept, too.
type schedule struct {
	rate uint64 // 1/s, 0 for none
	base time.Duration
}

// Due returns when a slot is due, since the start of the window.
func (s schedule) Due(slot uint64) time.Duration {
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

// First returns the first slot that is due at or after a time since the start of the window.
func (s schedule) First(at time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(max(at+s.base, 0)), s.rate)
	lo, carry := bits.Add64(lo, uint64(time.Second)-1, 0)
	slot, _ := bits.Div64(hi+carry, lo, uint64(time.Second))
	return slot
}

// MaxRate is the highest rate of a schedule: one slot per nanosecond.
const MaxRate = 1e9

// ownWindow is the length of the windows that own times are measured in, which no batch of exchanges exceeds.
const ownWindow = 10 * time.Second

// OwnParams are those of such a window. ok is false for requests with a schedule.
func OwnParams(p traffic.Params) (own traffic.Params, ok bool) {
	p.Meter, p.Warmup, p.Duration = nil, 0, ownWindow
	return p, p.TransactionRate == 0
}

// Metrics returns the rate of exchanges and the quantiles of their round trips, as the client measured them; of a trial with an event,
// what it did to them in place of the rate, which is that of the schedule.
func Metrics(client traffic.Report) (map[string]float64, *result.Series) {
	w := client.Window
	m := map[string]float64{}
	if w.Event != nil {
		addEvent(m, *w.Event)
	} else {
		m["transaction_rate"] = 0
		if w.Seconds > 0 {
			m["transaction_rate"] = float64(w.Messages) / w.Seconds
		}
	}
	w.RTT.AddPercentiles(m, "rtt")
	return m, &result.Series{Metric: "transaction_rate", Interval: w.Interval, Values: w.Series}
}
