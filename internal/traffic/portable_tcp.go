package traffic

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

// portable is the network of every system that Go runs on.
type portable struct{}

// portableStream is a connection of package net. Its deadlines are moved on
// only when half of their patience is used up: setting one costs as much as
// a small write.
type portableStream struct {
	c               *net.TCPConn
	readBy, writeBy time.Time
}

func (s *portableStream) read(b []byte) (int, error) {
	if err := renew(&s.readBy, s.c.SetReadDeadline); err != nil {
		return 0, err
	}
	return s.readOn(b)
}

func (s *portableStream) readOn(b []byte) (int, error) {
	n, err := s.c.Read(b)
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	return late(n, err)
}

func (s *portableStream) write(b []byte) (int, error) {
	if err := renew(&s.writeBy, s.c.SetWriteDeadline); err != nil {
		return 0, err
	}
	return late(s.c.Write(b))
}

// renew moves a deadline on to patience from now, if it is nearer than half of that.
func renew(deadline *time.Time, set func(time.Time) error) error {
	now := time.Now()
	if deadline.Sub(now) >= patience/2 {
		return nil
	}
	*deadline = now.Add(patience)
	return set(*deadline)
}

// late turns a passed deadline into errAgain, unless something was moved.
func late(n int, err error) (int, error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errAgain
		if n > 0 {
			err = nil
		}
	}
	return n, err
}

// readNow reads what is there, errAgain if nothing comes within a moment. It
// must be later than now: past a deadline, package net does not even look.
func (s *portableStream) readNow(b []byte) (int, error) {
	s.readBy = time.Time{}
	if err := s.c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	return s.readOn(b)
}

// fd is none: the Go runtime waits for this socket.
func (s *portableStream) fd() int           { return -1 }
func (s *portableStream) closeWrite() error { return s.c.CloseWrite() }
func (s *portableStream) close()            { s.c.Close() }

type portableAcceptor struct {
	l *net.TCPListener
	o tcpOptions
}

func (portable) listenTCP(address string, o tcpOptions) (acceptor, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	c := net.ListenConfig{Control: beforeHandshake(o), KeepAlive: -1}
	c.SetMultipathTCP(false) // plain TCP is what is weighed
	l, err := c.Listen(context.Background(), "tcp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, bare(err))
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("listen on %s: package net gave a %T", addr, l)
	}
	o.Reset = false // of those that are dialed
	return portableAcceptor{tcp, o}, nil
}

// bare strips package net's own "listen tcp 1.2.3.4:5" off an error.
func bare(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

func (a portableAcceptor) port() uint16 { return portOf(a.l.Addr()) }
func (a portableAcceptor) fd() int      { return -1 }
func (a portableAcceptor) close()       { a.l.Close() }

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

func (a portableAcceptor) accept() (stream, error) {
	if err := a.l.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	c, err := a.l.AcceptTCP()
	if err != nil {
		_, err = late(0, err)
		return nil, err
	}
	return prepared(c, a.o)
}

func (portable) dialTCP(ctx context.Context, addr netip.AddrPort, o tcpOptions) (stream, error) {
	d := net.Dialer{Timeout: connectWait, KeepAlive: -1, Control: beforeHandshake(o)}
	d.SetMultipathTCP(false)
	c, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", connectWait)
		}
		return nil, fmt.Errorf("connect to %s: %w", addr, bare(err))
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("connect to %s: package net gave a %T", addr, c)
	}
	return prepared(tcp, o)
}

// prepared sets what package net sets otherwise by default.
func prepared(c *net.TCPConn, o tcpOptions) (stream, error) {
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
