package driver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/result"
)

// Counters are readings by name, such as "b/br0.tx_bytes". They only grow.
type Counters map[string]uint64

// CarrierChanges ends the name of a counter of a device's carrier. It is in no
// proof, but a trial in which it moved is ruled out.
const CarrierChanges = "carrier_changes"

// Flaps lists the devices, as counters name them, whose carrier came or went.
func (c Counters) Flaps() []string {
	var out []string
	for name, n := range c {
		if device, ok := strings.CutSuffix(name, "."+CarrierChanges); ok && n > 0 {
			out = append(out, device)
		}
	}
	slices.Sort(out)
	return out
}

// Delta gives how far every counter of after moved since before. A counter that
// vanished or ran backwards is an error: its device was replaced meanwhile.
func (before Counters) Delta(after Counters) (Counters, error) {
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
// that of its kernel.
type Flow struct {
	Payload     uint64 // bytes that arrived
	Messages    uint64 // requests, responses or datagrams that each crossed by themselves
	Wire        uint64 // payload handed to the device at most, retransmissions included
	Segments    uint64 // packets at most, acknowledgements included
	Connections uint64
	Datagrams   bool // over UDP, which acknowledges nothing
	Unbounded   bool // nobody counted Wire and Segments: there is no most
}

// Carried is what a pair of ends sent in a trial: forward from the client,
// reverse from the server.
type Carried struct{ Forward, Reverse Flow }

// Rule is one line of a proof. Pair is whose traffic the counter sees: that of
// one pair, counted from 1, or with 0 that of all together.
type Rule struct {
	Counter string
	Expect  Expect
	Pair    int
}

// The tolerances of a proof. Every byte of payload must be on the path; above
// it, what headers, acknowledgements and neighbour discovery can explain.
const (
	// minHeader is the least that a packet of its own adds: IPv4 and TCP (20 +
	// 20), as a netfilter counter sees it; devices see 14 more of Ethernet.
	minHeader = 40
	// minUDPHeader is the same with UDP (20 + 8).
	minUDPHeader = 28
	// maxHeader is the most that one segment adds: Ethernet, IPv6 and TCP with
	// all options (14 + 40 + 60) within VXLAN over IPv4 (50), rounded up.
	maxHeader = 180
	// Slack is what background packets (ARP, neighbour discovery) may move.
	Slack = 16 << 10
	// minTraffic is the least traffic of a pair that tells a path from that
	// background.
	minTraffic = 2 * Slack
)

// ErrTooLittleTraffic says that a trial carried too little for a proof either way.
var ErrTooLittleTraffic = errors.New("too little to tell the path from background packets")

// Verify checks rules against how far the counters moved while each pair of ends
// carried its share. Pairs beyond those of carried were idle.
func Verify(rules []Rule, before, after Counters, carried []Carried) error {
	moved, err := before.Delta(after)
	if err != nil {
		return err
	}
	for i, c := range carried {
		if total := minBytes(c.Forward) + minBytes(c.Reverse); total < minTraffic {
			who := ""
			if len(carried) > 1 {
				who = fmt.Sprintf(" by pair %d", i+1)
			}
			return fmt.Errorf("only %d bytes were carried%s: %w (at least %d)", total, who, ErrTooLittleTraffic, minTraffic)
		}
	}
	for _, r := range rules {
		got, ok := moved[r.Counter]
		if !ok {
			return fmt.Errorf("counter %s was not read", r.Counter)
		}
		lo, hi := r.Expect.bounds(r.of(carried))
		if got < lo || got > hi {
			return fmt.Errorf("counter %s moved by %d, but %s", r.Counter, got, r.Expect.explain(lo, hi))
		}
	}
	return nil
}

// Findings says of every rule, in their order, how far its counter moved and how far
// it had to. One that vanished or ran backwards has not moved at all.
func Findings(rules []Rule, before, after Counters, carried []Carried) []result.Finding {
	var out []result.Finding
	for _, r := range rules {
		lo, hi := r.Expect.bounds(r.of(carried))
		f := result.Finding{Counter: r.Counter, Expect: r.Expect.String(), Pair: r.Pair, Least: lo}
		if hi != math.MaxUint64 {
			f.Most = &hi
		}
		was, there := before[r.Counter]
		if is, still := after[r.Counter]; there && still && is >= was {
			moved := is - was
			f.Moved = &moved
		}
		out = append(out, f)
	}
	return out
}

// of picks the shares that the rule is about.
func (r Rule) of(carried []Carried) []Carried {
	switch {
	case r.Pair == 0:
		return carried
	case r.Pair <= len(carried):
		return carried[r.Pair-1 : r.Pair]
	}
	return nil // an idle pair
}
