package socket

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// beforeHandshake sets the same options as the fast implementation.
func beforeHandshake(o TCPOptions) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		return errors.Join(c.Control(func(fd uintptr) {
			if set = setOptions(int(fd), &o); set != nil {
				return
			}
			// As in the fast implementation: consecutive trials use the same published port.
			set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		}), set)
	}
}

// afterHandshake does nothing more.
func afterHandshake(*net.TCPConn, TCPOptions) error { return nil }

// Info asks the kernel, so that reports have these values with the portable implementation, too.
func (s *portableStream) Info() (info TCPInfo) {
	s.control(func(fd int) { info = kernelInfo(fd) })
	return info
}

func (s *portableStream) Unacknowledged() (n int, known bool) {
	s.control(func(fd int) { n, known = kernelUnacknowledged(fd) })
	return n, known
}

// control passes the descriptor to fn. If the connection is closed, fn is not called.
func (s *portableStream) control(fn func(fd int)) {
	if raw, err := s.c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { fn(int(fd)) })
	}
}
