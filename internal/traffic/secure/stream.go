package secure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"tare/internal/traffic/connection"
	"tare/internal/traffic/socket"
)

// Stream is a connection after its handshake. The end that closes it first tells the other that no more comes
// (close_notify); the other then closes without an answer, which would find no reader. Its errors are of type *Error, or those
// of the connection below. It is for use by one goroutine. What it reports of the kernel is that of the connection below.
type Stream struct {
	socket.Stream
	tls *tls.Conn
	raw *pipe
}

// Within sets what bounds the calls that send.
func (s *Stream) Within(ctx context.Context) { s.raw.ctx = ctx }

// Read waits for at most socket.PollTimeout, as that of a socket.
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.tls.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		s.raw.ended = true
		return n, nil
	case err != nil && n > 0, err == nil:
		return n, nil // the next call returns the error again
	case errors.Is(err, socket.ErrAgain):
		return 0, socket.ErrAgain
	}
	return 0, streamError(err)
}

// ReadNow reads without waiting.
func (s *Stream) ReadNow(b []byte) (int, error) {
	s.raw.now = true
	defer func() { s.raw.now = false }()
	return s.Read(b)
}

// Write sends all of b, unless its context ends before. It then fails, as each later call does.
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.tls.Write(b)
	return n, streamError(err)
}

// CloseWrite tells the peer that no more comes.
func (s *Stream) CloseWrite() error {
	return errors.Join(s.tls.CloseWrite(), s.raw.under.CloseWrite())
}

// Close closes the connection.
func (s *Stream) Close() {
	if s.raw.ended {
		s.raw.Close()
		return
	}
	s.tls.Close()
}

// FD is -1: no other calls than those of Stream may send or receive.
func (s *Stream) FD() int { return -1 }

// Resumed reports whether the connection resumed the session of one before.
func (s *Stream) Resumed() bool { return s.tls.ConnectionState().DidResume }

// Bytes are what connections sent and received in all, with handshakes and the framing of records.
type Bytes struct{ Sent, Received int64 }

// Bytes returns those of the connection.
func (s *Stream) Bytes() Bytes { return s.raw.bytes }

// Plus returns the sum of both.
func (b Bytes) Plus(c Bytes) Bytes { return Bytes{b.Sent + c.Sent, b.Received + c.Received} }

// pipe is the connection below, as package tls uses it.
type pipe struct {
	under  socket.Stream
	ctx    context.Context // a net.Conn has no other way to pass it
	whole  bool            // Read waits until there is something, as a handshake requires
	now    bool            // Read does not wait
	ended  bool            // by the peer
	linger connection.Linger
	bytes  Bytes
}

// errEnded means that what was sent had no reader until the context ended.
var errEnded = errors.New("ended")

// again is socket.ErrAgain for package tls: it continues after an error that is temporary.
type again struct{}

func (again) Error() string        { return socket.ErrAgain.Error() }
func (again) Timeout() bool        { return true }
func (again) Temporary() bool      { return true }
func (again) Is(target error) bool { return target == socket.ErrAgain } //nolint:errorlint // Is is what errors.Is calls

func (p *pipe) Read(b []byte) (int, error) {
	for {
		if p.linger.Over(p.ctx) {
			return 0, p.cause()
		}
		read := p.under.Read
		if p.now {
			read = p.under.ReadNow
		}
		n, err := read(b)
		p.bytes.Received += int64(n)
		switch {
		case socket.IsAgain(err) && !p.whole:
			return 0, again{}
		case socket.IsAgain(err) && p.ctx.Err() != nil:
			return 0, p.cause()
		case socket.IsAgain(err):
		case err == nil && n == 0:
			return 0, io.EOF
		default:
			return n, err
		}
	}
}

// Write sends all of b: package tls cannot continue in the middle of a record.
func (p *pipe) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, err := p.under.Write(b[sent:])
		sent += n
		p.bytes.Sent += int64(n)
		switch {
		case socket.IsAgain(err) && p.ctx.Err() != nil:
			return sent, p.cause()
		case err != nil && !socket.IsAgain(err):
			return sent, err
		}
	}
	return sent, nil
}

// cause is why the context ended.
func (p *pipe) cause() error { return fmt.Errorf("%w: %w", errEnded, context.Cause(p.ctx)) }

func (p *pipe) Close() error {
	p.under.Close()
	return nil
}

// RemoteAddr is what sessions are kept under: there is one server.
func (p *pipe) RemoteAddr() net.Addr { return place(name) }
func (p *pipe) LocalAddr() net.Addr  { return place(name) }

// The calls that wait end by PollTimeout and their context.
func (p *pipe) SetDeadline(time.Time) error      { return nil }
func (p *pipe) SetReadDeadline(time.Time) error  { return nil }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// place is an address that is only a name.
type place string

func (place) Network() string  { return "tcp" }
func (p place) String() string { return string(p) }
