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
	tcpNetwork
	udpNetwork
}

// tcpNetwork is how a workload gets its TCP connections.
type tcpNetwork interface {
	listenTCP(address string, o tcpOptions) (acceptor, error)
	// dialTCP opens one connection, within connectWait.
	dialTCP(ctx context.Context, to netip.AddrPort, o tcpOptions) (stream, error)
}

// tcpOptions are what is set on the sockets of TCP connections.
type tcpOptions struct {
	NoDelay       bool
	Congestion    string // congestion control, "" leaves it to the kernel
	SendBuffer    int    // bytes, -1 leaves it to the kernel
	ReceiveBuffer int    // bytes, -1 leaves it to the kernel
	Reset         bool   // connections that are dialed end with RST instead of FIN
}

// openPort is a port that is open.
type openPort interface {
	port() uint16
	close()
}

// acceptor is an open TCP port.
type acceptor interface {
	openPort
	// accept waits for a connection, errAgain when patience ran out first.
	accept() (stream, error)
	descriptor
}

// stream is a TCP connection. A call that could not go on for patience returns
// errAgain, so that the loop round it can look at its context.
type stream interface {
	byteStream
	tcpInfoer
	descriptor
	// closeWrite ends this direction.
	closeWrite() error
	close()
}

// byteStream is what moves the payload of a connection.
type byteStream interface {
	// read returns 0 and no error when the peer has ended its direction.
	read(b []byte) (int, error)
	// readNow reads without waiting: errAgain is nothing there.
	readNow(b []byte) (int, error)
	write(b []byte) (int, error)
}

// tcpInfoer tells what a kernel knows of a connection.
type tcpInfoer interface {
	// info is zero where the kernel does not tell.
	info() tcpInfo
	// unacknowledged is how many bytes the peer has not acknowledged, those that are
	// not sent yet included; not known where the system does not tell.
	unacknowledged() (n int, known bool)
}

// descriptor is a socket that loops may drive with system calls of their own.
type descriptor interface {
	// fd is -1 for a socket that the Go runtime drives. System calls on that fail
	// with EBADF.
	fd() int
}

// tcpInfo is what a kernel tells of one connection. Zero is unknown.
type tcpInfo struct {
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

// chronograph is what a kernel has booked of a connection so far.
type chronograph struct {
	known         bool
	busy          time.Duration // anything unsent or unacknowledged, with what follows
	receiveWindow time.Duration // of busy
	sendBuffer    time.Duration // of busy
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
