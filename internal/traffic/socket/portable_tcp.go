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

// Portable is the network of every system that Go runs on.
type Portable struct{}

// portableStream is a connection of package net. Its deadlines are moved on
// only when half of their patience is used up: setting one costs as much as
// a small write.
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

// extendDeadline moves a deadline on to patience from now, if it is nearer than half of that.
func extendDeadline(deadline *time.Time, set func(time.Time) error) error {
	now := time.Now()
	if deadline.Sub(now) >= PollTimeout/2 {
		return nil
	}
	*deadline = now.Add(PollTimeout)
	return set(*deadline)
}

// deadlineError turns a passed deadline into ErrAgain, unless something was moved.
func deadlineError(n int, err error) (int, error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrAgain
		if n > 0 {
			err = nil
		}
	}
	return n, err
}

// ReadNow reads what is there, ErrAgain if nothing comes within a moment. It
// must be later than now: past a deadline, package net does not even look.
func (s *portableStream) ReadNow(b []byte) (int, error) {
	s.readBy = time.Time{}
	if err := s.c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	return s.readOn(b)
}

// FD is none: the Go runtime waits for this socket.
func (s *portableStream) FD() int           { return -1 }
func (s *portableStream) CloseWrite() error { return s.c.CloseWrite() }
func (s *portableStream) Close()            { s.c.Close() }

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
	c.SetMultipathTCP(false) // plain TCP is what is weighed
	l, err := c.Listen(context.Background(), "tcp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, stripNetPrefix(err))
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("listen on %s: package net gave a %T", addr, l)
	}
	o.Reset = false // of those that are dialed
	return portableListener{tcp, o}, nil
}

// stripNetPrefix strips package net's own "listen tcp 1.2.3.4:5" off an error.
func stripNetPrefix(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

func (a portableListener) Port() uint16 { return portOf(a.l.Addr()) }
func (a portableListener) FD() int      { return -1 }
func (a portableListener) Close()       { a.l.Close() }

// portOf is the port of an address of package net, 0 where it has none.
func portOf(a net.Addr) uint16 {
	switch a := a.(type) {
	case *net.TCPAddr:
		return uint16(a.Port)
	case *net.UDPAddr:
		return uint16(a.Port)
	}
	return 0
}

func (a portableListener) Accept() (Stream, error) {
	if err := a.l.SetDeadline(time.Now().Add(PollTimeout)); err != nil {
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
			err = fmt.Errorf("no answer within %s", ConnectTimeout)
		}
		return nil, fmt.Errorf("connect to %s: %w", addr, stripNetPrefix(err))
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("connect to %s: package net gave a %T", addr, c)
	}
	return newPortableStream(tcp, o)
}

// newPortableStream sets what package net sets otherwise by default.
func newPortableStream(c *net.TCPConn, o TCPOptions) (Stream, error) {
	err := c.SetNoDelay(o.NoDelay)
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
