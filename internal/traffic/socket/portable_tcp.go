//go:build !windows

package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

// Portable is the implementation with package net, which macOS uses.
type Portable struct{}

// portableStream is a connection of package net. It extends a deadline only when half of it has
// passed, because setting one costs as much as a small write.
type portableStream struct {
	c               *net.TCPConn
	readBy, writeBy time.Time
}

func (s *portableStream) Read(b []byte) (int, error) {
	if err := extendDeadline(&s.readBy, s.c.SetReadDeadline); err != nil {
		return 0, err
	}
	return s.readOn(b)
}

func (s *portableStream) readOn(b []byte) (int, error) {
	n, err := s.c.Read(b)
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	return deadlineError(n, err)
}

func (s *portableStream) Write(b []byte) (int, error) {
	if err := extendDeadline(&s.writeBy, s.c.SetWriteDeadline); err != nil {
		return 0, err
	}
	return deadlineError(s.c.Write(b))
}

// extendDeadline sets a deadline to PollTimeout from now if less than half of that is left.
func extendDeadline(deadline *time.Time, set func(time.Time) error) error {
	now := time.Now()
	if deadline.Sub(now) >= PollTimeout/2 {
		return nil
	}
	*deadline = now.Add(PollTimeout)
	return set(*deadline)
}

// deadlineError maps a passed deadline to ErrAgain, unless bytes were transferred.
func deadlineError(n int, err error) (int, error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrAgain
		if n > 0 {
			err = nil
		}
	}
	return n, err
}

// ReadNow reads what is available, and returns ErrAgain if nothing arrives within a short time. The
// deadline must be in the future: after it has passed, package net does not read at all.
func (s *portableStream) ReadNow(b []byte) (int, error) {
	s.readBy = time.Time{}
	if err := s.c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	return s.readOn(b)
}

// FD returns -1: the Go runtime polls this socket.
func (s *portableStream) FD() int           { return -1 }
func (s *portableStream) CloseWrite() error { return s.c.CloseWrite() }

// Peer returns the address of the other end.
func (s *portableStream) Peer() netip.AddrPort {
	a, ok := s.c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return unmapIPv4(a.AddrPort())
}

func (s *portableStream) Close() { s.c.Close() }

type portableListener struct {
	l *net.TCPListener
	o TCPOptions
}

// ListenTCP opens the port of a server.
func (Portable) ListenTCP(address string, o TCPOptions) (Listener, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	c := net.ListenConfig{Control: beforeHandshake(o), KeepAlive: -1}
	c.SetMultipathTCP(false) // measure plain TCP
	l, err := c.Listen(context.Background(), "tcp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, stripNetPrefix(err))
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("listen on %s: package net returned a %T", addr, l)
	}
	o.Reset = false // of dialled connections
	return portableListener{tcp, o}, nil
}

// stripNetPrefix removes package net's own "listen tcp 1.2.3.4:5" from an error.
func stripNetPrefix(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

func (a portableListener) Port() uint16 { return portOf(a.l.Addr()) }
func (a portableListener) FD() int      { return -1 }
func (a portableListener) Close()       { a.l.Close() }

// portOf returns the port of an address of package net, 0 if it has none.
func portOf(a net.Addr) uint16 {
	switch a := a.(type) {
	case *net.TCPAddr:
		return uint16(a.Port)
	case *net.UDPAddr:
		return uint16(a.Port)
	}
	return 0
}

// Accept cannot wait for data on other connections, so with any it waits only briefly.
func (a portableListener) Accept(others []Stream) (Stream, error) {
	if len(others) > 0 {
		return a.AcceptNow()
	}
	return a.acceptWithin(PollTimeout)
}

func (a portableListener) AcceptNow() (Stream, error) { return a.acceptWithin(time.Millisecond) }

func (a portableListener) acceptWithin(d time.Duration) (Stream, error) {
	if err := a.l.SetDeadline(time.Now().Add(d)); err != nil {
		return nil, err
	}
	c, err := a.l.AcceptTCP()
	if err != nil {
		_, err = deadlineError(0, err)
		return nil, err
	}
	return newPortableStream(c, a.o)
}

// DialTCP opens one connection, within ConnectTimeout.
func (Portable) DialTCP(ctx context.Context, addr netip.AddrPort, o TCPOptions) (Stream, error) {
	d := net.Dialer{Timeout: ConnectTimeout, KeepAlive: -1, Control: beforeHandshake(o)}
	d.SetMultipathTCP(false)
	c, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w within %s", ErrNoAnswer, ConnectTimeout)
		}
		return nil, fmt.Errorf("connect to %s: %w", addr, stripNetPrefix(err))
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("connect to %s: package net returned a %T", addr, c)
	}
	return newPortableStream(tcp, o)
}

// newPortableStream sets the options that package net would otherwise set to its defaults.
func newPortableStream(c *net.TCPConn, o TCPOptions) (Stream, error) {
	err := c.SetNoDelay(o.DisablesNagle())
	if err == nil {
		err = afterHandshake(c, o)
	}
	if err == nil && o.Reset {
		err = c.SetLinger(0)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("set socket options: %w", err)
	}
	return &portableStream{c: c}, nil
}
