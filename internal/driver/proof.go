package driver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/result"
)

// Counters are counter values by name, such as "b/br0.tx_bytes". They never decrease.
type Counters map[string]uint64

// CarrierChanges is the suffix of a device's carrier counter. No rule uses it, but a trial
// in which it changed is excluded.
const CarrierChanges = "carrier_changes"

// Flaps lists the devices whose carrier changed, as counters name them.
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

// Delta returns how much each counter changed from before to after. A counter that
// disappeared or decreased is an error: its device was replaced.
func (before Counters) Delta(after Counters) (Counters, error) {
	moved := Counters{}
	for name, was := range before {
		is, ok := after[name]
		if !ok || is < was {
			return nil, fmt.Errorf("counter %s went from %d to %d (device present: %t): the device was replaced during the trial", name, was, is, ok)
		}
		moved[name] = is - was
	}
	return moved, nil
}

// Flow is what one endpoint sent to the other in one trial, by its own count and its
// kernel's.
type Flow struct {
	Payload     uint64 // bytes that arrived
	Messages    uint64 // packets that requests, responses or datagrams need at least
	Wire        uint64 // maximum payload passed to the device, including retransmissions
	Segments    uint64 // maximum packets, including acknowledgements
	Connections uint64
	Requests    uint64 // of HTTP: responses that the client received, or that the server sent
	Failed      uint64 // of HTTP: requests of the client that failed
	Forwarded   uint64 // of HTTP: requests that a server received with X-Forwarded-For
	Flows       uint64 // of the client, each with one exchange at a time
	Content     uint64 // of HTTP: bytes of Payload that a proxy cannot leave out
	Datagrams   bool   // over UDP, which sends no acknowledgements
	Unbounded   bool   // Wire and Segments are unknown, so there is no upper bound
}

// Carried is what a pair of endpoints sent in a trial: Forward from the client, Reverse
// from the server.
type Carried struct {
	Forward, Reverse Flow
	// Seconds is the length of the timed part of the trial, the longer one where the endpoints differ.
	Seconds float64
	// InTurn means that the client is that of the first pair, whose server this one took the place of.
	InTurn bool
	// FanIn is what the server of the first pair exchanged with the clients of all pairs, whose own servers were idle; nil if each pair has
	// its server.
	FanIn *Carried
}

// Rule states what a counter must show. Pair is the pair whose traffic the counter sees,
// counted from 1; 0 means all pairs together.
type Rule struct {
	Counter string
	Expect  Expect
	Pair    int
	// OfClient means that the counter sees what the client of the pair exchanges, with any server. Package pathspec sets it where it follows
	// from the path.
	OfClient bool
	Size     uint64 // maximum bytes of a packet, where packets are expected
}

// The tolerances of verification. Every payload byte must be on the path; headers,
// acknowledgements and neighbour discovery may add to it.
const (
	// minHeader is the minimum that a separate packet adds: IPv4 and TCP headers (20 + 20),
	// as a netfilter counter sees it; devices also count 14 bytes of Ethernet.
	minHeader = 40
	// minUDPHeader is the same with UDP (20 + 8).
	minUDPHeader = 28
	// maxHeader is the maximum that one segment adds: Ethernet, IPv6 and TCP with all
	// options (14 + 40 + 60) inside VXLAN over IPv4 (50), rounded up.
	maxHeader = 180
	// Slack is how much background packets (ARP, neighbour discovery) may change a counter,
	// in bytes.
	Slack = 16 << 10
	// minTraffic is the traffic of a pair that is distinguished from any such background, in
	// bytes. Less proves a path, down to leastTraffic, if the counters beside the path show that
	// there was less background than traffic: few exchanges come back where many packets are lost.
	minTraffic   = 2 * Slack
	leastTraffic = 1 << 10
)

// ErrTooLittleTraffic reports that a trial carried too little to verify the path or to find
// it void.
var ErrTooLittleTraffic = errors.New("too little to tell the path from background packets")

// Verify checks rules against the counter changes while each pair carried its traffic.
// Pairs beyond len(carried) were idle.
func Verify(rules []Rule, before, after Counters, carried []Carried) error {
	moved, err := before.Delta(after)
	if err != nil {
		return err
	}
	least := uint64(minTraffic)
	for i, c := range carried {
		total := minBytes(c.Forward) + minBytes(c.Reverse)
		if total < leastTraffic {
			return tooLittle(carried, i, fmt.Sprintf("at least %d are required", leastTraffic))
		}
		least = min(least, total)
	}
	for _, r := range rules {
		got, ok := moved[r.Counter]
		if !ok {
			return fmt.Errorf("counter %s was not read", r.Counter)
		}
		lo, hi := r.bounds(carried)
		if least < minTraffic {
			if err := r.tooLittle(got, lo, least, carried); err != nil {
				return err
			}
		}
		if got < lo || got > hi {
			return fmt.Errorf("counter %s moved by %d, but %s", r.Counter, got, r.Expect.explain(lo, hi))
		}
	}
	return nil
}

// tooLittle reports that a counter, which moved by got and must have moved by lo at least, shows
// nothing about a path that carried so little: a process may have worked too shortly to be seen, and
// background of which half would do for the traffic may have moved the counters of the path, too.
func (r Rule) tooLittle(got, lo, least uint64, carried []Carried) error {
	beside := r.Expect == NoTraffic || len(r.of(carried)) == 0
	if beside && got > least/2 || r.Expect == ProcessBusy && got < lo {
		return tooLittle(carried, 0, fmt.Sprintf("counter %s moved by %d", r.Counter, got))
	}
	return nil
}

// tooLittle is the error that a pair carried too little.
func tooLittle(carried []Carried, pair int, why string) error {
	who, several := "", "pairs"
	if carried[pair].FanIn != nil {
		who, several = fmt.Sprintf(" by client %d", pair+1), "clients"
	} else if len(carried) > 1 {
		who = fmt.Sprintf(" by pair %d", pair+1)
	}
	return &AdviceError{
		Err:    fmt.Errorf("only %d bytes were carried%s: %w (%s)", minBytes(carried[pair].Forward)+minBytes(carried[pair].Reverse), who, ErrTooLittleTraffic, why),
		Advice: "use longer trials, larger messages or fewer " + several,
	}
}

// Findings returns, for each rule in order, how much its counter changed and how much it
// had to. A counter that disappeared or decreased counts as unchanged.
func Findings(rules []Rule, before, after Counters, carried []Carried) []result.Finding {
	var out []result.Finding
	for _, r := range rules {
		lo, hi := r.bounds(carried)
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

// of returns the traffic that the rule covers.
func (r Rule) of(carried []Carried) []Carried {
	if len(carried) > 0 && carried[0].FanIn != nil && (!r.OfClient || r.Pair == 0) {
		if r.Pair > 1 {
			return nil // its server was idle
		}
		return []Carried{*carried[0].FanIn}
	}
	inTurn := r.OfClient && len(carried) > 0 && carried[len(carried)-1].InTurn
	switch {
	case r.Pair == 0, r.Pair == 1 && inTurn:
		return carried
	case r.Pair <= len(carried) && !inTurn:
		return carried[r.Pair-1 : r.Pair]
	}
	return nil // an idle pair
}
