package udp

import (
	"crypto/sha256"
	"encoding/binary"
)

// headerSize is the size of the header of each udp_stream datagram, before the padding.
const headerSize = 36

// flagCounted marks a datagram of the timed window. The sender sets it, so that both endpoints
// count the same datagrams.
const flagCounted = 1

// maxSequence is larger than in any trial.
const maxSequence = 1 << 62

// header is the header of a datagram. It is encoded in little-endian order, field by field,
// followed by a checksum.
type header struct {
	tag   uint64 // identifies the trial; see datagramTag
	seq   uint64 // within its flow, from 0
	sent  int64  // clock reading, ns
	slot  uint32 // interval of the sender's series, for counted datagrams
	flow  uint16
	flags uint16
}

// datagramTag derives the tag of a trial's datagrams from its token, which is only sent in the
// handshake.
func datagramTag(token string) uint64 {
	sum := sha256.Sum256([]byte("datagrams of " + token))
	return binary.LittleEndian.Uint64(sum[:])
}

// put writes h into the first headerSize bytes of b.
func (h *header) put(b []byte) {
	_ = b[headerSize-1]
	le := binary.LittleEndian
	le.PutUint64(b, h.tag)
	le.PutUint64(b[8:], h.seq)
	le.PutUint64(b[16:], uint64(h.sent))
	rest := h.rest()
	le.PutUint64(b[24:], rest)
	le.PutUint32(b[32:], check(h.tag, h.seq, uint64(h.sent), rest))
}

func (h *header) rest() uint64 {
	return uint64(h.slot) | uint64(h.flow)<<32 | uint64(h.flags)<<48
}

// parseHeader reads a header and reports whether it is valid.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize {
		return h, false
	}
	le := binary.LittleEndian
	rest := le.Uint64(b[24:])
	h = header{tag: le.Uint64(b), seq: le.Uint64(b[8:]), sent: int64(le.Uint64(b[16:])),
		slot: uint32(rest), flow: uint16(rest >> 32), flags: uint16(rest >> 48)}
	return h, h.seq < maxSequence && le.Uint32(b[32:]) == check(h.tag, h.seq, uint64(h.sent), rest)
}

// check is a checksum of the header's words, so that a corrupt datagram is not counted. UDP's own
// checksum is not computed if the sending device is trusted to compute it.
func check(words ...uint64) uint32 {
	const multiplier = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	var x uint64
	for _, w := range words {
		x = (x ^ w) * multiplier
		x ^= x >> 29
	}
	return uint32(x >> 32)
}

// The messages of the handshake. The client sends the token, the server only the tag that it
// derives from it. No reply is longer than the message that it answers.
const (
	msgHello   = 1 // client: opens a flow
	msgWelcome = 2 // server: acknowledges the flow
	msgReady   = 3 // client: all flows are acknowledged
	msgGo      = 4 // server: all flows are ready
	msgBye     = 5 // client: the end (udp_rr)
)

// message is one datagram of the handshake.
type message struct {
	kind  byte
	flow  uint16
	flows uint16
	clock uint64 // id of the sender's clock, 0 unknown
	tag   uint64
	token string // in messages of the client
}

// magic starts each message and contains the version of the protocol.
const magic = "tareUDP\x01"

const messageSize = len(magic) + 1 + 2 + 2 + 8 + 8

// maxMessage bounds the size of a message.
const maxMessage = 1024

func (m message) bytes() []byte {
	b := append([]byte(magic), m.kind)
	le := binary.LittleEndian
	b = le.AppendUint16(b, m.flow)
	b = le.AppendUint16(b, m.flows)
	b = le.AppendUint64(b, m.clock)
	b = le.AppendUint64(b, m.tag)
	return append(b, m.token...)
}

// parseMessage reads a message of the handshake and reports whether it is one.
func parseMessage(b []byte) (m message, ok bool) {
	if len(b) < messageSize || len(b) > maxMessage || string(b[:len(magic)]) != magic {
		return m, false
	}
	b = b[len(magic):]
	le := binary.LittleEndian
	m = message{kind: b[0], flow: le.Uint16(b[1:]), flows: le.Uint16(b[3:]), clock: le.Uint64(b[5:]), tag: le.Uint64(b[13:])}
	m.token = string(b[21:])
	return m, m.kind >= msgHello && m.kind <= msgBye
}
