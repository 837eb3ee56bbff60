package driver

import (
	"fmt"
	"math"

	"tare/internal/unit"
)

// Expect states how a counter must relate to what was carried.
type Expect int

// The expectations.
const (
	// Forward, Reverse and Both: bytes on the path, in one direction or summed.
	Forward Expect = iota
	Reverse
	Both
	// Connections: packets of a rule that matches only the first packet of a connection.
	Connections
	// NoTraffic: bytes or packets on a device that bypasses the path.
	NoTraffic
	// ForwardAtLeast, ReverseAtLeast and BothAtLeast: bytes on a part of the path where the
	// endpoints do not know the number of packets, because a process forwards the payload
	// in its own packets, or where there is other traffic too.
	ForwardAtLeast
	ReverseAtLeast
	BothAtLeast
	// NoMatch: packets of a rule that must not match any connection.
	NoMatch
	// ProcessBusy: CPU nanoseconds of a process that forwards the traffic.
	ProcessBusy
	// ProcessIdle: CPU nanoseconds of a process that must not forward it.
	ProcessIdle
	// Unchanged: how often a setting was read back with another value than the requested.
	Unchanged
	// ForwardPackets, ReversePackets and BothPackets: packets of at most Rule.Size bytes, and
	// one for each message.
	ForwardPackets
	ReversePackets
	BothPackets
	// ForwardStream, ReverseStream and BothStream: at least one for each Rule.Size bytes of a
	// stream over TCP. Requests, responses and datagrams do not matter.
	ForwardStream
	ReverseStream
	BothStream
	// ForwardPayload and ReversePayload: payload bytes of TCP, without headers, as a process
	// counts them that forwards connections.
	ForwardPayload
	ReversePayload
	// Requests: requests of HTTP that a proxy has handled. Each that the client sent passes it, and
	// each was answered by the server: a proxy that answers by itself, or repeats one, is found.
	Requests
	// OwnConnections: packets that open a connection, at least one for each request.
	OwnConnections
	// SharedConnections: packets that open a connection that serves several requests: fewer than
	// half as many as requests, besides the first ones of each flow.
	SharedConnections
	// TCPAtLeast: bytes both ways on a device that connections over TCP pass, and datagrams do not: a sandbox's loopback, over which
	// connections are led to a proxy in it.
	TCPAtLeast
)

// String returns the word for the expectation in results; docs/proof.md explains each.
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
	case Unchanged:
		return "unchanged"
	case ForwardPackets:
		return "forward packets"
	case ReversePackets:
		return "reverse packets"
	case BothPackets:
		return "packets both ways"
	case ForwardStream:
		return "forward stream"
	case ReverseStream:
		return "reverse stream"
	case BothStream:
		return "streams both ways"
	case ForwardPayload:
		return "forward payload"
	case ReversePayload:
		return "reverse payload"
	case Requests:
		return "requests"
	case OwnConnections:
		return "a connection a request"
	case SharedConnections:
		return "shared connections"
	case TCPAtLeast:
		return "TCP at least"
	}
	return fmt.Sprintf("expectation %d", int(e))
}

// ofSetting reports whether the expectation shows that a setting is in effect.
func (e Expect) ofSetting() bool { return e >= ForwardPackets && e <= BothStream }

// OffPath reports whether the counter belongs to something that must not carry traffic.
func (e Expect) OffPath() bool { return e == NoTraffic || e == NoMatch || e == ProcessIdle }

// minBytes returns the minimum bytes that f puts on a device. A direction without payload
// carries TCP acknowledgements, each a separate packet; only half of them are required,
// because a queue may drop some. Received datagrams crossed every device; UDP sends nothing
// back.
func minBytes(f Flow) uint64 {
	switch {
	case f.Datagrams:
		return f.Payload + minUDPHeader*f.Messages
	case f.Payload > 0:
		return f.Payload + minHeader*f.Messages
	}
	return minHeader * f.Segments / 2
}

// maxBytes returns the maximum bytes, without background traffic.
func maxBytes(f Flow) uint64 {
	if f.Unbounded {
		return math.MaxUint64
	}
	return f.Wire + maxHeader*f.Segments
}

// minPayload returns what one direction puts on a device, however it was packetised. A
// direction without payload adds nothing, because its acknowledgements depend on who
// packetises.
func minPayload(carried []Carried, pick func(Carried) Flow) (lo uint64) {
	for _, c := range carried {
		if f := pick(c); f.Payload > 0 {
			lo += minBytes(f)
		}
	}
	return lo
}

// The CPU time of a process, in ns, that distinguishes one that forwards traffic from one
// that only sleeps. Forwarding the minimum traffic of a verification takes dozens of system
// calls of a few thousand ns each. The kernel adds interrupts to the time of the process that
// they interrupt and, in a virtual machine, what the hypervisor takes meanwhile: on a busy
// machine a sleeping pasta was charged 7 ms during a trial of 60 ms. A process that sleeps
// wakes up by itself, too, so that a long trial allows more: 960 wakes of a second each, at a load of
// 40 on two CPUs, took 0.03 ms in the median and 0.2 ms at most.
const (
	minBusyNS     = 100_000
	maxIdleNS     = 15_000_000
	idleNSASecond = 1_000_000
)

// mostIdle returns the CPU time, in ns, that a process may use during a trial if it forwards nothing.
func mostIdle(trial []Carried) uint64 {
	longest := 0.0
	for _, c := range trial {
		longest = max(longest, c.Seconds)
	}
	return maxIdleNS + uint64(longest*idleNSASecond)
}

// directionBounds returns the bounds of what one direction of all pairs puts on a device.
func directionBounds(carried []Carried, pick func(Carried) Flow) (lo, hi uint64) {
	hi = Slack
	for _, c := range carried {
		f := pick(c)
		lo, hi = lo+minBytes(f), addSaturating(hi, maxBytes(f))
	}
	return lo, hi
}

// addSaturating adds two bounds, either of which may be infinite.
func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// overTCP picks nothing of datagrams.
func overTCP(pick func(Carried) Flow) func(Carried) Flow {
	return func(c Carried) Flow {
		if f := pick(c); !f.Datagrams {
			return f
		}
		return Flow{}
	}
}

func forward(c Carried) Flow { return c.Forward }
func reverse(c Carried) Flow { return c.Reverse }

// minPackets returns the minimum packets of at most size bytes that one direction takes.
func minPackets(f Flow, size uint64) uint64 {
	if f.Datagrams {
		return f.Messages
	}
	return max(f.Messages, minStream(f, size))
}

// minStream returns the number of whole parts of size bytes of a stream.
func minStream(f Flow, size uint64) uint64 {
	if f.Datagrams || size == 0 {
		return 0
	}
	return f.Payload / size
}

// payloadBounds returns the bounds of what a process counts of one direction: the payload that
// arrived, and what was sent.
func payloadBounds(carried []Carried, pick func(Carried) Flow) (lo, hi uint64) {
	hi = Slack
	for _, c := range carried {
		f := pick(c)
		lo += f.Payload
		if hi = addSaturating(hi, f.Wire); f.Unbounded {
			hi = math.MaxUint64
		}
	}
	return lo, hi
}

// requestBounds returns how many requests a proxy may have handled. The lower bound is above the upper one if
// client and server do not agree.
func requestBounds(carried []Carried) (lo, hi uint64) {
	for _, c := range carried {
		lo += max(c.Forward.Requests, c.Reverse.Requests)
		hi += min(c.Forward.Requests, c.Reverse.Requests) + c.Forward.Failed
	}
	return lo, hi
}

// freeConnections is how many connections a pair's proxy may open for any number of requests.
const freeConnections = 64

// sharedBounds returns how many connections may be opened for the requests if they are shared.
func sharedBounds(carried []Carried) (lo, hi uint64) {
	for _, c := range carried {
		hi += c.Forward.Requests/2 + c.Forward.Flows + freeConnections
	}
	return 0, hi
}

// sum adds up what count returns for one direction of all pairs.
func (r Rule) sum(carried []Carried, pick func(Carried) Flow, count func(f Flow, size uint64) uint64) (lo uint64) {
	for _, c := range carried {
		lo += count(pick(c), r.Size)
	}
	return lo
}

// bounds returns by how much the counter of the rule may move in a trial of these pairs.
func (r Rule) bounds(trial []Carried) (lo, hi uint64) {
	carried := r.of(trial)
	switch r.Expect {
	case ProcessIdle:
		return 0, mostIdle(trial)
	case ProcessBusy:
		if len(carried) == 0 {
			return 0, mostIdle(trial)
		}
		return minBusyNS, math.MaxUint64
	case ForwardPackets:
		return r.sum(carried, forward, minPackets), math.MaxUint64
	case ReversePackets:
		return r.sum(carried, reverse, minPackets), math.MaxUint64
	case BothPackets:
		return r.sum(carried, forward, minPackets) + r.sum(carried, reverse, minPackets), math.MaxUint64
	case ForwardStream:
		return r.sum(carried, forward, minStream), math.MaxUint64
	case ReverseStream:
		return r.sum(carried, reverse, minStream), math.MaxUint64
	case BothStream:
		return r.sum(carried, forward, minStream) + r.sum(carried, reverse, minStream), math.MaxUint64
	default:
		return r.Expect.bounds(carried)
	}
}

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
	case TCPAtLeast:
		return minPayload(carried, overTCP(forward)) + minPayload(carried, overTCP(reverse)), math.MaxUint64
	case ForwardPayload:
		return payloadBounds(carried, forward)
	case ReversePayload:
		return payloadBounds(carried, reverse)
	case Requests:
		return requestBounds(carried)
	case OwnConnections:
		for _, c := range carried {
			lo += c.Forward.Requests
		}
		return lo, math.MaxUint64
	case SharedConnections:
		return sharedBounds(carried)
	case NoMatch, Unchanged:
		return 0, 0
	default:
		return 0, Slack
	}
}

func (e Expect) explain(lo, hi uint64) string {
	switch {
	case e == Connections:
		return "that rule must have matched " + unit.Count(int(lo), "connection", "connections")
	case e == Requests && lo > hi:
		return fmt.Sprintf("client and server do not agree: one of them counts %d requests, the other %d with those that failed, so something between them answered or repeated some", lo, hi)
	case e == Requests:
		return fmt.Sprintf("client and server count %d requests, at most %d with those that failed", lo, hi)
	case e == OwnConnections:
		return fmt.Sprintf("each of the %d requests must have had a connection of its own", lo)
	case e == SharedConnections:
		return fmt.Sprintf("requests share connections, of which there may be at most %d", hi)
	case e == ProcessBusy && hi == math.MaxUint64:
		return fmt.Sprintf("that process forwards the traffic and must have used %d ns of CPU time or more", lo)
	case e == ProcessBusy || e == ProcessIdle:
		return fmt.Sprintf("that process is not on the path and may use at most %d ns of CPU time", hi)
	case e == NoMatch:
		return "that rule must not match any connection"
	case e == Unchanged:
		return "that setting must be in effect throughout, and it was read back with another value"
	case e.ofSetting():
		return fmt.Sprintf("with the setting in effect the traffic moves it by %d or more", lo)
	case e == NoTraffic:
		return fmt.Sprintf("it is not on the path and may change by at most %d", hi)
	case lo == 0 && hi == Slack:
		return fmt.Sprintf("no traffic is expected there (at most %d)", hi)
	case hi == math.MaxUint64:
		return fmt.Sprintf("the traffic must have moved it by %d or more", lo)
	default:
		return fmt.Sprintf("the traffic must have moved it by %d to %d", lo, hi)
	}
}
