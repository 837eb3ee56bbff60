// Package losses attributes the datagrams that a trial lost to where counters show they
// were dropped. It only calculates: the counters come from package netstack, and the totals
// of sender and receiver from the generator.
//
// Several counters may count the same drop, and some count drops of other traffic. So there
// are two kinds of evidence: exact counters are attributed in full; counters that repeat
// another, or may include other traffic, are attributed only up to the number of datagrams
// still missing, the more reliable ones first. See README.md.
package losses

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// Input is what is known about a trial.
type Input struct {
	Sent, Received int64 // datagrams in both directions, each once, in the whole trial
	Stacks         []Stack
}

// Stack is a network stack of the path with the changes of its counters.
type Stack struct {
	Name    string
	Boot    string // the kernel's boot id: stacks of one kernel share its backlogs
	Deltas  netstack.Deltas
	Kinds   map[string]string // of devices; nil if unknown
	Shared  bool              // carries other traffic too
	Sockets *SocketTotals     // totals of the trial's sockets in this stack, nil if it has none
	State   State             // only of traffic that failed
}

// SocketTotals are the totals of a trial's sockets in one stack.
type SocketTotals struct {
	Sent     int64
	Received int64  // each once
	Drops    *int64 // dropped at these sockets, by their own counters; nil is unknown
	Denied   int64  // sends that a filter rejected
	Unread   int64  // datagrams that arrived after the endpoint had stopped
	// SendsSuper and ReceivesSuper tell whether one sent, or received, packet stands for
	// several datagrams.
	SendsSuper, ReceivesSuper bool
}

// Add returns the sum of two totals of one stack; the first may be nil.
func (e *SocketTotals) Add(o SocketTotals) *SocketTotals {
	if e == nil {
		return &o
	}
	sum := SocketTotals{Sent: e.Sent + o.Sent, Received: e.Received + o.Received, Denied: e.Denied + o.Denied, Unread: e.Unread + o.Unread,
		SendsSuper: e.SendsSuper || o.SendsSuper, ReceivesSuper: e.ReceivesSuper || o.ReceivesSuper}
	if e.Drops != nil && o.Drops != nil {
		n := *e.Drops + *o.Drops
		sum.Drops = &n
	}
	return &sum
}

// Attribute attributes the lost datagrams. Unexplained is the remainder; it is below 0 if
// exact counters changed by more than was lost, which Missing then says.
func Attribute(in Input) result.Losses {
	out := result.Losses{Sent: in.Sent, Received: in.Received, Lost: in.Sent - in.Received}
	for _, s := range in.Stacks {
		for _, g := range s.Deltas.Gaps {
			if text := s.Name + ": " + g.String(); !slices.Contains(out.Missing, text) {
				out.Missing = append(out.Missing, text)
			}
		}
	}
	out.Unexplained = out.Lost
	if out.Lost <= 0 {
		return out
	}
	b := &attribution{in: in, out: &out, factor: 1}
	b.packets()
	b.qdiscs()
	b.queues()
	b.cards()
	b.filters()
	b.routing()
	b.sockets()
	b.secondaryCounters()
	slices.SortStableFunc(out.Places, func(x, y result.LossPlace) int { return order(x.Place) - order(y.Place) })
	if out.Unexplained < 0 {
		out.Missing = append(out.Missing, "more datagrams were attributed than lost: other traffic uses the same path, or one datagram changed two counters")
	}
	return out
}

func order(place string) int {
	return slices.IndexFunc(result.LossPlaces(), func(p result.PlaceKind) bool { return p.ID == place })
}

// attribution is the state of one calculation.
type attribution struct {
	in        Input
	out       *result.Losses
	factor    float64  // datagrams in each packet
	tunnels   []drops  // packets for which devices had no route, of any traffic
	deferred  []func() // attributed after all exact counters
	fragments bool     // datagrams were sent as several packets
}

// packets determines how many datagrams a packet stands for that a device, a queue or a
// rule has counted: more than one with UDP segmentation, less than one with IP
// fragmentation.
func (b *attribution) packets() {
	var sent, left uint64
	for _, s := range b.in.Stacks {
		if s.delta("Ip.FragCreates", "Ip6.FragCreates") > 0 {
			b.fragments = true
		}
		if s.Sockets != nil && s.Sockets.SendsSuper {
			sent += uint64(max(0, s.Sockets.Sent))
			left += s.delta("Udp.OutDatagrams", "Udp6.OutDatagrams", "Udp.SndbufErrors", "Udp6.SndbufErrors")
		}
	}
	if left > 0 && sent > left {
		b.factor = float64(sent) / float64(left)
		b.addMissing("each packet carried %.2g datagrams: counts of devices, queues and rules were multiplied by that, which is correct on average only", b.factor)
	}
	if b.fragments {
		b.addMissing("datagrams were sent in fragments: devices, queues and rules count fragments, and one lost fragment loses the datagram; their counts are attributed up to the number of missing datagrams")
	}
}

func (b *attribution) addMissing(format string, args ...any) {
	b.out.Missing = append(b.out.Missing, fmt.Sprintf(format, args...))
}

// attributePackets attributes n packets that a counter of a stack counted exactly. No
// counter is exact in a shared stack or with fragments.
func (b *attribution) attributePackets(place string, s Stack, counter string, n uint64) {
	datagrams := int64(math.Round(float64(n) * b.factor))
	b.attributeIf(!b.fragments, place, s, counter, datagrams)
}

// attributeDatagrams attributes n datagrams counted by a socket that receives them
// individually: super-packets are segmented, and fragments reassembled, before they reach
// it.
func (b *attribution) attributeDatagrams(place string, s Stack, counter string, n uint64) {
	b.attributeIf(true, place, s, counter, int64(min(n, math.MaxInt64)))
}

// attributeIf attributes datagrams at once if sure, otherwise later and only up to the
// number still missing.
func (b *attribution) attributeIf(attributeIf bool, place string, s Stack, counter string, datagrams int64) {
	if !attributeIf || s.Shared {
		b.deferred = append(b.deferred, func() { b.attributeRest(place, s, counter, datagrams) })
		return
	}
	b.add(place, s.Name, counter, datagrams)
}

// attributeRest attributes at most n of the datagrams still missing.
func (b *attribution) attributeRest(place string, s Stack, counter string, n int64) {
	b.add(place, s.Name, counter, min(n, max(0, b.out.Unexplained)))
}

func (b *attribution) add(place, where, counter string, n int64) {
	if n <= 0 {
		return
	}
	b.out.Places = append(b.out.Places, result.LossPlace{Place: place, Where: where, Counter: counter, Count: n})
	b.out.Unexplained -= n
}

// delta sums the changes of counters, of which a kernel may lack some.
func (s Stack) delta(names ...string) (sum uint64) {
	for _, n := range names {
		sum += s.Deltas.Counters[n]
	}
	return sum
}

// subtractFloor returns a - b, or 0 if that is negative.
func subtractFloor(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
