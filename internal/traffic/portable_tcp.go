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

// portableStream is a connection of package net, whose kernel tells nothing.
type portableStream struct {
	c *net.TCPConn
	p Params
}

func (s portableStream) read(b []byte) (int, error) {
	if err := s.c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	n, err := s.c.Read(b)
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	return late(n, err)
}

func (s portableStream) write(b []byte) (int, error) {
	if err := s.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return late(s.c.Write(b))
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

// readNow reads what is there, errAgain if nothing comes within a moment.
func (s portableStream) readNow(b []byte) (int, error) {
	if err := s.c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	n, err := s.c.Read(b)
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	return late(n, err)
}

func (s portableStream) closeWrite() error { return s.c.CloseWrite() }
func (s portableStream) close()            { s.c.Close() }

type portableAcceptor struct {
	l *net.TCPListener
	p Params
}

func (portable) listenTCP(p Params) (acceptor, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return nil, err
	}
	return portableAcceptor{l, p}, nil
}

func (a portableAcceptor) port() uint16 { return uint16(a.l.Addr().(*net.TCPAddr).Port) }
func (a portableAcceptor) close()       { a.l.Close() }

func (a portableAcceptor) accept() (stream, error) {
	if err := a.l.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	c, err := a.l.AcceptTCP()
	if err != nil {
		_, err = late(0, err)
		return nil, err
	}
	return prepared(c, a.p)
}

func (portable) dialTCP(ctx context.Context, addr netip.AddrPort, p Params) (stream, error) {
	d := net.Dialer{Timeout: connectWait}
	c, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return prepared(c.(*net.TCPConn), p)
}

// prepared sets what package net can set. Congestion control is the system's.
func prepared(c *net.TCPConn, p Params) (stream, error) {
	err := c.SetNoDelay(p.NoDelay)
	if p.SendBuffer >= 0 {
		err = errors.Join(err, c.SetWriteBuffer(p.SendBuffer))
	}
	if p.ReceiveBuffer >= 0 {
		err = errors.Join(err, c.SetReadBuffer(p.ReceiveBuffer))
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("set socket options: %w", err)
	}
	return portableStream{c, p}, nil
}
