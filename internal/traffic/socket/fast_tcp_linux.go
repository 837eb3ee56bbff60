package socket

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Fast is the implementation for Linux.
type Fast struct{}

// FastestUDP returns the UDP implementation with the lowest cost on this system.
func FastestUDP() UDP { return Fast{} }

// FastStream is a blocking socket with SO_RCVTIMEO and SO_SNDTIMEO.
type FastStream int

// Read receives.
func (s FastStream) Read(b []byte) (int, error) {
	n, err := unix.Read(int(s), b)
	return max(n, 0), pollError(err) // with an error the call's n is -1
}

// Write sends.
func (s FastStream) Write(b []byte) (int, error) {
	n, err := unix.Write(int(s), b)
	return max(n, 0), pollError(err)
}

// CloseWrite closes the sending direction.
func (s FastStream) CloseWrite() error { return unix.Shutdown(int(s), unix.SHUT_WR) }

// Close closes the socket.
func (s FastStream) Close() { unix.Close(int(s)) }

// ReadNow reads what is available, and returns ErrAgain if nothing is. It never waits, so it does
// not need the Go scheduler's system call entry.
func (s FastStream) ReadNow(b []byte) (int, error) {
	return rawFlags(unix.SYS_RECVFROM, int(s), b, unix.MSG_DONTWAIT)
}

// Info returns what the kernel reports about the connection.
func (s FastStream) Info() TCPInfo { return kernelInfo(int(s)) }

// Unacknowledged returns how many bytes the peer has not acknowledged.
func (s FastStream) Unacknowledged() (int, bool) { return kernelUnacknowledged(int(s)) }

// FD returns the descriptor.
func (s FastStream) FD() int { return int(s) }

// Peer returns the address of the other end.
func (s FastStream) Peer() netip.AddrPort {
	a, err := unix.Getpeername(int(s))
	if err != nil {
		return netip.AddrPort{}
	}
	return addrPort(a)
}

// addrPort returns a socket address of a network, else the invalid one.
func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// pollError maps errors after which a call should be retried to ErrAgain.
func pollError(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return ErrAgain
	}
	return err
}

func openSocket(addr netip.AddrPort, kind int) (int, error) {
	family := unix.AF_INET
	if addr.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open socket: %w", err)
	}
	return fd, nil
}

func openTCP(addr netip.AddrPort, o TCPOptions) (int, error) {
	fd, err := openSocket(addr, unix.SOCK_STREAM)
	if err != nil {
		return -1, err
	}
	if err := configure(fd, &o); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// configure sets the options that must be active before the handshake.
func configure(fd int, o *TCPOptions) error {
	if err := setOptions(fd, o); err != nil {
		return err
	}
	return SetTimeout(fd, PollTimeout)
}

// SetTimeout bounds how long a call on a blocking socket waits. A negative d is no bound.
func SetTimeout(fd int, d time.Duration) error {
	tv := unix.NsecToTimeval(max(d, 0).Nanoseconds()) // to the kernel 0 is none
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

// Pause puts the calling thread to sleep.
func (s FastStream) Pause(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}

// RawStream bypasses the Go scheduler's system call entry and exit. The socket's timeout bounds how
// long the runtime may have to wait for this thread.
type RawStream struct{ FastStream }

// Read receives.
func (s RawStream) Read(b []byte) (int, error) { return Recv(int(s.FastStream), b) }

// Write sends.
func (s RawStream) Write(b []byte) (int, error) { return Send(int(s.FastStream), b) }

// Pause puts the calling thread to sleep. An interruption shortens the sleep.
func (s RawStream) Pause(d time.Duration) { Sleep(d) }

// fastListener is a listening socket.
type fastListener struct {
	socket int
	number uint16
}

// ListenTCP opens the port of a server.
func (Fast) ListenTCP(address string, o TCPOptions) (Listener, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	fd, err := openTCP(addr, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := &fastListener{socket: fd}
	if err := l.open(addr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

func (l *fastListener) open(addr netip.AddrPort) error {
	// Consecutive trials use the same published port.
	if err := unix.SetsockoptInt(l.socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(l.socket, sockaddr(addr)); err != nil {
		return err
	}
	if err := unix.Listen(l.socket, backlog); err != nil {
		return err
	}
	number, err := localPort(l.socket)
	l.number = number
	return err
}

// localPort returns the port that a socket is bound to.
func localPort(fd int) (uint16, error) {
	got, err := unix.Getsockname(fd)
	return addrPort(got).Port(), err
}

func (l *fastListener) Port() uint16 { return l.number }
func (l *fastListener) FD() int      { return l.socket }
func (l *fastListener) Close()       { unix.Close(l.socket) }

func (l *fastListener) Accept(others []Stream) (Stream, error) {
	return l.acceptWithin(PollTimeout, others)
}

func (l *fastListener) AcceptNow() (Stream, error) { return l.acceptWithin(0, nil) }

// acceptWithin waits for a connection or for data on one of others.
func (l *fastListener) acceptWithin(d time.Duration, others []Stream) (Stream, error) {
	watched := []unix.PollFd{{Fd: int32(l.socket), Events: unix.POLLIN}}
	for _, s := range others {
		watched = append(watched, unix.PollFd{Fd: int32(s.FD()), Events: unix.POLLIN})
	}
	if _, err := unix.Poll(watched, int(d.Milliseconds())); err != nil {
		return nil, pollError(err)
	}
	if watched[0].Revents == 0 {
		return nil, ErrAgain
	}
	return l.accept()
}

func (l *fastListener) accept() (Stream, error) {
	fd, _, err := unix.Accept4(l.socket, unix.SOCK_CLOEXEC)
	if err == nil {
		if err = SetTimeout(fd, PollTimeout); err == nil {
			return FastStream(fd), nil
		}
		unix.Close(fd)
	}
	if errors.Is(err, unix.ECONNABORTED) {
		err = ErrAgain
	}
	return nil, pollError(err)
}

// DialTCP opens one connection, within ConnectTimeout.
func (Fast) DialTCP(ctx context.Context, addr netip.AddrPort, o TCPOptions) (Stream, error) {
	fd, err := openTCP(addr, o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	err = SetTimeout(fd, ConnectTimeout)
	if err == nil && o.Reset {
		err = setReset(fd)
	}
	if err == nil {
		err = retryInterrupted(func() error { return unix.Connect(fd, sockaddr(addr)) })
	}
	if err == nil {
		err = SetTimeout(fd, PollTimeout)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EALREADY) {
			err = fmt.Errorf("%w within %s", ErrNoAnswer, ConnectTimeout)
		}
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return FastStream(fd), nil
}

func retryInterrupted(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
