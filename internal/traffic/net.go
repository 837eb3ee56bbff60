package traffic

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// network is how a workload gets its sockets. There are two: the fast one of
// Linux, blocking sockets driven by system calls of our own on locked threads,
// and the portable one over package net. Both speak the same protocol, so that
// the two ends of a trial may differ.
type network interface {
	listenTCP(p Params) (acceptor, error)
	// dialTCP opens one connection, within connectWait.
	dialTCP(ctx context.Context, to netip.AddrPort, p Params) (stream, error)
	udpNetwork
}

// acceptor is an open TCP port.
type acceptor interface {
	port() uint16
	// accept waits for a connection, errAgain when patience ran out first.
	accept() (stream, error)
	close()
}

// stream is a TCP connection. A call that could not go on for patience returns
// errAgain, so that the loop round it can look at its context.
type stream interface {
	// read returns 0 and no error when the peer has ended its direction.
	read(b []byte) (int, error)
	write(b []byte) (int, error)
	// closeWrite ends this direction.
	closeWrite() error
	close()
}

// glancer is a stream that can be read without waiting: errAgain is nothing there.
type glancer interface {
	readNow(b []byte) (int, error)
}

// queuer is a stream whose system tells how many bytes its peer has not acknowledged,
// those that are not sent yet included.
type queuer interface {
	queued() (int, error)
}

// teller is a stream whose kernel tells of it.
type teller interface {
	tell() (tcpState, error)
}

// tcpState is what a kernel tells of one connection. Zero is unknown.
type tcpState struct {
	known         bool
	congestion    string
	mss           int
	rtt           float64 // smoothed, s
	sent          uint64  // payload bytes, retransmissions included
	resent        uint64  // of sent, payload bytes sent again
	received      uint64  // payload bytes
	segments      uint64  // sent, acknowledgements included
	retransmits   int64
	times         chronograph
	sendBuffer    int // granted, bytes
	receiveBuffer int // granted, bytes
}

// errAgain is a call that ran out of patience, or was interrupted.
var errAgain = errors.New("not yet")

// patience is how long one system call may block before the loop round it looks
// at its context again. Every wait of a trial is made of such pieces.
const patience = 100 * time.Millisecond

// connectWait bounds one connection's set-up.
const connectWait = 3 * time.Second

// backlog is the listen queue: room for every stream of a trial at once.
const backlog = 1024

// again reports whether a call only ran out of patience.
func again(err error) bool { return errors.Is(err, errAgain) }

// readFull fills b or fails. It is for handshakes, not for payload.
func readFull(ctx context.Context, s stream, b []byte) error {
	return full(ctx, b, func(b []byte) (int, error) {
		n, err := s.read(b)
		if err == nil && n == 0 {
			err = errors.New("the peer closed the connection")
		}
		return n, err
	})
}

// writeFull sends all of b or fails. It is for handshakes, not for payload.
func writeFull(ctx context.Context, s stream, b []byte) error {
	return full(ctx, b, s.write)
}

// full repeats a call that moves a part of b until all of it is through.
func full(ctx context.Context, b []byte, move func([]byte) (int, error)) error {
	for len(b) > 0 {
		n, err := move(b)
		switch {
		case err == nil:
			b = b[n:]
		case !again(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
	return nil
}
