package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fast is the network of Linux.
type fast struct{}

func fastest() network { return fast{} }

// fastStream is a blocking socket with SO_RCVTIMEO and SO_SNDTIMEO.
type fastStream int

func (s fastStream) read(b []byte) (int, error) {
	n, err := unix.Read(int(s), b)
	return max(n, 0), patient(err) // with an error the call's n is -1
}

func (s fastStream) write(b []byte) (int, error) {
	n, err := unix.Write(int(s), b)
	return max(n, 0), patient(err)
}

func (s fastStream) closeWrite() error { return unix.Shutdown(int(s), unix.SHUT_WR) }
func (s fastStream) close()            { unix.Close(int(s)) }

// send and recv wait as long as the socket's time-outs say.
func send(fd int, b []byte) (int, error) { return raw(unix.SYS_SENDTO, fd, b) }
func recv(fd int, b []byte) (int, error) { return raw(unix.SYS_RECVFROM, fd, b) }

// raw goes round the Go scheduler's system call entry. The socket's time-out
// bounds how long the runtime can be kept waiting for this thread.
func raw(call uintptr, fd int, b []byte) (int, error) {
	return rawFlags(call, fd, b, unix.MSG_NOSIGNAL)
}

func rawFlags(call uintptr, fd int, b []byte, flags uintptr) (int, error) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, errAgain
	}
	return 0, errno
}

// readNow reads what is there, errAgain if nothing is. It never waits, and so
// needs no processor handed on.
func (s fastStream) readNow(b []byte) (int, error) {
	return rawFlags(unix.SYS_RECVFROM, int(s), b, unix.MSG_DONTWAIT)
}

func (s fastStream) info() tcpInfo               { return kernelInfo(int(s)) }
func (s fastStream) unacknowledged() (int, bool) { return kernelUnacknowledged(int(s)) }
func (s fastStream) fd() int                     { return int(s) }

// patient turns the errors of a call that should be tried again into errAgain.
func patient(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return errAgain
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

func openTCP(addr netip.AddrPort, o tcpOptions) (int, error) {
	fd, err := openSocket(addr, unix.SOCK_STREAM)
	if err != nil {
		return -1, err
	}
	if err := configure(fd, o); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// configure sets what must be in force before the handshake.
func configure(fd int, o tcpOptions) error {
	if err := setOptions(fd, o); err != nil {
		return err
	}
	return setPatience(fd, patience)
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

// fastAcceptor is a listening socket.
type fastAcceptor struct {
	socket int
	number uint16
}

func (fast) listenTCP(address string, o tcpOptions) (acceptor, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	fd, err := openTCP(addr, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := &fastAcceptor{socket: fd}
	if err := l.open(addr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

func (l *fastAcceptor) open(addr netip.AddrPort) error {
	// A published port is used by trial after trial.
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

// localPort reads which port a socket is bound to.
func localPort(fd int) (uint16, error) {
	got, err := unix.Getsockname(fd)
	switch a := got.(type) {
	case *unix.SockaddrInet4:
		return uint16(a.Port), nil
	case *unix.SockaddrInet6:
		return uint16(a.Port), nil
	}
	return 0, err
}

func (l *fastAcceptor) port() uint16 { return l.number }
func (l *fastAcceptor) fd() int      { return l.socket }
func (l *fastAcceptor) close()       { unix.Close(l.socket) }

func (l *fastAcceptor) accept() (stream, error) {
	fd, _, err := unix.Accept4(l.socket, unix.SOCK_CLOEXEC)
	if err == nil {
		if err = setPatience(fd, patience); err == nil {
			return fastStream(fd), nil
		}
		unix.Close(fd)
	}
	if errors.Is(err, unix.ECONNABORTED) {
		err = errAgain
	}
	return nil, patient(err)
}

func (fast) dialTCP(ctx context.Context, addr netip.AddrPort, o tcpOptions) (stream, error) {
	fd, err := openTCP(addr, o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	err = setPatience(fd, connectWait)
	if err == nil && o.Reset {
		err = setReset(fd)
	}
	if err == nil {
		err = retryInterrupted(func() error { return unix.Connect(fd, sockaddr(addr)) })
	}
	if err == nil {
		err = setPatience(fd, patience)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EALREADY) {
			err = fmt.Errorf("no answer within %s", connectWait)
		}
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fastStream(fd), nil
}

func retryInterrupted(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
