package driver

import (
	"fmt"
	"math"
)

// Expect says how a counter must relate to what was carried.
type Expect int

// The expectations.
const (
	// Forward, Reverse and Both: bytes on the path, in one direction or summed.
	Forward Expect = iota
	Reverse
	Both
	// Connections: packets of a rule that only the first of a connection meets.
	Connections
	// Still: bytes or packets on a way round the path.
	NoTraffic
	// ForwardAtLeast, ReverseAtLeast and BothAtLeast: bytes on a part of the path
	// where the ends cannot say how many packets there were, because a process
	// passes the payload on in packets of its own, or where others have traffic too.
	ForwardAtLeast
	ReverseAtLeast
	BothAtLeast
	// Unmet: packets of a rule that no connection may meet, not even one.
	NoMatch
	// Works: nanoseconds that a process ran which passes the traffic on.
	ProcessBusy
	// Idles: nanoseconds that a process ran which must not.
	ProcessIdle
)

// String is the word for the expectation in results; docs/proof.md explains each.
func (e Expect) String() string {
	switch e {
	case Forward:
		return "forward"
	case Reverse:
		return "reverse"
	case Both:
		return "both"
	case Connections:
		return "connections"
	case NoTraffic:
		return "still"
	case ForwardAtLeast:
		return "forward at least"
	case ReverseAtLeast:
		return "reverse at least"
	case BothAtLeast:
		return "both at least"
	case NoMatch:
		return "unmet"
	case ProcessBusy:
		return "works"
	case ProcessIdle:
		return "idles"
	}
	return fmt.Sprintf("expectation %d", int(e))
}

// OffPath says that no traffic belongs where such a counter is.
func (e Expect) OffPath() bool { return e == NoTraffic || e == NoMatch || e == ProcessIdle }

// minBytes is the least number of bytes that carrying f puts on a device. A direction
// without payload carries TCP's acknowledgements, each a packet of its own; half
// of them is asked for, because a queue may drop some. Of datagrams, those that
// arrived crossed every device; UDP sends nothing back.
func minBytes(f Flow) uint64 {
	switch {
	case f.Datagrams:
		return f.Payload + minUDPHeader*f.Messages
	case f.Payload > 0:
		return f.Payload + minHeader*f.Messages
	}
	return minHeader * f.Segments / 2
}

// maxBytes is the most, without the background.
func maxBytes(f Flow) uint64 {
	if f.Unbounded {
		return math.MaxUint64
	}
	return f.Wire + maxHeader*f.Segments
}

// minPayload is what one direction puts on a device whoever packed it. A direction
// without payload says nothing: its acknowledgements are those of whoever packs.
func minPayload(carried []Carried, pick func(Carried) Flow) (lo uint64) {
	for _, c := range carried {
		if f := pick(c); f.Payload > 0 {
			lo += minBytes(f)
		}
	}
	return lo
}

// The run time of a process, in ns, that tells one which passes traffic on from one
// that only sleeps: the least traffic of a proof takes it dozens of system calls, of
// a few thousand ns each. A sleeper's own housekeeping is far below the most.
const (
	minBusyNS = 100_000
	maxIdleNS = 5_000_000
)

// directionBounds adds up what one direction of all pairs puts on a device.
func directionBounds(carried []Carried, pick func(Carried) Flow) (lo, hi uint64) {
	hi = Slack
	for _, c := range carried {
		f := pick(c)
		lo, hi = lo+minBytes(f), addSaturating(hi, maxBytes(f))
	}
	return lo, hi
}

// addSaturating adds two bounds, either of which may be none.
func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func forward(c Carried) Flow { return c.Forward }
func reverse(c Carried) Flow { return c.Reverse }

func (e Expect) bounds(carried []Carried) (lo, hi uint64) {
	switch e {
	case Forward:
		return directionBounds(carried, forward)
	case Reverse:
		return directionBounds(carried, reverse)
	case Both:
		flo, fhi := directionBounds(carried, forward)
		rlo, rhi := directionBounds(carried, reverse)
		return flo + rlo, addSaturating(fhi, rhi)
	case Connections:
		for _, c := range carried {
			lo += c.Forward.Connections
		}
		return lo, math.MaxUint64
	case ForwardAtLeast:
		return minPayload(carried, forward), math.MaxUint64
	case ReverseAtLeast:
		return minPayload(carried, reverse), math.MaxUint64
	case BothAtLeast:
		return minPayload(carried, forward) + minPayload(carried, reverse), math.MaxUint64
	case NoMatch:
		return 0, 0
	case ProcessBusy:
		if len(carried) == 0 {
			return 0, maxIdleNS
		}
		return minBusyNS, math.MaxUint64
	case ProcessIdle:
		return 0, maxIdleNS
	default:
		return 0, Slack
	}
}

func (e Expect) explain(lo, hi uint64) string {
	switch {
	case e == Connections:
		return fmt.Sprintf("%d connections must have met that rule", lo)
	case e == ProcessBusy && hi == math.MaxUint64:
		return fmt.Sprintf("that process passes the traffic on and must have run for %d ns or more", lo)
	case e == ProcessBusy || e == ProcessIdle:
		return fmt.Sprintf("no traffic passes through that process (at most %d ns)", hi)
	case e == NoMatch:
		return "no connection may meet that rule"
	case e == NoTraffic:
		return fmt.Sprintf("it is off the path and must stand still (at most %d)", hi)
	case lo == 0 && hi == Slack:
		return fmt.Sprintf("no traffic belongs there (at most %d)", hi)
	case hi == math.MaxUint64:
		return fmt.Sprintf("the traffic must have moved it by %d or more", lo)
	default:
		return fmt.Sprintf("the traffic must have moved it by %d to %d", lo, hi)
	}
}
