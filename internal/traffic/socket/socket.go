// Package socket opens the sockets of trials and moves bytes through them, over a fast
// network or a portable one. The fast one (fast_*_linux.go) is that of Linux: blocking
// sockets for loops on locked threads, and the raw system calls that such loops are made
// of. The portable one (portable_*.go) is over package net. Both speak the same protocol,
// so that the two ends of a trial may differ. This package knows nothing of trials.
package socket

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// TCP is how a workload gets its TCP connections.
type TCP interface {
	ListenTCP(address string, o TCPOptions) (Listener, error)
	// DialTCP opens one connection, within ConnectTimeout.
	DialTCP(ctx context.Context, to netip.AddrPort, o TCPOptions) (Stream, error)
}

// TCPOptions are what is set on the sockets of TCP connections.
type TCPOptions struct {
	NoDelay       bool
	Congestion    string // congestion control, "" leaves it to the kernel
	SendBuffer    int    // bytes, -1 leaves it to the kernel
	ReceiveBuffer int    // bytes, -1 leaves it to the kernel
	Reset         bool   // connections that are dialed end with RST instead of FIN
}

// Port is a port that is open.
type Port interface {
	Port() uint16
	Close()
}

// Listener is an open TCP port.
type Listener interface {
	Port
	// Accept waits for a connection, ErrAgain when patience ran out first.
	Accept() (Stream, error)
	// FD is -1 for a socket that the Go runtime drives.
	FD() int
}

// Stream is a TCP connection. A call that could not go on for patience returns
// ErrAgain, so that the loop round it can look at its context.
type Stream interface {
	ByteStream
	tcpInfoer
	// FD is the socket, for loops that drive it with system calls of their own; -1
	// for one that the Go runtime drives. System calls on that fail with EBADF.
	FD() int
	// CloseWrite ends this direction.
	CloseWrite() error
	Close()
}

// ByteStream is what moves the payload of a connection.
type ByteStream interface {
	// Read returns 0 and no error when the peer has ended its direction.
	Read(b []byte) (int, error)
	// ReadNow reads without waiting: ErrAgain is nothing there.
	ReadNow(b []byte) (int, error)
	Write(b []byte) (int, error)
}

// tcpInfoer tells what a kernel knows of a connection.
type tcpInfoer interface {
	// Info is zero where the kernel does not tell.
	Info() TCPInfo
	// Unacknowledged is how many bytes the peer has not acknowledged, those that are
	// not sent yet included; not known where the system does not tell.
	Unacknowledged() (n int, known bool)
}

// TCPInfo is what a kernel tells of one connection. Zero is unknown.
type TCPInfo struct {
	Known         bool
	Congestion    string
	MSS           int
	RTT           float64 // smoothed, s
	Sent          uint64  // payload bytes, retransmissions included
	Resent        uint64  // of sent, payload bytes sent again
	Received      uint64  // payload bytes
	Segments      uint64  // sent, acknowledgements included
	Retransmits   int64
	Times         Chronograph
	SendBuffer    int // granted, bytes
	ReceiveBuffer int // granted, bytes
}

// Chronograph is what a kernel has counted of a connection so far.
type Chronograph struct {
	Known         bool
	Busy          time.Duration // anything unsent or unacknowledged, with what follows
	ReceiveWindow time.Duration // of busy
	SendBuffer    time.Duration // of busy
}

// ErrAgain is a call that ran out of patience, or was interrupted.
var ErrAgain = errors.New("not yet")

// PollTimeout is how long one system call may block before the loop round it looks
// at its context again. Every wait of a trial is made of such pieces.
const PollTimeout = 100 * time.Millisecond

// ConnectTimeout bounds one connection's set-up.
const ConnectTimeout = 3 * time.Second

// backlog is the listen queue: room for every stream of a trial at once.
const backlog = 1024

// IsAgain reports whether a call only ran out of patience.
func IsAgain(err error) bool { return errors.Is(err, ErrAgain) }
