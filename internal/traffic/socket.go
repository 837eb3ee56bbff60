package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long one system call may block before the loop round it looks
// at its context again. Every wait of a trial is made of such pieces.
const patience = 100 * time.Millisecond

// connectWait bounds one connection's set-up.
const connectWait = 3 * time.Second

// backlog is the listen queue: room for every stream of a trial at once.
const backlog = 1024

func openSocket(addr netip.AddrPort, p Params) (int, error) {
	family := unix.AF_INET
	if addr.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open TCP socket: %w", err)
	}
	if err := configure(fd, p); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// configure sets what must be in force before the handshake: a window scale
// follows from the receive buffer, and accepted sockets inherit from theirs.
func configure(fd int, p Params) error {
	if p.Congestion != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, p.Congestion); err != nil {
			return fmt.Errorf("set congestion control %s: %w", p.Congestion, err)
		}
	}
	if err := setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, p.SendBuffer); err != nil {
		return fmt.Errorf("set send buffer: %w", err)
	}
	if err := setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, p.ReceiveBuffer); err != nil {
		return fmt.Errorf("set receive buffer: %w", err)
	}
	if p.NoDelay {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return fmt.Errorf("set TCP_NODELAY: %w", err)
		}
	}
	return setPatience(fd, patience)
}

// setBuffer asks past the system's limit first, which only the real root may,
// and then within it. What was granted is in the report.
func setBuffer(fd, force, plain, bytes int) error {
	if bytes < 0 {
		return nil
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, bytes)
}

func setPatience(fd int, d time.Duration) error {
	tv := unix.NsecToTimeval(d.Nanoseconds())
	return errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv),
	)
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is6() {
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// listener is an open port that admits the peers of one trial.
type listener struct {
	fd      int
	port    uint16
	refused int
}

func listen(p Params) (*listener, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	fd, err := openSocket(addr, p)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := &listener{fd: fd}
	if err := l.open(addr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

func (l *listener) open(addr netip.AddrPort) error {
	// A published port is used by trial after trial.
	if err := unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(l.fd, sockaddr(addr)); err != nil {
		return err
	}
	if err := unix.Listen(l.fd, backlog); err != nil {
		return err
	}
	got, err := unix.Getsockname(l.fd)
	if err != nil {
		return err
	}
	switch a := got.(type) {
	case *unix.SockaddrInet4:
		l.port = uint16(a.Port)
	case *unix.SockaddrInet6:
		l.port = uint16(a.Port)
	}
	return nil
}

func (l *listener) close() { unix.Close(l.fd) }

func dialOne(ctx context.Context, addr netip.AddrPort, p Params) (int, error) {
	fd, err := openSocket(addr, p)
	if err != nil {
		return -1, err
	}
	err = setPatience(fd, connectWait)
	if err == nil {
		err = retryInterrupted(func() error { return unix.Connect(fd, sockaddr(addr)) })
	}
	if err == nil {
		err = setPatience(fd, patience)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EALREADY) {
			err = fmt.Errorf("no answer within %s", connectWait)
		}
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

func retryInterrupted(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// again reports whether a call only ran out of patience.
func again(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}

// readFull fills b or fails. It is for handshakes, not for payload.
func readFull(ctx context.Context, fd int, b []byte) error {
	return full(ctx, b, func(b []byte) (int, error) {
		n, err := unix.Read(fd, b)
		if err == nil && n == 0 {
			err = errors.New("the peer closed the connection")
		}
		return n, err
	})
}

// writeFull sends all of b or fails. It is for handshakes, not for payload.
func writeFull(ctx context.Context, fd int, b []byte) error {
	return full(ctx, b, func(b []byte) (int, error) { return unix.Write(fd, b) })
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
