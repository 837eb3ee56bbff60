package relay

import (
	"net"
	"sync/atomic"
)

// The format of a TLS record (RFC 8446 section 5): a type, a version, a length, and as many
// bytes. In TLS 1.3 all but the first messages of a handshake are encrypted, in records whose
// type is that of application data.
const (
	recordHeader  = 5
	typeChange    = 20 // change_cipher_spec, for middleboxes
	typeHandshake = 22
	typeData      = 23
	version10     = 0x0301   // of the first message
	version12     = 0x0303   // of all others
	maxRecord     = 16 << 10 // payload of a record
	maxExpansion  = 256      // what encryption may add to it
	sealOverhead  = 17       // what AES-GCM adds: inner type 1, tag 16
)

// SealedLength returns the length in the header of a record with n bytes of payload.
func SealedLength(n int) int { return n + sealOverhead }

// recordCounts counts the records that a proxy writes to the other.
type recordCounts struct {
	records  counter // encrypted, between the handshake and the close_notify
	content  counter // bytes inside these
	unsealed counter // bytes in anything else, handshakes apart
}

// phase is what a connection writes.
type phase int32

// The phases, in their order.
const (
	handshaking phase = iota
	forwarding
	closing // the close_notify alert
)

// recordConn is a connection to the other proxy. It follows the records in what is written to
// the socket, so that the counts do not depend on what the TLS library says.
type recordConn struct {
	*net.TCPConn
	into  *recordCounts
	phase atomic.Int32
	scan  recordScanner
}

// Write counts before it writes, so that nothing arrives uncounted.
func (c *recordConn) Write(b []byte) (int, error) {
	c.scan.scan(b, phase(c.phase.Load()), c.into)
	return c.TCPConn.Write(b)
}

// recordScanner follows a stream of records.
type recordScanner struct {
	header [recordHeader]byte
	have   int // bytes of the header
	left   int // bytes of the record
	lost   bool
}

// scan counts the records that begin in b. After bytes that are no record, nothing is taken
// for one.
func (s *recordScanner) scan(b []byte, at phase, into *recordCounts) {
	for len(b) > 0 {
		if s.lost {
			into.unsealed.Add(uint64(len(b)))
			return
		}
		if s.left > 0 {
			n := min(s.left, len(b))
			s.left, b = s.left-n, b[n:]
			continue
		}
		n := copy(s.header[s.have:], b)
		s.have, b = s.have+n, b[n:]
		if s.have == recordHeader {
			s.begin(at, into)
		}
	}
}

// begin counts the record whose header is complete.
func (s *recordScanner) begin(at phase, into *recordCounts) {
	s.have, s.left = 0, int(s.header[3])<<8|int(s.header[4])
	kind, version := s.header[0], int(s.header[1])<<8|int(s.header[2])
	valid := (version == version12 || version == version10 && at == handshaking) && s.left <= maxRecord+maxExpansion
	switch {
	case valid && kind == typeData && s.left >= sealOverhead:
		if at == forwarding {
			into.records.Add(1)
			into.content.Add(uint64(s.left - sealOverhead))
		}
	case valid && at == handshaking && (kind == typeHandshake || kind == typeChange):
	default:
		s.lost = true
		into.unsealed.Add(recordHeader)
	}
}
