package http2

// outputSize is how much Pending returns about at most, in bytes, so that one call sends it.
const outputSize = 64 << 10

// Request begins a stream with a request. Lane is that of the stream. A client calls it when the peer's settings have arrived, for
// at most MaxStreams at once.
func (c *Conn) Request(m *Message, lane int) *Stream {
	if c.last == 0 {
		c.last = 1
	} else {
		c.last += 2
	}
	s := c.open(c.last)
	s.Lane = lane
	c.send(s, m)
	return s
}

// MoreRequests reports whether the numbers of streams suffice for another request.
func (c *Conn) MoreRequests() bool { return c.last < maxWindow-2 }

// Respond answers a request.
func (c *Conn) Respond(s *Stream, m *Message) { c.send(s, m) }

// Refuse answers a request with a status and a line of text, in plain fields.
func (c *Conn) Refuse(s *Stream, status, text string) {
	text += "\n"
	block := appendLiterals(nil, []Field{{":status", status}, {"content-type", "text/plain; charset=utf-8"}})
	if c.keepsNone && c.kept {
		c.kept = false
		block = append([]byte{0x20}, block...)
	}
	c.out = appendFrameHeader(c.out, len(block), frameHeaders, flagEndHeaders, s.id)
	c.out = append(c.out, block...)
	c.out = appendFrameHeader(c.out, len(text), frameData, flagEndStream, s.id)
	c.out = append(c.out, text...)
	s.done = true
	c.finish(s, NoError)
}

// send begins to send a message.
func (c *Conn) send(s *Stream, m *Message) {
	block := c.blockFor(m)
	flags := byte(flagEndHeaders)
	if m.size == 0 && m.trailer == nil && !m.goesOn {
		flags |= flagEndStream
	}
	c.out = appendFrameHeader(c.out, len(block), frameHeaders, flags, s.id)
	c.out = append(c.out, block...)
	c.bytes.Sent += headerSize + int64(len(block))
	s.message = m
	switch {
	case flags&flagEndStream != 0:
		c.sentWhole(s)
	case m.size == 0 && !m.goesOn:
		c.sendTrailer(s)
	default:
		c.queue(s)
	}
}

// queue gives a stream its turn if it has data that its window allows.
func (c *Conn) queue(s *Stream) {
	if s.queued || s.done || s.message == nil || s.sent == s.message.size || s.allowed <= 0 {
		return
	}
	s.queued = true
	c.ready = append(c.ready, s)
}

// sendTrailer ends a message that has a trailer.
func (c *Conn) sendTrailer(s *Stream) {
	block := s.message.trailer
	c.out = appendFrameHeader(c.out, len(block), frameHeaders, flagEndHeaders|flagEndStream, s.id)
	c.out = append(c.out, block...)
	c.bytes.Sent += headerSize + int64(len(block))
	c.sentWhole(s)
}

// sentWhole handles the end of what is sent on a stream.
func (c *Conn) sentWhole(s *Stream) {
	s.done = true
	c.completed++
	if c.server {
		c.finish(s, NoError)
	}
}

// Pending returns what to send next, nothing if there is nothing that the peer's windows allow. It does not change until Wrote has told that
// all of it was sent.
func (c *Conn) Pending() []byte {
	if c.sent == len(c.out) {
		c.out, c.sent = c.out[:0], 0
	}
	if c.sent == 0 {
		for len(c.ready) > 0 && c.peerWindow > 0 && len(c.out) < outputSize {
			c.sendData()
		}
	}
	return c.out[c.sent:]
}

// Wrote tells that n bytes of what Pending returned were sent.
func (o *output) Wrote(n int) { o.sent += n }

var zeros [MaxFrame]byte //nolint:gochecknoglobals // only read

// sendData adds a frame with data of the stream whose turn it is.
func (c *Conn) sendData() {
	s := c.ready[0]
	c.ready = c.ready[:copy(c.ready, c.ready[1:])]
	s.queued = false
	if s.message == nil { // it was finished meanwhile
		c.free = append(c.free, s)
		return
	}
	m := s.message
	n := int(min(int64(m.size-s.sent), s.allowed, c.peerWindow, int64(c.maxFrame)))
	if n <= 0 {
		return
	}
	last := s.sent+n == m.size
	flags := byte(0)
	if last && m.trailer == nil && !m.goesOn {
		flags = flagEndStream
	}
	c.out = appendFrameHeader(c.out, n, frameData, flags, s.id)
	from := len(c.out)
	c.out = append(c.out, zeros[:n]...)
	if s.sent < len(m.start) {
		copy(c.out[from:], m.start[s.sent:])
	}
	c.bytes.Sent += headerSize + int64(n)
	s.sent += n
	s.allowed -= int64(n)
	c.peerWindow -= int64(n)
	switch {
	case last && m.goesOn:
		c.completed++
		c.sentPart(s)
	case last && m.trailer != nil:
		c.sendTrailer(s)
	case last:
		c.sentWhole(s)
	default:
		c.queue(s)
	}
}
