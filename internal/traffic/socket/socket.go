// Package socket opens the sockets of trials and transfers bytes, with one implementation for each
// system. That of Linux (fast_*_linux.go) has blocking sockets for loops on locked threads, and the raw
// system calls of these loops. That of Windows (winsock_*_windows.go) calls Winsock without Go's poller.
// That of macOS (portable_*.go) uses package net; it is also built for Linux, where tests run it. All use
// the same protocol, so the two endpoints of a trial may differ.
package socket

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
)

// TCP opens the TCP connections of a workload.
type TCP interface {
	ListenTCP(address string, o TCPOptions) (Listener, error)
	// DialTCP opens one connection, within ConnectTimeout.
	DialTCP(ctx context.Context, to netip.AddrPort, o TCPOptions) (Stream, error)
}

// TCPOptions are the socket options of TCP connections: those of a workload, of which no_delay, congestion_control, send_buffer and
// receive_buffer are read. Without a congestion control, or with a buffer that is auto, the kernel chooses it; a zero buffer is one of 0 bytes.
type TCPOptions struct {
	study.Workload
	Reset bool // dialled connections end with RST instead of FIN
}

// probeOptions are those of ports for probes.
func probeOptions() TCPOptions {
	return TCPOptions{Workload: study.Workload{NoDelay: new(true), SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()}}
}

// Port is an open port.
type Port interface {
	Port() uint16
	Close()
}

// Listener is an open TCP port.
type Listener interface {
	Port
	// Accept waits for a connection, but no longer than until one of others may have received
	// data. It returns ErrAgain when it times out.
	Accept(others []Stream) (Stream, error)
	// AcceptNow returns a connection that has already arrived, and ErrAgain if there is none.
	AcceptNow() (Stream, error)
	// FD returns the descriptor, -1 for a socket that the Go runtime polls.
	FD() int
}

// Stream is a TCP connection. A call that blocks for PollTimeout returns ErrAgain, so that the
// calling loop can check its context.
type Stream interface {
	ByteStream
	tcpInfoer
	// FD returns the descriptor, for loops with their own system calls, or -1 for a socket that the
	// Go runtime polls. System calls on -1 fail with EBADF.
	FD() int
	// Peer returns the address of the other end, invalid if it is unknown.
	Peer() netip.AddrPort
	// CloseWrite closes the sending direction.
	CloseWrite() error
	Close()
}

// ByteStream transfers the payload of a connection.
type ByteStream interface {
	// Read returns 0 and no error when the peer has closed its direction.
	Read(b []byte) (int, error)
	// ReadNow reads without waiting. It returns ErrAgain if there is no data.
	ReadNow(b []byte) (int, error)
	Write(b []byte) (int, error)
}

// tcpInfoer returns what the kernel reports about a connection.
type tcpInfoer interface {
	// Info returns the zero value if the kernel does not report it.
	Info() TCPInfo
	// Unacknowledged returns the number of bytes that the peer has not acknowledged, including
	// those not yet sent. known is false if the system does not report it.
	Unacknowledged() (n int, known bool)
}

// TCPInfo is what a kernel reports about one connection. Zero is unknown.
type TCPInfo struct {
	Known         bool
	Congestion    string
	MSS           int
	RTT           float64 // smoothed, s
	MinRTT        float64 // the least so far, s; 0 if unknown
	Sent          uint64  // payload bytes, retransmissions included
	Resent        uint64  // of Sent, payload bytes retransmitted
	Received      uint64  // payload bytes
	Segments      uint64  // sent, acknowledgements included
	Retransmits   int64
	Times         Chronograph
	SendBuffer    int // granted, bytes
	ReceiveBuffer int // granted, bytes
}

// Chronograph is how long a connection was busy and limited, as measured by the kernel.
type Chronograph struct {
	Known         bool
	Busy          time.Duration // with unsent or unacknowledged data; includes the next two
	ReceiveWindow time.Duration // of Busy
	SendBuffer    time.Duration // of Busy
}

// ErrAgain means that a call timed out or was interrupted.
var ErrAgain = errors.New("not yet")

// PollTimeout is how long one system call may block before the calling loop checks its context.
// Every wait of a trial consists of such steps.
const PollTimeout = 100 * time.Millisecond

// ConnectTimeout bounds the time to open one connection.
const ConnectTimeout = 3 * time.Second

// ErrNoAnswer means that a connection could not be opened within ConnectTimeout.
var ErrNoAnswer = errors.New("no answer")

// backlog is the length of the listen queue: all streams of a trial at once fit.
const backlog = 1024

// IsAgain reports whether a call timed out or was interrupted.
func IsAgain(err error) bool { return errors.Is(err, ErrAgain) }
