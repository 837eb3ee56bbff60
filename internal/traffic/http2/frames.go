package http2

import (
	"encoding/binary"
	"strings"
)

// headers handles a frame that begins a header block.
func (c *Conn) headers(p []byte) *Error {
	f := c.frame
	c.bytes.Received += headerSize + int64(f.length)
	if f.has(flagPadded) {
		if len(p) == 0 {
			return bad(FrameSizeError, "a padded frame has no length of its padding")
		}
		pad := int(p[0])
		if p = p[1:]; pad > len(p) {
			return bad(ProtocolError, "the padding of a frame is longer than the frame")
		}
		p = p[:len(p)-pad]
	}
	if f.has(flagPriority) {
		if len(p) < 5 {
			return bad(FrameSizeError, "a frame is too short for its priority")
		}
		if binary.BigEndian.Uint32(p)&(1<<31-1) == f.stream {
			return bad(ProtocolError, "a stream depends on itself")
		}
		p = p[5:]
	}
	s := c.streams[f.stream]
	switch {
	case f.stream == 0:
		return bad(ProtocolError, "header fields are on the connection")
	case s != nil && s.ended:
		return bad(StreamClosed, "header fields are on a stream that has ended")
	case s != nil:
	case c.server && f.stream%2 == 0:
		return bad(ProtocolError, "a client began a stream with an even number")
	case c.server && f.stream > c.last:
	default:
		if err := c.unknown(f.stream); err != nil {
			return err
		}
	}
	if s != nil && s.Head != nil && !f.has(flagEndStream) {
		return bad(ProtocolError, "a second header block does not end the message")
	}
	c.blockOf, c.blockEnds, c.frames = f.stream, f.has(flagEndStream), 0
	if f.has(flagEndHeaders) {
		return c.endBlock(p)
	}
	c.block = append(c.block[:0], p...)
	return nil
}

// continuation handles a frame that continues a header block.
func (c *Conn) continuation(p []byte) *Error {
	c.bytes.Received += headerSize + int64(c.frame.length)
	if c.blockOf == 0 {
		return bad(ProtocolError, "a frame continues no header block")
	}
	c.frames++
	if len(c.block)+len(p) > MaxBlock || c.frames > maxContinuations {
		return bad(EnhanceYourCalm, "a header block is longer than %d KiB or in more than %d frames", MaxBlock>>10, maxContinuations+1)
	}
	c.block = append(c.block, p...)
	if c.frame.has(flagEndHeaders) {
		return c.endBlock(c.block)
	}
	return nil
}

// endBlock handles a header block that is whole.
func (c *Conn) endBlock(block []byte) *Error {
	id := c.blockOf
	c.blockOf = 0
	s := c.streams[id]
	kind := responseBlock
	switch {
	case s != nil && s.Head != nil:
		kind = trailerBlock
	case c.server:
		kind = requestBlock
	}
	h, malformed, err := c.decoder.decode(kind, block) // of any stream: it may change the table
	if err != nil {
		return err
	}
	if s == nil {
		if !c.server || id <= c.last {
			return nil // a stream that this end has ended
		}
		c.last = id
		if len(c.streams) >= c.options.Streams {
			c.out = appendReset(c.out, id, RefusedStream)
			c.ignores = true
			return c.carriesNothing()
		}
		s = c.open(id)
	}
	switch {
	case malformed != "":
		c.malformed(s, malformed)
		return nil
	case kind == trailerBlock:
		s.Trailer = h
	case kind == responseBlock && h.Status < 200:
		s.interim++
		switch {
		case c.blockEnds:
			c.malformed(s, "an interim response ends the stream")
		case s.interim > maxInterim:
			return bad(EnhanceYourCalm, "there are more than %d interim responses", maxInterim)
		}
		return nil
	default:
		s.Head = h
		if s.parted = c.options.Parts && isCall(h); !s.parted {
			c.handler.Begun(s)
		}
	}
	if h.Length > c.options.MaxBody {
		return bad(EnhanceYourCalm, "the body of a message is larger than %d bytes", c.options.MaxBody)
	}
	if c.blockEnds {
		c.whole(s)
	}
	return nil
}

// open begins a stream.
func (c *Conn) open(id uint32) *Stream {
	s := &Stream{}
	if n := len(c.free); n > 0 {
		s, c.free = c.free[n-1], c.free[:n-1]
	}
	*s = Stream{id: id, window: StreamWindow, allowed: c.initial}
	c.streams[id] = s
	return s
}

func (c *Conn) priority(p []byte) *Error {
	switch {
	case c.frame.stream == 0:
		return bad(ProtocolError, "a priority is on the connection")
	case len(p) != 5:
		return bad(FrameSizeError, "a priority has %d bytes, not 5", len(p))
	case binary.BigEndian.Uint32(p)&(1<<31-1) == c.frame.stream:
		return bad(ProtocolError, "a stream depends on itself")
	}
	return c.carriesNothing()
}

func (c *Conn) reset(p []byte) *Error {
	s := c.streams[c.frame.stream]
	switch id := c.frame.stream; {
	case len(p) != 4:
		return bad(FrameSizeError, "a reset has %d bytes, not 4", len(p))
	case id == 0 || id > c.last || id%2 == 0:
		return bad(ProtocolError, "a reset is of a stream that was not begun")
	}
	if c.resets++; c.server && int64(c.resets) > maxResets+c.completed {
		return bad(EnhanceYourCalm, "it reset more than %d streams before they were answered", maxResets)
	}
	if s == nil {
		return c.carriesNothing()
	}
	c.lose(s, &ResetError{Code: Code(binary.BigEndian.Uint32(p))})
	s.ended, s.done = true, true
	c.finish(s, NoError)
	return nil
}

func (c *Conn) settings(p []byte) *Error {
	switch {
	case c.frame.stream != 0:
		return bad(ProtocolError, "settings are on a stream")
	case c.frame.has(flagAck) && len(p) > 0, len(p)%6 != 0:
		return bad(FrameSizeError, "settings have %d bytes", len(p))
	case c.frame.has(flagAck):
		return c.carriesNothing()
	}
	c.settled = true
	for ; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out = appendFrameHeader(c.out, 0, frameSettings, flagAck, 0)
	return c.carriesNothing()
}

func (c *Conn) setting(id uint16, value uint32) *Error {
	switch id {
	case settingTableSize:
		c.keepsNone = c.keepsNone || value < tableSize
	case settingEnablePush:
		if value > 1 || value == 1 && !c.server {
			return bad(ProtocolError, "the setting for pushed responses is %d", value)
		}
	case settingMaxStreams:
		c.maxStreams = min(value, maxWindow)
	case settingInitialWindow:
		if value > maxWindow {
			return bad(FlowControlError, "the setting for windows is %d", value)
		}
		by := int64(value) - c.initial
		c.initial = int64(value)
		for _, s := range c.streams {
			if s.allowed += by; s.allowed > maxWindow {
				return bad(FlowControlError, "the setting for windows makes that of a stream too large")
			}
			c.queue(s)
		}
	case settingMaxFrame:
		if value < MaxFrame || value > largestFrame {
			return bad(ProtocolError, "the setting for frames is %d", value)
		}
	}
	return nil
}

func (c *Conn) ping(p []byte) *Error {
	switch {
	case c.frame.stream != 0:
		return bad(ProtocolError, "a ping is on a stream")
	case len(p) != 8:
		return bad(FrameSizeError, "a ping has %d bytes, not 8", len(p))
	case !c.frame.has(flagAck):
		c.out = appendFrameHeader(c.out, 8, framePing, flagAck, 0)
		c.out = append(c.out, p...)
	}
	return c.carriesNothing()
}

func (c *Conn) goAway(p []byte) *Error {
	switch {
	case c.frame.stream != 0:
		return bad(ProtocolError, "the end of the connection is on a stream")
	case len(p) < 8:
		return bad(FrameSizeError, "the end of the connection has %d bytes, fewer than 8", len(p))
	}
	last := binary.BigEndian.Uint32(p) & (1<<31 - 1)
	text := strings.ToValidUTF8(string(p[8:min(len(p), 8+100)]), "?")
	c.gone = &GoneError{Code(binary.BigEndian.Uint32(p[4:])), text}
	if c.server {
		return c.carriesNothing()
	}
	for id, s := range c.streams {
		if id > last {
			c.lose(s, c.gone)
			s.ended, s.done = true, true
			c.finish(s, NoError)
		}
	}
	return c.carriesNothing()
}

func (c *Conn) windowUpdate(p []byte) *Error {
	if len(p) != 4 {
		return bad(FrameSizeError, "an update of a window has %d bytes, not 4", len(p))
	}
	by := int64(binary.BigEndian.Uint32(p) & (1<<31 - 1))
	id := c.frame.stream
	s := c.streams[id]
	switch {
	case by == 0:
		return bad(ProtocolError, "the update of a window is 0")
	case id == 0:
		if c.peerWindow += by; c.peerWindow > maxWindow {
			return bad(FlowControlError, "the window of the connection is too large")
		}
	case id > c.last || id%2 == 0:
		return bad(ProtocolError, "the update of a window is of a stream that was not begun")
	case s == nil: // it may have ended
	default:
		if s.allowed += by; s.allowed > maxWindow {
			return bad(FlowControlError, "the window of a stream is too large")
		}
		c.queue(s)
	}
	return nil
}
