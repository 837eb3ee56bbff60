package udp

import (
	"fmt"
	"math/bits"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// schedule is an endless sequence of evenly spaced slots without accumulated error: slot k is at
// k*num/den ns.
type schedule struct{ num, den uint64 }

// The limits within which the arithmetic of a schedule does not overflow.
const (
	maxRate     = uint64(1e13) // bit/s, or slots/s
	maxSchedule = 1000 * time.Hour
)

// newSchedule returns a schedule whose slots carry slotBits each at rate bit/s.
func newSchedule(slotBits, rate uint64) (schedule, error) {
	if rate == 0 || rate > maxRate || slotBits == 0 || slotBits > 1<<32 {
		return schedule{}, fmt.Errorf("a schedule cannot have slots of %d bits at a rate of %d/s", slotBits, rate)
	}
	return schedule{num: slotBits * 1e9, den: rate}, nil
}

// at returns when slot k is due, in ns after the start.
func (s schedule) at(k int64) int64 {
	hi, lo := bits.Mul64(uint64(k), s.num)
	t, _ := bits.Div64(hi%s.den, lo, s.den)
	return int64(t)
}

// before returns how many slots are due before d, in ns after the start.
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

// pacer returns how many slots of a schedule are due. It never allows more than burst of them back
// to back: slots beyond that are missed and not made up for.
type pacer struct {
	schedule
	start        int64 // clock reading of slot 0, ns
	next         int64 // the slot to be served next
	end          int64 // total slots
	burst        int64
	burstSent    int64 // sent since the sender last had to wait
	largestBurst int64
	// missed is called with the first of the skipped slots and their number.
	missed func(first, n int64)
}

// due returns how many slots from next on are due at the time now, 0 if none is due yet.
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
	if n == 0 { // all due slots were skipped: the burst ends here
		p.burstSent = 0
	}
	return n
}

// served counts n slots as sent.
func (p *pacer) served(n int64) {
	p.next += n
	p.burstSent += n
	p.largestBurst = max(p.largestBurst, p.burstSent)
}

// until returns the time until the next slot in ns.
func (p *pacer) until(now int64) int64 { return p.start + p.at(p.next) - now }

// slotWaiter waits for the slots of one schedule, on one thread.
type slotWaiter struct {
	sleep func(time.Duration)
	manner
}

// manner is how a thread waits for a slot.
type manner int

const (
	// byTimer sleeps while the slot is far away and polls the clock for the rest.
	byTimer manner = iota
	// overSlots sleeps over some slots, which are then served together: at 1 Gbit/s this halved the CPU
	// time, and departures were 10 us behind their slots at the median.
	overSlots
	// polling never sleeps.
	polling
	// yielding polls, too, and lets other threads of the CPU run before each reading of the clock.
	yielding
)

// The kernel wakes a sleeping thread some microseconds late, so the end of a longer wait is spent
// polling. If slots are closer than denseSlots, the thread sleeps over some of them. If they are closer than
// tightSlots, there is no time to sleep. Sleeps are bounded, so that the loop can check whether the trial
// was cancelled.
const (
	wakeMargin = 4 * time.Microsecond
	minSleep   = 3 * time.Microsecond
	maxSleep   = 10 * time.Millisecond
	denseSlots = 25 * time.Microsecond
	tightSlots = 6 * time.Microsecond
	denseSleep = 20 * time.Microsecond
)

// newSlotWaiter prepares the calling thread to wait for the slots of s.
func newSlotWaiter(s schedule, n socket.UDP, p traffic.Params) slotWaiter {
	return slotWaiter{n.Sleeper(), mannerOf(time.Duration(s.at(1)), p)}
}

// mannerOf returns how to wait for slots with that distance. A real-time thread never polls: that would
// keep all others from its CPU, the receiver included.
func mannerOf(gap time.Duration, p traffic.Params) manner {
	switch {
	case p.Spins():
		return yielding
	case gap >= denseSlots:
		return byTimer
	case gap >= tightSlots || p.RealTime():
		return overSlots
	}
	return polling
}

// wait waits for the next slot, which is off ns away, or shorter. The caller then reads the clock again.
func (w slotWaiter) wait(off int64) {
	switch w.manner {
	case yielding:
		thread.Yield()
	case overSlots:
		w.sleep(denseSleep)
	case byTimer:
		if d := time.Duration(off) - wakeMargin; d >= minSleep {
			w.sleep(min(d, maxSleep))
		}
	}
}
