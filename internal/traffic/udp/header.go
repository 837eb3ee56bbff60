package udp

import (
	"crypto/sha256"
	"encoding/binary"
)

// headerSize is what each datagram of udp_stream carries before its padding.
const headerSize = 36

// flagCounted marks a datagram of the timed window. The sender decides, so that both
// ends count the same.
const flagCounted = 1

// maxSequence is beyond any trial.
const maxSequence = 1 << 62

// header is what a datagram says of itself. All of it is little-endian, in the
// order of the fields, with a check over all behind it.
type header struct {
	tag   uint64 // the trial's: see datagramTag
	seq   uint64 // within its flow, from 0
	sent  int64  // clock reading, ns
	slot  uint32 // interval of the sender's series, for counted ones
	flow  uint16
	flags uint16
}

// datagramTag derives what marks a trial's datagrams from its token, which itself is
// shown only in the handshake.
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

// parseHeader reads a header, and says whether it is a whole one.
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

// check mixes the header's words, so that a garbled one does not pass for the
// trial's. UDP's own checksum is not computed where a device is trusted to.
func check(words ...uint64) uint32 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	var x uint64
	for _, w := range words {
		x = (x ^ w) * odd
		x ^= x >> 29
	}
	return uint32(x >> 32)
}

// The messages of the handshake. The client shows the token, the server only
// the tag that it can derive from it; no answer is longer than what it answers.
const (
	msgHello   = 1 // client: here is a flow
	msgWelcome = 2 // server: it is known
	msgReady   = 3 // client: all flows are welcome
	msgGo      = 4 // server: all flows are ready
	msgBye     = 5 // client: that was all (udp_rr)
)

// message is one datagram of the handshake.
type message struct {
	kind  byte
	flow  uint16
	flows uint16
	clock uint64 // id of the sender's clock, 0 unknown
	tag   uint64
	token string // of the client's messages
}

// magic begins each message, with the protocol's version.
const magic = "tareUDP\x01"

const messageSize = len(magic) + 1 + 2 + 2 + 8 + 8

// maxMessage is room for any message.
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

// parseMessage reads a message of the handshake, and says whether it is one.
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
