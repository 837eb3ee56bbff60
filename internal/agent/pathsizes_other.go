//go:build !linux

package agent

import (
	"errors"
	"net"
	"runtime"
	"syscall"
)

// reportsUnseen is why the reports of routers are not read: other systems tell a program of
// a UDP socket only that a packet was refused.
const reportsUnseen = runtime.GOOS + " does not show a program what routers report"

// forbidFragments lets no system on the path fragment the packets of a socket.
func forbidFragments(conn syscall.Conn, ipv6 bool) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = setDontFragment(fd, ipv6) }); err != nil {
		return err
	}
	return inner
}

// routeMTU is unknown.
func routeMTU(syscall.Conn, bool) (int, error) { return 0, errors.ErrUnsupported }

// tooBig reports whether a packet was refused because of its size.
func tooBig(err error) bool { return errors.Is(err, errTooBig) }

// readReports returns nothing: see reportsUnseen.
func readReports(syscall.Conn) (mtu int, reported bool) { return 0, false }

// segmentSize is unknown.
func segmentSize(net.Conn) (int, error) { return 0, errors.ErrUnsupported }
