package relay

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// congestion is the congestion control of the proxies' connections: the one that tare sets for
// client and server unless a study names another.
const congestion = "cubic"

// control sets the congestion control of a socket that is to listen or to dial. Where the kernel
// lacks it, or the user may not set it, the socket keeps the kernel's default.
func control(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion)
	})
}

// readCongestion returns the congestion control of a socket.
func readCongestion(of syscall.Conn) (name string, err error) {
	raw, err := of.SyscallConn()
	if err != nil {
		return "", err
	}
	var reading error
	err = raw.Control(func(fd uintptr) {
		name, reading = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	})
	return name, errors.Join(err, reading)
}
