package tcp

import (
	"math"
	"time"

	"tare/internal/traffic"
)

// The limits of a paced sender.
const (
	// minSleep is the shortest sleep of a sender: writes that are due within it are sent together.
	// It bounds how often a thread wakes.
	minSleep = 500 * time.Microsecond
	// maxCatchUp is how far behind its schedule a sender may be and still catch up. Slots beyond
	// that are missed.
	maxCatchUp = 100 * time.Millisecond
)

// pace is the schedule of one stream's writes: slot k is due at offset + k*gap, in nanoseconds
// since the start.
type pace struct {
	gap, offset float64
	from, to    time.Duration // the window whose slots are counted
	maxBehind   int64         // most slots to catch up with
	next        int64         // the slot to serve next
	wakeAt      time.Duration // when to check again, 0 while slots are due

	slots, missed int64 // of the window
}

// newPace returns the schedule of the i-th stream of one direction: its share of the rate, offset
// against the other streams.
func newPace(p traffic.Params, i int) *pace {
	gap := float64(p.WriteSize) * 8 * 1e9 * float64(p.Streams) / float64(p.Rate)
	return &pace{
		gap: gap, offset: gap * float64(i) / float64(p.Streams),
		from: p.Warmup, to: p.Warmup + p.Duration,
		maxBehind: max(2, int64(float64(maxCatchUp)/gap)),
	}
}

// due returns how many slots are due at a time. If there are too many, the oldest are missed.
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

// sleep sets when to check again.
func (p *pace) sleep(at time.Duration) {
	p.wakeAt = max(time.Duration(math.Ceil(p.offset+float64(p.next)*p.gap)), at+minSleep)
}

// serve takes the next slot.
func (p *pace) serve() { p.count(1) }

// count advances by n slots and returns how many of them are in the window.
func (p *pace) count(n int64) int64 {
	in := min(p.next+n, p.before(p.to)) - max(p.next, p.before(p.from))
	in = max(in, 0)
	p.slots += in
	p.next += n
	return in
}

// before returns how many slots are due before a time.
func (p *pace) before(at time.Duration) int64 {
	return max(0, int64(math.Ceil((float64(at)-p.offset)/p.gap)))
}

// close counts the remaining slots of the window as missed.
func (p *pace) close() {
	if n := p.before(p.to) - p.next; n > 0 {
		p.missed += p.count(n)
	}
}
