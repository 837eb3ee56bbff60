package http2

import (
	"encoding/binary"
	"strings"
)

// prefixSize is the length of what precedes a message of gRPC in a body: whether it is compressed, and its length.
const prefixSize = 5

// isCall reports whether the body behind a head has messages of gRPC.
func isCall(h *Head) bool {
	kind, _ := h.Field("content-type")
	return strings.HasPrefix(kind, "application/grpc")
}

// parts reads messages of gRPC from the data of a stream, and tells each.
func (c *Conn) parts(s *Stream, data []byte) {
	for id := s.id; len(data) > 0 && c.failed == nil && c.streams[id] == s && s.id == id; {
		if s.prefix == 0 {
			c.handler.Begun(s)
		}
		if s.prefix < prefixSize {
			n := copy(s.Start[s.prefix:], data)
			s.prefix, data = s.prefix+n, data[n:]
			if s.prefix < prefixSize {
				return
			}
			s.Part = int64(binary.BigEndian.Uint32(s.Start[1:]))
			s.left = s.Part
			switch {
			case s.Start[0] != 0:
				c.malformed(s, "a message of the call is compressed, which was not agreed")
				return
			case s.Part+prefixSize > c.options.MaxBody:
				c.fail(bad(EnhanceYourCalm, "a message of the call is larger than %d bytes", c.options.MaxBody))
				return
			}
		}
		n := min(s.left, int64(len(data)))
		s.left, data = s.left-n, data[n:]
		if s.left == 0 {
			s.prefix = 0
			c.handler.Part(s)
		}
	}
}

// Sent reports whether all that was to be sent on a stream was handed out.
func (s *Stream) Sent() bool { return s.message != nil && s.sent == s.message.size && s.more == 0 }

// Send sends another message on a stream that goes on, which is the one before or like it: where that is still being sent, it is sent again.
func (c *Conn) Send(s *Stream, m *Message) {
	if !s.Sent() {
		s.more++
		return
	}
	s.message, s.sent = m, 0
	c.queue(s)
}

// End ends a stream that goes on, of a server, with the trailer of its message, behind what is still to be sent.
func (c *Conn) End(s *Stream) {
	s.ending = true
	if s.Sent() {
		c.sentPart(s)
	}
}

// sentPart handles the end of a message on a stream that goes on.
func (c *Conn) sentPart(s *Stream) {
	switch {
	case s.more > 0:
		s.more--
		s.sent = 0
		c.queue(s)
	case s.ending:
		block := s.message.trailer
		c.out = appendFrameHeader(c.out, len(block), frameHeaders, flagEndHeaders|flagEndStream, s.id)
		c.out = append(c.out, block...)
		c.bytes.Sent += headerSize + int64(len(block))
		c.ends++
		s.done = true
		c.finish(s, NoError)
	}
}
