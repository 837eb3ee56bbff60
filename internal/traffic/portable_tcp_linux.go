package traffic

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// beforeHandshake sets the options that the fast path sets.
func beforeHandshake(p Params) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		return errors.Join(c.Control(func(fd uintptr) {
			if set = setOptions(int(fd), p); set != nil {
				return
			}
			// As on the fast path: a published port is used by trial after trial.
			set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		}), set)
	}
}

// afterHandshake has nothing to add.
func afterHandshake(*net.TCPConn, Params) error { return nil }

func (s *portableStream) queued() (n int, err error) {
	raw, err := s.c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	var asked error
	err = raw.Control(func(fd uintptr) { n, asked = kernelQueued(int(fd)) })
	return n, errors.Join(err, asked)
}

// tell asks the kernel, which on Linux it can: a report should not be blind
// because of the path that was taken.
func (s *portableStream) tell() (tcpState, error) {
	raw, err := s.c.SyscallConn()
	if err != nil {
		return tcpState{}, fmt.Errorf("reach socket: %w", err)
	}
	var st tcpState
	var told error
	err = raw.Control(func(fd uintptr) { st, told = kernelTells(int(fd)) })
	return st, errors.Join(err, told)
}
