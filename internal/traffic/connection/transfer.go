package connection

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/traffic/clock"
	"tare/internal/traffic/socket"
)

// ReadFull fills b or fails. It is for handshakes, not for payload.
func ReadFull(ctx context.Context, s socket.Stream, b []byte) error {
	return moveFull(ctx, b, func(b []byte) (int, error) {
		n, err := s.Read(b)
		if err == nil && n == 0 {
			err = errors.New("the peer closed the connection")
		}
		return n, err
	})
}

// WriteFull sends all of b or fails. It is for handshakes, not for payload.
func WriteFull(ctx context.Context, s socket.Stream, b []byte) error {
	return moveFull(ctx, b, s.Write)
}

// moveFull repeats a call that transfers a part of b until all of it is transferred.
func moveFull(ctx context.Context, b []byte, move func([]byte) (int, error)) error {
	for len(b) > 0 {
		n, err := move(b)
		switch {
		case err == nil:
			b = b[n:]
		case !socket.IsAgain(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
	return nil
}

// ErrPeerClosed means that the peer has closed the connection.
var ErrPeerClosed = errors.New("the peer closed the connection")

// ReadSome returns the read function of a stream, which fails at the end of the stream.
func ReadSome(s socket.Stream) func([]byte) (int, error) {
	return func(b []byte) (int, error) {
		n, err := s.Read(b)
		if err == nil && n == 0 {
			err = ErrPeerClosed
		}
		return n, err
	}
}

// UnlessSilent is a function that moves a part of a message and fails when the peer has been silent for too long.
func UnlessSilent(move func([]byte) (int, error)) func([]byte) (int, error) {
	var s PeerSilence
	return func(b []byte) (int, error) {
		n, err := move(b)
		return n, s.Check(n, err)
	}
}

// Rest is the part of a buffer for the next call, with left bytes of a message still to transfer. A
// message that fits into the buffer is transferred to its place there; of a longer one only the
// size matters.
func Rest(buf []byte, left int) []byte { return buf[max(0, len(buf)-left):] }

// MoveAll transfers a message of n bytes through buf.
func MoveAll(ctx context.Context, move func([]byte) (int, error), buf []byte, n int) error {
	for n > 0 {
		moved, err := move(Rest(buf, n))
		n -= moved
		switch {
		case err != nil && !socket.IsAgain(err):
			return err
		case n > 0 && ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
	return nil
}

// PeerSilence bounds how long a call that transfers a part of a message may be repeated without progress.
type PeerSilence struct {
	since   clock.Instant
	Waiting bool
}

// Check returns err, or that of a peer that has been silent for ReplyTimeout, after a call that moved n bytes.
func (s *PeerSilence) Check(n int, err error) error {
	switch {
	case n > 0 || !socket.IsAgain(err):
		s.Waiting = false
	case !s.Waiting:
		s.Waiting, s.since = true, clock.Now()
	case s.since.Since() > ReplyTimeout():
		return fmt.Errorf("%w within %s", ErrNoReply, ReplyTimeout())
	}
	return err
}
