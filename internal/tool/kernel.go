package tool

import "tare/internal/traffic"

// kernelCount is what a network namespace sent since it was made.
type kernelCount struct {
	octets   uint64 // IP packets, headers included
	segments uint64 // TCP segments and UDP datagrams
	known    bool
}

func (k kernelCount) since(before kernelCount) kernelCount {
	return kernelCount{k.octets - before.octets, k.segments - before.segments, k.known && before.known &&
		k.octets >= before.octets && k.segments >= before.segments}
}

// The bounds for systems that do not count: twice what was sent, in segments of
// the least size that every path carries, and room for the tool's own control
// connection.
const (
	leastSegment     = 536
	controlAllowance = 1 << 20
	// headerAllowance is the most that the devices of a path add to a packet.
	headerAllowance = 180
)

// setUpperBound sets how much this end can have put on the wire at most, for the path
// proof: tools do not tell. A direction without payload carries the control
// connection and acknowledgements; how many at least nobody knows, so its
// segments stay 0 and their headers go into the bytes.
func (k kernelCount) setUpperBound(r *traffic.Report, j job) {
	if !k.known {
		k.octets = 2*uint64(max(0, r.Sent+r.Received)) + controlAllowance
		k.segments = k.octets / leastSegment
	}
	r.TCP.Wire, r.TCP.Segments = k.octets, k.segments
	if !j.sends() {
		r.TCP.Wire, r.TCP.Segments = k.octets+headerAllowance*k.segments, 0
	}
}
