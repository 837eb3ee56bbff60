// Package http1 writes the messages of HTTP/1.1 and reads them from pieces of any size (RFC 9112), within
// bounds and without allocations. It refuses what two recipients could understand differently: folded
// fields, lines that end without CR, and bodies with several lengths. It knows nothing of connections.
package http1

import (
	"bytes"
)

// The bounds of a message besides its body, which its reader bounds.
const (
	// MaxHead is the longest start line with all header fields, in bytes, and the longest trailer.
	MaxHead = 16 << 10
	// usualHead is what a reader has room for at first, in bytes: there may be thousands.
	usualHead = 512
	// maxExtension is the longest extension of a chunk, in bytes.
	maxExtension = 256
	// maxInterim is how many interim responses may come before a response.
	maxInterim = 100
)

// state is what the reader expects next.
type state uint8

const (
	inHead state = iota
	inBody
	inBodyUntilClose
	inChunkSize
	inChunkExtension
	inChunkSizeEnd
	inChunk
	inChunkCR
	inChunkEnd
	inTrailer
	complete
	failed
)

// Reader reads the requests or the responses of one connection, one after the other. Use NewRequestReader or
// NewResponseReader.
type Reader struct {
	response bool
	maxBody  int64

	state   state
	head    Head
	text    []byte // the head, or what has arrived of it; then the trailer
	parsed  int    // length of the head in text that head is of, 0 for none
	line    int    // start of the current line in text
	left    int64  // bytes of the body or of the chunk
	digits  int    // of the size of a chunk
	extra   int    // bytes of the extension of a chunk
	body    int64
	interim int
	expects bool
	err     *Error
}

// NewRequestReader returns a reader of requests with bodies of at most maxBody bytes.
func NewRequestReader(maxBody int64) *Reader { return newReader(false, maxBody) }

// NewResponseReader returns a reader of responses with bodies of at most maxBody bytes. None of them may be to
// a HEAD request.
func NewResponseReader(maxBody int64) *Reader { return newReader(true, maxBody) }

func newReader(response bool, maxBody int64) *Reader {
	return &Reader{response: response, maxBody: maxBody, text: make([]byte, 0, usualHead)}
}

// Reset makes the reader ready for the first message of another connection.
func (r *Reader) Reset() {
	r.state, r.text, r.parsed, r.err = inHead, r.text[:0], 0, nil
	r.begin()
}

// begin makes the reader ready for the next message. The head of the last one stays in text: if the next one
// has the same, it is not parsed again.
func (r *Reader) begin() {
	r.state, r.line, r.body, r.interim, r.expects = inHead, 0, 0, 0, false
	if r.parsed == 0 {
		r.text = r.text[:0]
	}
}

// Head returns the head of the message that is being read or was read last. It is empty until that has arrived.
func (r *Reader) Head() *Head { return &r.head }

// Body returns how many bytes of the message's body have arrived, without the framing of chunks.
func (r *Reader) Body() int64 { return r.body }

// Begun reports whether a part of a message has arrived.
func (r *Reader) Begun() bool {
	return r.state != complete && (r.state != inHead || r.interim > 0 || r.parsed == 0 && len(r.text) > 0)
}

// Complete reports whether the last message has arrived whole.
func (r *Reader) Complete() bool { return r.state == complete }

// TakeExpects reports, once for a message, whether its sender waits for Continue.
func (r *Reader) TakeExpects() bool {
	was := r.expects
	r.expects = false
	return was
}

// Read reads from b, which follows what was read before, up to the end of one message. It returns the number of
// bytes that belong to that, and whether it is complete; the next call starts with the next message. An error
// is an *Error, and the last of the connection.
func (r *Reader) Read(b []byte) (n int, done bool, err error) {
	if r.state == complete {
		r.begin()
	}
	for n < len(b) && r.err == nil && r.state != complete {
		n += r.step(b[n:])
	}
	if r.err != nil {
		return n, false, r.err
	}
	return n, r.state == complete, nil
}

// Close tells that the sender has closed the connection. It returns whether that completes a message, and
// ErrTruncated if it cuts one off.
func (r *Reader) Close() (done bool, err error) {
	switch {
	case r.err != nil:
		return false, r.err
	case r.state == inBodyUntilClose:
		r.state = complete
		return true, nil
	case r.Begun():
		return false, ErrTruncated
	}
	return false, nil
}

// step reads the next part of a message from b, which is not empty, and returns its length.
func (r *Reader) step(b []byte) int {
	switch r.state {
	case inHead:
		return r.readHead(b)
	case inTrailer:
		return r.readTrailer(b)
	case inBody, inChunk, inBodyUntilClose:
		return r.readBody(b)
	}
	r.readFraming(b[0])
	return 1
}

// fail ends the reading.
func (r *Reader) fail(err *Error) { r.err, r.state = err, failed }

// readHead adds the lines of b to the head, and parses it when it is complete.
func (r *Reader) readHead(b []byte) int {
	if r.parsed > 0 {
		if len(b) >= r.parsed && bytes.Equal(b[:r.parsed], r.text[:r.parsed]) {
			r.startBody()
			return r.parsed
		}
		r.text, r.parsed, r.line = r.text[:0], 0, 0
	}
	if r.line == 2 && len(r.text) == 2 { // the empty line before a request
		r.text, r.line = r.text[:0], 0
	}
	n, ended := r.addLine(b)
	if r.err != nil || !ended {
		return n
	}
	if len(r.text) == 2 { // an empty line; one before a request is allowed (RFC 9112, 2.2)
		if r.response || r.interim > 0 {
			r.fail(bad("the start line is empty"))
		}
		r.interim++
		return n
	}
	if err := r.head.parse(r.text, r.response); err != nil {
		r.fail(err)
		return n
	}
	if r.response && r.head.Status < StatusOK {
		r.skipInterim()
		return n
	}
	r.parsed = len(r.text)
	r.startBody()
	return n
}

// skipInterim skips an interim response.
func (r *Reader) skipInterim() {
	r.interim++
	switch {
	case r.head.Status == StatusSwitchingProtocols:
		r.fail(bad("the server switches to another protocol"))
	case r.interim > maxInterim:
		r.fail(bad("there are more than %d interim responses", maxInterim))
	}
	r.text, r.line = r.text[:0], 0
}

// addLine adds the bytes of b to text up to the end of a line, and returns how many, and whether the line is
// empty and so the last.
func (r *Reader) addLine(b []byte) (n int, last bool) {
	n = bytes.IndexByte(b, '\n') + 1
	whole := n > 0
	if !whole {
		n = len(b)
	}
	room := MaxHead - len(r.text)
	r.text = append(r.text, b[:min(n, room)]...)
	line := r.text[r.line:]
	switch lacksCR := whole && n <= room && (len(line) < 2 || line[len(line)-2] != '\r'); {
	case !r.plausible(), lacksCR && r.line == 0 && !bytes.Contains(line, []byte("HTTP/")):
		r.fail(otherProtocol(r.text))
	case n > room:
		r.fail(&Error{Status: StatusFieldsTooLarge, Text: "its header is longer than 16 KiB"})
	case lacksCR:
		r.fail(bad("a line ends without CR"))
	}
	if !whole || r.err != nil {
		return n, false
	}
	r.line = len(r.text)
	return n, len(line) == 2
}

// plausible reports whether what has arrived may be the start of a message. Other protocols are found by
// their first bytes, and not only when no line ends.
func (r *Reader) plausible() bool {
	if r.response {
		const start = "HTTP/"
		n := min(len(start), len(r.text))
		return string(r.text[:n]) == start[:n] || r.text[0] == '\r' && n <= 2
	}
	return tokenChars[r.text[0]] || r.text[0] == '\r'
}

// startBody begins the body that the head tells of.
func (r *Reader) startBody() {
	r.expects = r.head.Expects
	switch n := r.head.length; {
	case n == 0:
		r.state = complete
	case n == lengthChunked:
		r.state = inChunkSize
		r.left, r.digits = 0, 0
	case n == lengthUntilClose:
		r.state = inBodyUntilClose
	case n > r.maxBody:
		r.tooLarge()
	default:
		r.state, r.left = inBody, n
	}
}

func (r *Reader) tooLarge() {
	r.fail(&Error{Status: StatusContentTooLarge, Text: "its body is larger than allowed"})
}

// readBody reads bytes of the body.
func (r *Reader) readBody(b []byte) int {
	n := int64(len(b))
	if r.state == inBodyUntilClose {
		if r.body += n; r.body > r.maxBody {
			r.tooLarge()
		}
		return len(b)
	}
	n = min(n, r.left)
	r.body += n
	if r.left -= n; r.left > 0 {
		return int(n)
	}
	if r.state == inChunk {
		r.state = inChunkCR
	} else {
		r.state = complete
	}
	return int(n)
}

// readFraming reads a byte of what is between the chunks of a body (RFC 9112, 7.1).
func (r *Reader) readFraming(c byte) {
	switch r.state {
	case inChunkSize:
		r.readChunkSize(c)
	case inChunkExtension:
		switch r.extra++; {
		case c == '\r':
			r.state = inChunkSizeEnd
		case r.extra > maxExtension:
			r.fail(bad("the extension of a chunk is longer than %d bytes", maxExtension))
		case c < ' ' && c != '\t' || c == 0x7f:
			r.fail(bad("the extension of a chunk has a control character"))
		}
	case inChunkCR:
		r.expect(c, '\r', inChunkEnd)
	case inChunkEnd:
		r.expect(c, '\n', inChunkSize)
		r.left, r.digits = 0, 0
	case inChunkSizeEnd:
		if r.left == 0 { // the last one
			r.expect(c, '\n', inTrailer)
			r.text, r.line = r.text[:r.parsed], r.parsed
			return
		}
		r.expect(c, '\n', inChunk)
	}
}

func (r *Reader) expect(c, want byte, then state) {
	if c != want {
		r.fail(bad("the lines between the chunks of the body are malformed"))
		return
	}
	r.state = then
}

// readChunkSize reads a digit of the size of a chunk, or what follows the last one.
func (r *Reader) readChunkSize(c byte) {
	digit := -1
	switch {
	case '0' <= c && c <= '9':
		digit = int(c - '0')
	case 'a' <= lower(c) && lower(c) <= 'f':
		digit = int(lower(c)-'a') + 10
	}
	switch {
	case digit >= 0 && r.digits == 15:
		r.fail(bad("the size of a chunk has more than 15 digits"))
	case digit >= 0:
		r.left = r.left<<4 | int64(digit)
		r.digits++
	case r.digits == 0 || c != '\r' && c != ';':
		r.fail(bad("the size of a chunk is not a hexadecimal number"))
	case r.left > r.maxBody-r.body:
		r.tooLarge()
	case c == ';':
		r.state, r.extra = inChunkExtension, 0
	default:
		r.state = inChunkSizeEnd
	}
}

// readTrailer reads the fields after the last chunk, which nobody needs, up to the empty line after them.
func (r *Reader) readTrailer(b []byte) int {
	from := r.line
	n, ended := r.addLine(b)
	if r.err != nil || r.line == from {
		return n
	}
	if ended {
		r.text, r.state = r.text[:r.parsed], complete
		return n
	}
	fields := len(r.head.fields)
	if err := r.head.field(r.text[from : r.line-2]); err != nil {
		r.fail(err)
		return n
	}
	r.head.fields = r.head.fields[:fields]
	return n
}
