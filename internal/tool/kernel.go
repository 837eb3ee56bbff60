package tool

import "tare/internal/traffic"

// kernelCount is what a network namespace has sent since its creation.
type kernelCount struct {
	octets   uint64 // IP packets, headers included
	segments uint64 // TCP segments and UDP datagrams
	known    bool
}

func (k kernelCount) since(before kernelCount) kernelCount {
	return kernelCount{k.octets - before.octets, k.segments - before.segments, k.known && before.known &&
		k.octets >= before.octets && k.segments >= before.segments}
}

// The allowances for systems without counters: twice what was sent, in segments of the smallest
// size that every path carries, and the tool's own control connection.
const (
	leastSegment     = 536
	controlAllowance = 1 << 20
	// headerAllowance bounds what the devices of a path add to a packet.
	headerAllowance = 180
)

// setUpperBound sets the upper bound of what this endpoint can have put on the wire, for the path
// proof, because tools do not report it. A direction without payload has the control connection and
// acknowledgements. Their least number is unknown, so its segments stay 0 and their headers are
// added to the bytes.
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
