package socket

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// ListenProbes opens a TCP port for probes, which are not timed. Close ends a call of Accept within
// PollTimeout.
func ListenProbes(address string) (Listener, error) {
	return Winsock{}.ListenTCP(address, probeOptions())
}

// ListenPacket opens a UDP port for probes, which are not timed. Package net cannot open one under
// Wine.
func ListenPacket(_ context.Context, address string) (net.PacketConn, error) {
	p, err := Winsock{}.ListenUDP(address, UDPOptions{Fragment: true, SendBuffer: -1, ReceiveBuffer: -1})
	if err != nil {
		return nil, err
	}
	l, ok := p.(*winPort)
	if !ok {
		return nil, fmt.Errorf("listen on %s: the port is a %T", address, p)
	}
	return newWinPacketConn(l.h, l.in, nil)
}

// DialPacket opens a connected UDP socket for probes, which are not timed.
func DialPacket(to netip.AddrPort) (PacketConn, error) {
	h, err := openWinUDP(to, UDPOptions{Fragment: true, SendBuffer: -1, ReceiveBuffer: -1})
	if err != nil {
		return nil, fmt.Errorf("open a socket to %s: %w", to, err)
	}
	err = windows.Connect(h, winSockaddr(to))
	var in *overlappedReceiver
	if err == nil {
		in, err = newReceiver()
	}
	if err != nil {
		_ = windows.Closesocket(h)
		return nil, fmt.Errorf("open a socket to %s: %w", to, err)
	}
	return newWinPacketConn(h, in, net.UDPAddrFromAddrPort(to))
}

// winPacketConn is a UDP socket with the functions of package net. One goroutine at a time may read.
type winPacketConn struct {
	h        windows.Handle
	local    net.Addr
	remote   net.Addr   // nil without one
	reading  sync.Mutex // guards in, and h against its end
	in       *overlappedReceiver
	closed   atomic.Bool
	deadline atomic.Int64 // of reads, Unix ns, 0 for none
}

func newWinPacketConn(h windows.Handle, in *overlappedReceiver, remote net.Addr) (*winPacketConn, error) {
	c := &winPacketConn{h: h, in: in, remote: remote}
	local, err := winLocal(h)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.local = net.UDPAddrFromAddrPort(local)
	return c, nil
}

// readStep is how long one call may wait before the end of the socket and the deadline are checked.
const readStep = 20 * time.Millisecond

func (c *winPacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := c.Read(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(winAddrPort(&c.in.from)), nil
}

func (c *winPacketConn) Read(b []byte) (int, error) {
	for {
		if n, err := c.readStep(b); !IsAgain(err) {
			return n, err
		}
		if by := c.deadline.Load(); by != 0 && time.Now().UnixNano() >= by {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (c *winPacketConn) readStep(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	n, err := receiveFrom(c.in, c.h, b, waitMilliseconds(readStep))
	if c.remote == nil && err == ErrRefused { //nolint:errorlint // of another datagram that this port sent
		err = ErrAgain
	}
	return n, err
}

func (c *winPacketConn) Write(b []byte) (int, error) { return c.send(b, nil, 0) }

func (c *winPacketConn) WriteTo(b []byte, to net.Addr) (int, error) {
	addr, err := netip.ParseAddrPort(to.String())
	if err != nil {
		return 0, fmt.Errorf("send to %s: %w", to, err)
	}
	raw, length := rawSockaddr(addr)
	return c.send(b, &raw, length)
}

// send waits for buffer space for a short time, after which the datagram is lost.
func (c *winPacketConn) send(b []byte, to *windows.RawSockaddrAny, length int32) (int, error) {
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	n, err := sendWinsock(c.h, b, to, length)
	if IsAgain(err) {
		if _, err = poll([]pollFD{{socket: c.h, events: pollOut}}, PollTimeout); err == nil {
			n, err = sendWinsock(c.h, b, to, length)
		}
	}
	return n, err
}

// Close ends reads within a short time.
func (c *winPacketConn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	c.in.close()
	return windows.Closesocket(c.h)
}

func (c *winPacketConn) LocalAddr() net.Addr  { return c.local }
func (c *winPacketConn) RemoteAddr() net.Addr { return c.remote }

func (c *winPacketConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.deadline.Store(0)
	} else {
		c.deadline.Store(t.UnixNano())
	}
	return nil
}

// SetWriteDeadline does nothing: a write takes no longer than PollTimeout.
func (c *winPacketConn) SetWriteDeadline(time.Time) error { return nil }

func (c *winPacketConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SyscallConn gives access to the socket, for its options.
func (c *winPacketConn) SyscallConn() (syscall.RawConn, error) { return winRawConn{c}, nil }

type winRawConn struct{ c *winPacketConn }

func (r winRawConn) Control(f func(fd uintptr)) error {
	if r.c.closed.Load() {
		return net.ErrClosed
	}
	f(uintptr(r.c.h))
	return nil
}

// Read and Write are not supported.
func (winRawConn) Read(func(uintptr) bool) error  { return windows.ERROR_NOT_SUPPORTED }
func (winRawConn) Write(func(uintptr) bool) error { return windows.ERROR_NOT_SUPPORTED }
