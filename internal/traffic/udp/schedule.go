package udp

import (
	"fmt"
	"math/bits"
	"time"
)

// schedule is an endless row of evenly spaced slots, exact however long it is:
// slot k is at k*num/den ns.
type schedule struct{ num, den uint64 }

// The bounds of a schedule, within which its arithmetic does not overflow.
const (
	maxRate     = uint64(1e13) // bit/s, or slots/s
	maxSchedule = 1000 * time.Hour
)

// newSchedule spaces slots that carry bits each at rate bits/s.
func newSchedule(slotBits, rate uint64) (schedule, error) {
	if rate == 0 || rate > maxRate || slotBits == 0 || slotBits > 1<<32 {
		return schedule{}, fmt.Errorf("no schedule has slots of %d bits at a rate of %d a second", slotBits, rate)
	}
	return schedule{num: slotBits * 1e9, den: rate}, nil
}

// at is when slot k is due, ns behind the start.
func (s schedule) at(k int64) int64 {
	hi, lo := bits.Mul64(uint64(k), s.num)
	t, _ := bits.Div64(hi%s.den, lo, s.den)
	return int64(t)
}

// before is how many slots are due before the moment d, ns behind the start.
func (s schedule) before(d int64) int64 {
	if d <= 0 {
		return 0
	}
	// Slot k is before d when k*num < d*den.
	hi, lo := bits.Mul64(uint64(d), s.den)
	n, rem := bits.Div64(hi%s.num, lo, s.num)
	if rem > 0 {
		n++
	}
	return int64(n)
}

// pacer says how many slots of a schedule are to be served now. It never lets
// more than burst of them go back to back: slots beyond that are missed, and
// nothing makes up for them.
type pacer struct {
	schedule
	start        int64 // clock reading of slot 0, ns
	next         int64 // the slot to be served next
	end          int64 // slots in all
	burst        int64
	burstSent    int64 // served since the sender last had to wait
	largestBurst int64
	// missed is told how many slots are skipped, beginning with which.
	missed func(first, n int64)
}

// due is how many slots to serve at the time now, from next on; 0 is none yet.
func (p *pacer) due(now int64) int64 {
	if now < p.start+p.at(p.next) {
		p.burstSent = 0
		return 0
	}
	n := min(p.before(now-p.start+1), p.end) - p.next
	if room := p.burst - p.burstSent; n > room {
		p.missed(p.next, n-room)
		p.next += n - room
		n = room
	}
	if n == 0 { // all that was due is given up: the burst ends here
		p.burstSent = 0
	}
	return n
}

// served counts n slots as done.
func (p *pacer) served(n int64) {
	p.next += n
	p.burstSent += n
	p.largestBurst = max(p.largestBurst, p.burstSent)
}

// until is how long the next slot is off, in ns.
func (p *pacer) until(now int64) int64 { return p.start + p.at(p.next) - now }

// slotSleeper waits for a slot: asleep while it is far off, awake for the rest.
type slotSleeper struct {
	sleep func(time.Duration)
	dense bool // slots are too close to sleep between each two
}

// The kernel wakes a sleeper some microseconds too late, so the end of a longer
// wait is spent awake. Where slots are denser than denseSlots the thread sleeps
// over some of them and serves them together: tried at 1 Gbit/s, that halves the
// CPU time and puts departures 10 us behind their slots at the median. Where they
// are tighter than tightSlots there is no time left to sleep. A sleep is bounded, so that the loop round it can look whether the trial was given up.
const (
	wakeMargin = 4 * time.Microsecond
	minSleep   = 3 * time.Microsecond
	maxSleep   = 10 * time.Millisecond
	denseSlots = 25 * time.Microsecond
	tightSlots = 6 * time.Microsecond
	denseSleep = 20 * time.Microsecond
)

func newSlotSleeper(s schedule, sleep func(time.Duration)) slotSleeper {
	gap := time.Duration(s.at(1))
	if gap < tightSlots {
		return slotSleeper{sleep: func(time.Duration) {}}
	}
	return slotSleeper{sleep, gap < denseSlots}
}

// wait takes a nap if the next slot, so many ns off, is worth one. The caller
// looks at the clock again.
func (n slotSleeper) wait(off int64) {
	if n.dense {
		n.sleep(denseSleep)
	} else if d := time.Duration(off) - wakeMargin; d >= minSleep {
		n.sleep(min(d, maxSleep))
	}
}
