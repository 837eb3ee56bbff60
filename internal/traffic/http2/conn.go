package http2

import (
	"encoding/binary"
)

// Options are what one end of a connection allows the other.
type Options struct {
	// Streams is how many requests may be in progress at once, of a server.
	Streams int
	// MaxBody is the largest body of a message in bytes, or of each part of it with its prefix.
	MaxBody int64
	// Parts tells each message of gRPC in a body, which may go on.
	Parts bool
}

// Handler learns what arrives. It is called within Read, and may call methods of the Conn that send.
type Handler interface {
	// Begun tells that the head of the stream's message has arrived, or the first byte of a part of it.
	Begun(s *Stream)
	// Part tells that a part of the stream's message has arrived whole, of Stream.Part bytes.
	Part(s *Stream)
	// Message tells that the stream's message has arrived whole. The stream of a client ends with it.
	Message(s *Stream)
	// Lost tells that a stream ends without a message: a ResetError or a GoneError says why.
	Lost(s *Stream, err error)
}

// Conn is one end of a connection. Its methods must not be called concurrently, but what Pending has returned may be sent while
// others are.
type Conn struct {
	server  bool
	options Options
	handler Handler
	tally
	told
	output
	flood

	// What is read.
	start     []byte // the first bytes, until it is known that they are HTTP/2
	preface   bool   // a server has read it
	header    [headerSize]byte
	have      int // bytes of header
	frame     frameHeader
	left      int // bytes of the frame's payload that have not arrived
	pad       int // of a frame with data; -1 if it is in the next byte
	payload   []byte
	block     []byte // of header fields, until it is whole
	blockOf   uint32 // the stream of block, 0 if none is begun
	blockEnds bool   // the stream ends with block
	frames    int    // that have continued block
	decoder   *decoder
	window    int64 // of what the peer may send
	taken     int64 // bytes of data since the window was raised
	failed    *Error

	// What is sent.
	ready      []*Stream // with data to send, in turns
	peerWindow int64     // of the connection
	initial    int64     // window of a new stream
	ignores    bool      // this end has ended streams that the peer may still send on

	streams map[uint32]*Stream
	free    []*Stream
	last    uint32 // the highest stream so far, begun by the client
}

// told is what the other end has told of itself.
type told struct {
	settled    bool // its settings have arrived
	kept       bool // it keeps the fields of messages
	keepsNone  bool // its table of fields is smaller than that of messages
	maxFrame   int
	maxStreams uint32 // of a server
	gone       *GoneError
}

// tally counts messages.
type tally struct {
	bytes     Bytes
	completed int64 // messages sent whole
	ends      int64 // trailers sent behind several of them
}

// output is what is to be sent.
type output struct {
	out  []byte
	sent int // bytes of out
}

// flood bounds what the other end may make this one do in vain.
type flood struct {
	idle   int // frames in a row that carried nothing
	resets int // streams that it reset
}

// Bytes are those of the frames of messages, with their headers: what else is sent on a connection is not part of them.
type Bytes struct{ Sent, Received int64 }

// Stream is a request with its response. It is valid until its message or its loss was told; of a server, until the response is sent.
type Stream struct {
	// Lane is for the caller of Request.
	Lane int
	// Head and Trailer are those of the peer's message, nil if there is none yet.
	Head, Trailer *Head
	// Body is the length of the peer's body so far, and Start its first bytes.
	Body  int64
	Start [prefixSize]byte
	// Part is the length of the last part without its prefix, which Start then has.
	Part int64

	parted  bool  // the peer's body has parts
	prefix  int   // bytes of the prefix of a part that has begun
	left    int64 // bytes of that part that have not arrived
	more    int   // how often message is to be sent again
	ending  bool  // the trailer of message comes behind it
	id      uint32
	interim int
	ended   bool  // by the peer
	window  int64 // of what the peer may send
	taken   int64 // bytes of data since the window was raised
	allowed int64 // of what the peer takes
	message *Message
	sent    int  // bytes of the body of message
	queued  bool // in ready
	done    bool // everything was sent
}

// NewClient returns the end of a connection that sends requests. Its settings are the first that Pending returns.
func NewClient(o Options, h Handler) *Conn {
	c := newConn(o, h)
	c.out = append(c.out, Preface...)
	c.out = appendFrameHeader(c.out, 3*6, frameSettings, 0, 0)
	c.out = appendSetting(c.out, settingEnablePush, 0)
	c.greet()
	return c
}

// NewServer returns the end of a connection that answers requests. It sends its settings when the client has shown that it speaks
// HTTP/2: another client then reads only what the caller tells it.
func NewServer(o Options, h Handler) *Conn {
	c := newConn(o, h)
	c.server = true
	return c
}

func newConn(o Options, h Handler) *Conn {
	return &Conn{options: o, handler: h, decoder: newDecoder(), window: ConnectionWindow, peerWindow: initialWindow, initial: initialWindow,
		told: told{maxFrame: MaxFrame, maxStreams: maxWindow}, streams: map[uint32]*Stream{}}
}

// greet ends the settings and raises the window of the connection.
func (c *Conn) greet() {
	c.out = appendSetting(c.out, settingInitialWindow, StreamWindow)
	c.out = appendSetting(c.out, settingMaxFields, MaxFields)
	c.out = appendWindowUpdate(c.out, 0, ConnectionWindow-initialWindow)
}

// Settled reports whether the peer's settings have arrived: it speaks HTTP/2.
func (p *told) Settled() bool { return p.settled }

// MaxStreams is how many requests the peer, a server, allows at once.
func (p *told) MaxStreams() int { return int(p.maxStreams) }

// Gone returns that the peer, a server, takes no more requests, nil if it does. Those that it took are still answered.
func (p *told) Gone() *GoneError { return p.gone }

// Bytes are those of the messages so far.
func (t *tally) Bytes() Bytes { return t.bytes }

// Completed is how many messages were sent whole, refusals not counted.
func (t *tally) Completed() int64 { return t.completed }

// Ended is how many streams that went on have ended with their trailer.
func (t *tally) Ended() int64 { return t.ends }

// Open is how many streams are in progress.
func (c *Conn) Open() int { return len(c.streams) }

// Read reads what follows what was read before. An error is an *Error, and the last of the connection: the peer is told by what
// Pending returns then.
func (c *Conn) Read(b []byte) error {
	for len(b) > 0 && c.failed == nil {
		b = b[c.step(b):]
	}
	if c.failed == nil && len(c.out)-c.sent > maxOutput {
		c.fail(bad(EnhanceYourCalm, "it asks for more than it reads"))
	}
	if c.failed != nil {
		return c.failed
	}
	return nil
}

// fail ends the connection.
func (c *Conn) fail(err *Error) {
	if c.failed != nil {
		return
	}
	c.failed = err
	c.GoAway(err.Code)
}

// GoAway tells the peer that the connection ends.
func (c *Conn) GoAway(code Code) {
	c.out = appendFrameHeader(c.out, 8, frameGoAway, 0, 0)
	last := uint32(0)
	if c.server {
		last = c.last
	}
	c.out = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(c.out, last), uint32(code))
}

// step reads the next part of a frame from b, which is not empty, and returns its length.
func (c *Conn) step(b []byte) int {
	switch {
	case c.server && !c.preface:
		return c.readPreface(b)
	case c.have < headerSize:
		n := copy(c.header[c.have:], b)
		c.have += n
		if !c.settled && !c.server {
			if err := otherProtocol(c.header[:c.have], false); err != nil {
				c.fail(err)
				return n
			}
		}
		if c.have == headerSize {
			c.begin()
		}
		return n
	case c.frame.kind == frameData:
		return c.readData(b)
	}
	n := min(c.left, len(b))
	c.left -= n
	switch {
	case c.left == 0 && len(c.payload) == 0:
		c.end(b[:n])
	default:
		if c.payload = append(c.payload, b[:n]...); c.left == 0 {
			c.end(c.payload)
		}
	}
	return n
}

// readPreface reads what a client sends first.
func (c *Conn) readPreface(b []byte) int {
	n := min(len(Preface)-len(c.start), len(b))
	c.start = append(c.start, b[:n]...)
	if err := otherProtocol(c.start, true); err != nil {
		c.failed = err
		return n
	}
	if c.preface = len(c.start) == len(Preface); c.preface {
		c.out = appendFrameHeader(c.out, 3*6, frameSettings, 0, 0)
		c.out = appendSetting(c.out, settingMaxStreams, uint32(c.options.Streams))
		c.greet()
	}
	return n
}

// begin begins a frame whose header has arrived.
func (c *Conn) begin() {
	c.frame = parseFrameHeader(c.header[:])
	f := c.frame
	c.left, c.payload, c.pad = f.length, c.payload[:0], 0
	switch {
	case f.length > MaxFrame:
		c.fail(bad(FrameSizeError, "a frame of %d bytes is larger than %d", f.length, MaxFrame))
	case !c.settled && (f.kind != frameSettings || f.has(flagAck)):
		c.fail(bad(ProtocolError, "the first frame has no settings"))
	case c.blockOf != 0 && (f.kind != frameContinuation || f.stream != c.blockOf):
		c.fail(bad(ProtocolError, "a header block is interrupted by another frame"))
	case f.kind == frameData:
		c.beginData()
	case f.length == 0:
		c.end(nil)
	}
}

// end handles a frame whose payload has arrived, other than one with data.
func (c *Conn) end(p []byte) {
	c.have = 0
	var err *Error
	switch c.frame.kind {
	case frameHeaders:
		err = c.headers(p)
	case frameContinuation:
		err = c.continuation(p)
	case framePriority:
		err = c.priority(p)
	case frameReset:
		err = c.reset(p)
	case frameSettings:
		err = c.settings(p)
	case framePushPromise:
		err = bad(ProtocolError, "it pushes a response, which is not allowed")
	case framePing:
		err = c.ping(p)
	case frameGoAway:
		err = c.goAway(p)
	case frameWindowUpdate:
		err = c.windowUpdate(p)
	default: // unknown ones are ignored (RFC 9113, 4.1)
		err = c.carriesNothing()
	}
	if err != nil {
		c.fail(err)
	}
}

// carriesNothing counts a frame without a part of a message.
func (f *flood) carriesNothing() *Error {
	if f.idle++; f.idle > maxIdle {
		return bad(EnhanceYourCalm, "it sent more than %d frames in a row that carry nothing", maxIdle)
	}
	return nil
}

// unknown returns what is wrong with a frame on a stream that does not exist: it was not begun, or has ended. Frames on
// streams that this end has ended may be on the way.
func (c *Conn) unknown(stream uint32) *Error {
	switch {
	case stream == 0:
		return bad(ProtocolError, "a frame of a stream is on the connection")
	case stream > c.last, stream%2 == 0:
		return bad(ProtocolError, "a frame is on a stream that was not begun")
	case !c.ignores:
		return bad(StreamClosed, "a frame is on a stream that has ended")
	}
	return nil
}

// beginData begins a frame with data.
func (c *Conn) beginData() {
	f := c.frame
	c.bytes.Received += headerSize + int64(f.length)
	s := c.streams[f.stream]
	switch {
	case s == nil:
		if err := c.unknown(f.stream); err != nil {
			c.fail(err)
		}
	case s.ended:
		c.fail(bad(StreamClosed, "data is on a stream that has ended"))
	case s.Head == nil:
		c.fail(bad(ProtocolError, "data comes before the header fields"))
	default:
		s.window -= int64(f.length)
	}
	c.window -= int64(f.length)
	if c.window < 0 || s != nil && s.window < 0 {
		c.fail(bad(FlowControlError, "it sent more than the window allows"))
	}
	if f.has(flagPadded) {
		if c.pad = -1; f.length == 0 {
			c.fail(bad(FrameSizeError, "a padded frame has no length of its padding"))
		}
	}
	if f.length == 0 && c.failed == nil {
		if !f.has(flagEndStream) {
			if err := c.carriesNothing(); err != nil {
				c.fail(err)
				return
			}
		}
		c.endData()
	}
}

// readData reads bytes of a frame with data.
func (c *Conn) readData(b []byte) int {
	n := min(c.left, len(b))
	data := b[:n]
	if c.pad < 0 {
		if c.pad, data = int(data[0]), data[1:]; c.pad >= c.frame.length {
			c.fail(bad(ProtocolError, "the padding of a frame is longer than the frame"))
			return n
		}
	}
	c.left -= n
	data = data[:max(0, len(data)-max(0, c.pad-c.left))] // without padding
	if s := c.streams[c.frame.stream]; s != nil {
		if s.Body < int64(len(s.Start)) && !s.parted {
			copy(s.Start[s.Body:], data)
		}
		if s.Body += int64(len(data)); s.parted {
			c.parts(s, data)
		}
	}
	if c.left == 0 {
		c.endData()
	}
	return n
}

// endData handles a frame with data that has arrived.
func (c *Conn) endData() {
	c.have = 0
	f := c.frame
	if c.taken += int64(f.length); c.taken >= ConnectionWindow/2 {
		c.out = appendWindowUpdate(c.out, 0, c.taken)
		c.window += c.taken
		c.taken = 0
	}
	s := c.streams[f.stream]
	if s == nil {
		return
	}
	if f.length > 0 {
		c.idle = 0
	}
	if s.Body > c.options.MaxBody && !s.parted {
		c.fail(bad(EnhanceYourCalm, "the body of a message is larger than %d bytes", c.options.MaxBody))
		return
	}
	if f.has(flagEndStream) {
		c.whole(s)
		return
	}
	if s.taken += int64(f.length); s.taken >= StreamWindow/2 {
		c.out = appendWindowUpdate(c.out, s.id, s.taken)
		s.window += s.taken
		s.taken = 0
	}
}

// whole handles the end of the peer's message on a stream.
func (c *Conn) whole(s *Stream) {
	s.ended = true
	c.idle = 0
	switch {
	case s.Head.Length >= 0 && s.Head.Length != s.Body:
		c.malformed(s, "the body is not as long as its content-length")
		return
	case s.prefix > 0:
		c.malformed(s, "the body ends within a message of the call")
		return
	}
	c.handler.Message(s)
	if !c.server {
		c.finish(s, NoError)
	} else if s.message == nil && c.streams[s.id] == s {
		c.finish(s, RefusedStream) // nobody answers: the connection ends
	}
}

// malformed ends a stream because of what the peer sent on it.
func (c *Conn) malformed(s *Stream, what string) {
	c.lose(s, &ResetError{ProtocolError, what})
	c.finish(s, ProtocolError)
}

// lose tells that a stream has no message.
func (c *Conn) lose(s *Stream, err error) {
	c.handler.Lost(s, err)
}

// finish forgets a stream, and resets it if it has not ended.
func (c *Conn) finish(s *Stream, code Code) {
	if c.streams[s.id] != s {
		return
	}
	if !s.ended || !s.done || code != NoError {
		if code == NoError && s.ended {
			code = Cancel // the peer has answered before it had the whole request
		}
		c.out = appendReset(c.out, s.id, code)
		c.ignores = true
	}
	delete(c.streams, s.id)
	s.message, s.done = nil, true
	if !s.queued { // else the turn frees it
		c.free = append(c.free, s)
	}
}

// Cancel ends a stream whose message is not awaited any more.
func (c *Conn) Cancel(s *Stream) {
	if c.streams[s.id] == s {
		s.done = false
		c.finish(s, Cancel)
	}
}
