package tcp

import (
	"math"
	"time"

	"tare/internal/traffic"
)

// The bounds of a paced sender.
const (
	// minSleep is the least a sender sleeps: writes that are due within it leave
	// together. It bounds how often a thread wakes.
	minSleep = 500 * time.Microsecond
	// maxCatchUp is how far behind its schedule a sender may be and still make up
	// for it. What it falls behind beyond that is missed for good.
	maxCatchUp = 100 * time.Millisecond
)

// pace is the schedule of one stream's writes: slot k is due at
// offset + k*gap, in nanoseconds since the start.
type pace struct {
	gap, offset float64
	from, to    time.Duration // the window whose slots are counted
	maxBehind   int64         // slots to catch up with
	next        int64         // the slot to serve next
	wakeAt      time.Duration // when to look again, 0 while slots are due

	slots, missed int64 // of the window
}

// newPace is the schedule of the i-th stream of one direction: its share of the
// rate, and its turn among the others.
func newPace(p traffic.Params, i int) *pace {
	gap := float64(p.WriteSize) * 8 * 1e9 * float64(p.Streams) / float64(p.Rate)
	return &pace{
		gap: gap, offset: gap * float64(i) / float64(p.Streams),
		from: p.Warmup, to: p.Warmup + p.Duration,
		maxBehind: max(2, int64(float64(maxCatchUp)/gap)),
	}
}

// due is how many slots are to be served at a moment. Where there are too many,
// the oldest are missed.
func (p *pace) due(at time.Duration) int64 {
	n := p.before(at+1) - p.next
	if n > p.maxBehind {
		p.missed += p.count(n - p.maxBehind)
		n = p.maxBehind
	}
	if n > 0 {
		p.wakeAt = 0
		return n
	}
	p.sleep(at)
	return 0
}

// sleep sets when to look again.
func (p *pace) sleep(at time.Duration) {
	p.wakeAt = max(time.Duration(math.Ceil(p.offset+float64(p.next)*p.gap)), at+minSleep)
}

// serve takes the next slot.
func (p *pace) serve() { p.count(1) }

// count passes n slots and gives how many of them are of the window.
func (p *pace) count(n int64) int64 {
	in := min(p.next+n, p.before(p.to)) - max(p.next, p.before(p.from))
	in = max(in, 0)
	p.slots += in
	p.next += n
	return in
}

// before is how many slots are due before a moment.
func (p *pace) before(at time.Duration) int64 {
	return max(0, int64(math.Ceil((float64(at)-p.offset)/p.gap)))
}

// close gives up what is left of the window's slots.
func (p *pace) close() {
	if n := p.before(p.to) - p.next; n > 0 {
		p.missed += p.count(n)
	}
}
