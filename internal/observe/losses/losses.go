// Package losses books the datagrams that a trial lost to the places where counters
// saw them die. It only calculates: the counters are those of package netstack, and
// the accounts of the two ends are the generator's.
//
// Counters tell the same death more than once, and some that of others. So there are
// two sorts of evidence. What a counter says exactly is booked in full. What is only
// an echo of another counter, or may be of other traffic, is booked as far as
// datagrams are still missing, in the order of its worth. See docs/loss.md.
package losses

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// Input is what is known of a trial.
type Input struct {
	Sent, Received int64 // datagrams, both ways together, each once; the whole trial
	Stacks         []Stack
}

// Stack is a network stack of the path with how far its counters moved.
type Stack struct {
	Name    string
	Boot    string // the kernel's id: stacks of one kernel share its backlogs
	Deltas  netstack.Deltas
	Kinds   map[string]string // of devices; nil where unknown
	Shared  bool              // others use it too
	Sockets *SocketTotals     // what ended here of the trial's own, nil where nothing did
}

// SocketTotals is the account of the ends in one stack together.
type SocketTotals struct {
	Sent     int64
	Received int64  // each once
	Drops    *int64 // at the ends' sockets, as these say themselves; nil is unknown
	Denied   int64  // sends that a filter refused
	Unread   int64  // datagrams that came after the end had stopped
	// SendsSuper and ReceivesSuper are whether what it sends, or receives, is one packet
	// for several datagrams.
	SendsSuper, ReceivesSuper bool
}

// Add is two accounts of one stack together; the first may be nil.
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

// Attribute books what was lost. Unexplained is what is left, below 0 where counters that
// are taken at their word moved by more than was lost; Missing then says so.
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
	b.filters()
	b.routing()
	b.sockets()
	b.secondaryCounters()
	slices.SortStableFunc(out.Places, func(x, y result.LossPlace) int { return order(x.Place) - order(y.Place) })
	if out.Unexplained < 0 {
		out.Missing = append(out.Missing, "more were booked than lost: others use the same path, or one datagram moved two counters")
	}
	return out
}

func order(place string) int {
	return slices.IndexFunc(result.LossPlaces(), func(p result.PlaceKind) bool { return p.ID == place })
}

// attribution is the work on one account.
type attribution struct {
	in        Input
	out       *result.Losses
	factor    float64  // datagrams that a packet stands for
	tunnels   []drops  // of what devices found no way for, the trial's or not
	deferred  []func() // what is booked once everything sure is
	fragments bool     // datagrams crossed in several packets
}

// packets finds out how many datagrams stand behind a packet that a device, a queue
// or a rule has counted: more than one with UDP segmentation, less than one where IP
// cuts datagrams into fragments.
func (b *attribution) packets() {
	var sent, left uint64
	for _, s := range b.in.Stacks {
		if s.moved("Ip.FragCreates", "Ip6.FragCreates") > 0 {
			b.fragments = true
		}
		if s.Sockets != nil && s.Sockets.SendsSuper {
			sent += uint64(max(0, s.Sockets.Sent))
			left += s.moved("Udp.OutDatagrams", "Udp6.OutDatagrams", "Udp.SndbufErrors", "Udp6.SndbufErrors")
		}
	}
	if left > 0 && sent > left {
		b.factor = float64(sent) / float64(left)
		b.addMissing("datagrams were sent %.2g to a packet: what devices, queues and rules counted was multiplied by that, which is right on average only", b.factor)
	}
	if b.fragments {
		b.addMissing("datagrams were sent in fragments: devices, queues and rules count those, and one that is lost costs a whole datagram; what they say is booked as far as datagrams are missing")
	}
}

func (b *attribution) addMissing(format string, args ...any) {
	b.out.Missing = append(b.out.Missing, fmt.Sprintf(format, args...))
}

// attributePackets books n packets of a stack that a counter is sure of. In a stack that others
// use, or of fragments, nothing is sure.
func (b *attribution) attributePackets(place string, s Stack, counter string, n uint64) {
	datagrams := int64(math.Round(float64(n) * b.factor))
	b.attributeIf(!b.fragments, place, s, counter, datagrams)
}

// attributeDatagrams books n datagrams, as a socket counts them that takes them one by one: super-packets
// are cut, and fragments put together, before they come to it.
func (b *attribution) attributeDatagrams(place string, s Stack, counter string, n uint64) {
	b.attributeIf(true, place, s, counter, int64(min(n, math.MaxInt64)))
}

// attributeIf books datagrams at once, or later as far as they are still missing.
func (b *attribution) attributeIf(attributeIf bool, place string, s Stack, counter string, datagrams int64) {
	if !attributeIf || s.Shared {
		b.deferred = append(b.deferred, func() { b.attributeRest(place, s, counter, datagrams) })
		return
	}
	b.add(place, s.Name, counter, datagrams)
}

// attributeRest books what is left to be explained, n datagrams at most.
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

// moved adds up counters, of which a kernel may not have all.
func (s Stack) moved(names ...string) (sum uint64) {
	for _, n := range names {
		sum += s.Deltas.Counters[n]
	}
	return sum
}

// subtractFloor is a - b, 0 where that is below.
func subtractFloor(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
