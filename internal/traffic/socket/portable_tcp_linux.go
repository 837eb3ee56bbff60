package socket

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// beforeHandshake sets the options that the fast path sets.
func beforeHandshake(o TCPOptions) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		return errors.Join(c.Control(func(fd uintptr) {
			if set = setOptions(int(fd), o); set != nil {
				return
			}
			// As on the fast path: a published port is used by trial after trial.
			set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		}), set)
	}
}

// afterHandshake has nothing to add.
func afterHandshake(*net.TCPConn, TCPOptions) error { return nil }

// Info asks the kernel, which on Linux it can: a report should not be blind because
// of the path that was taken.
func (s *portableStream) Info() (info TCPInfo) {
	s.control(func(fd int) { info = kernelInfo(fd) })
	return info
}

func (s *portableStream) Unacknowledged() (n int, known bool) {
	s.control(func(fd int) { n, known = kernelUnacknowledged(fd) })
	return n, known
}

// control lends the socket to fn. A connection that is closed has none, and fn is not
// called.
func (s *portableStream) control(fn func(fd int)) {
	if raw, err := s.c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { fn(int(fd)) })
	}
}
