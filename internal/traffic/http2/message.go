package http2

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// Field is one header field. A name is in lower case; those of requests and responses begin with pseudo-header fields.
type Field struct{ Name, Value string }

// Message is a request or a response that is sent repeatedly on connections. Its fields are encoded once: as they are
// sent first on a connection, which makes the peer keep them, then by their indexes. A connection may send messages of
// one set of kept fields only.
type Message struct {
	first, later, plain []byte // header blocks: to be kept, by index, and for a peer that keeps none
	start               []byte // of the body
	size                int    // of the body
	trailer             []byte // header block, nil for none
	goesOn              bool   // the stream does, behind the body
}

// GoesOn makes the stream go on after the message: others follow by Send, and on a server its trailer by End.
func (m *Message) GoesOn() *Message {
	m.goesOn = true
	return m
}

// NewMessage returns a message with these fields, which the peer keeps, and with others that change; with a body of zeros of that
// size after start, which is part of it; and with a trailer if that is not nil.
func NewMessage(kept, changing []Field, start []byte, size int, trailer []Field) *Message {
	var b bytes.Buffer
	encode := hpack.NewEncoder(&b)
	var blocks [2][]byte
	for i := range blocks {
		for _, f := range kept {
			_ = encode.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value}) // to memory
		}
		blocks[i] = appendLiterals(bytes.Clone(b.Bytes()), changing)
		b.Reset()
	}
	m := &Message{first: blocks[0], later: blocks[1], plain: appendLiterals(appendLiterals(nil, kept), changing), start: start, size: size}
	if trailer != nil {
		m.trailer = appendLiterals([]byte{}, trailer)
	}
	return m
}

// appendLiterals appends fields that are not kept (RFC 7541, 6.2.2).
func appendLiterals(b []byte, fields []Field) []byte {
	for _, f := range fields {
		b = append(b, 0)
		for _, s := range []string{f.Name, f.Value} {
			b = appendInteger(b, len(s))
			b = append(b, s...)
		}
	}
	return b
}

// appendInteger appends the length of a string that is not in Huffman's code (RFC 7541, 5.1).
func appendInteger(b []byte, n int) []byte {
	const most = 1<<7 - 1
	if n < most {
		return append(b, byte(n))
	}
	b = append(b, most)
	for n -= most; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|1<<7)
	}
	return append(b, byte(n))
}

// blockFor returns the next header block of a message on a connection.
func (c *Conn) blockFor(m *Message) []byte {
	switch {
	case c.keepsNone && c.kept: // a change of the table's size comes first (RFC 7541, 4.2)
		c.kept = false
		return append([]byte{0x20}, m.plain...)
	case c.keepsNone:
		return m.plain
	case c.kept:
		return m.later
	}
	c.kept = true
	return m.first
}
