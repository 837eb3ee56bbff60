package driver

import (
	"fmt"
	"math"
)

// Counters are readings by name, such as "b/br0.tx_bytes". They only grow.
type Counters map[string]uint64

// Moved gives how far every counter of after moved since before. A counter that
// vanished or ran backwards is an error: its device was replaced meanwhile.
func (before Counters) Moved(after Counters) (Counters, error) {
	moved := Counters{}
	for name, was := range before {
		is, ok := after[name]
		if !ok || is < was {
			return nil, fmt.Errorf("counter %s went from %d to %d (there: %t): its device was replaced during the trial", name, was, is, ok)
		}
		moved[name] = is - was
	}
	return moved, nil
}

// Flow is what one end sent to the other in one trial, by its own count and by
// that of its kernel's TCP.
type Flow struct {
	Payload     uint64 // bytes that arrived
	Messages    uint64 // requests or responses that each crossed by themselves
	Wire        uint64 // payload handed to the device, retransmissions included
	Segments    uint64 // TCP segments, acknowledgements included
	Connections uint64
}

// Carried is what a trial sent: forward from the client, reverse from the server.
type Carried struct{ Forward, Reverse Flow }

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
	Still
)

// Rule is one line of a proof.
type Rule struct {
	Counter string
	Expect  Expect
}

// The tolerances of a proof. Every byte of payload must be on the path; above
// it, what headers, acknowledgements and neighbour discovery can explain.
const (
	// minHeader is the least that a packet of its own adds: IPv4 and TCP (20 +
	// 20), as a netfilter counter sees it; devices see 14 more of Ethernet.
	minHeader = 40
	// maxHeader is the most that one segment adds: Ethernet, IPv6 and TCP with
	// all options (14 + 40 + 60) within VXLAN over IPv4 (50), rounded up.
	maxHeader = 180
	// Slack is what background packets (ARP, neighbour discovery) may move.
	Slack = 16 << 10
	// minTraffic is the least traffic that tells a path from that background.
	minTraffic = 2 * Slack
)

// Verify checks rules against how far the counters moved.
func Verify(rules []Rule, before, after Counters, c Carried) error {
	moved, err := before.Moved(after)
	if err != nil {
		return err
	}
	if total := low(c.Forward) + low(c.Reverse); total < minTraffic {
		return fmt.Errorf("only %d bytes were carried: too little to tell the path from background packets", total)
	}
	for _, r := range rules {
		got, ok := moved[r.Counter]
		if !ok {
			return fmt.Errorf("counter %s was not read", r.Counter)
		}
		lo, hi := r.Expect.bounds(c)
		if got < lo || got > hi {
			return fmt.Errorf("counter %s moved by %d, but %s", r.Counter, got, r.Expect.explain(lo, hi))
		}
	}
	return nil
}

// low is the least number of bytes that carrying f puts on a device. A direction
// without payload carries acknowledgements, each a packet of its own; half of
// them is asked for, because a queue may drop some.
func low(f Flow) uint64 {
	if f.Payload == 0 {
		return minHeader * f.Segments / 2
	}
	return f.Payload + minHeader*f.Messages
}

// high is the most.
func high(f Flow) uint64 { return f.Wire + maxHeader*f.Segments + Slack }

func (e Expect) bounds(c Carried) (lo, hi uint64) {
	switch e {
	case Forward:
		return low(c.Forward), high(c.Forward)
	case Reverse:
		return low(c.Reverse), high(c.Reverse)
	case Both:
		return low(c.Forward) + low(c.Reverse), high(c.Forward) + high(c.Reverse)
	case Connections:
		return c.Forward.Connections, math.MaxUint64
	default:
		return 0, Slack
	}
}

func (e Expect) explain(lo, hi uint64) string {
	switch e {
	case Connections:
		return fmt.Sprintf("%d connections must have met that rule", lo)
	case Still:
		return fmt.Sprintf("it is off the path and must stand still (at most %d)", hi)
	default:
		return fmt.Sprintf("the traffic must have moved it by %d to %d", lo, hi)
	}
}
