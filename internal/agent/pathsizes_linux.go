package agent

import (
	"errors"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reportsUnseen is empty: Linux tells what routers reported.
const reportsUnseen = ""

// forbidFragments lets no system on the path fragment the packets of a socket, lets the
// socket send packets of its device's MTU whatever was learned of the path before, and
// collects what routers report.
func forbidFragments(conn syscall.Conn, ipv6 bool) error {
	return control(conn, func(fd int) error {
		if ipv6 {
			return errors.Join(
				unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE),
				unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1),
				unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1))
		}
		return errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE),
			unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1))
	})
}

// routeMTU returns the MTU of the route of a connected socket, with what was learned of the path.
func routeMTU(conn syscall.Conn, ipv6 bool) (mtu int, err error) {
	err = control(conn, func(fd int) (err error) {
		if ipv6 {
			mtu, err = unix.GetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
		} else {
			mtu, err = unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU)
		}
		return err
	})
	return mtu, err
}

func control(conn syscall.Conn, do func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// tooBig reports whether a packet was refused because of its size.
func tooBig(err error) bool { return errors.Is(err, unix.EMSGSIZE) }

// maxReports bounds how many reports are read at once.
const maxReports = 1000

// readReports empties a socket's queue of errors and returns whether a router reported
// packets as too big, and the smallest MTU that it gave.
func readReports(conn syscall.Conn) (mtu int, reported bool) {
	_ = control(conn, func(fd int) error {
		for range maxReports {
			at, ok, more := nextReport(fd)
			if !more {
				break
			}
			if ok {
				if reported = true; at > 0 && (mtu == 0 || at < mtu) {
					mtu = at
				}
			}
		}
		return nil
	})
	return mtu, reported
}

// nextReport takes an error from a socket's queue; more is false if there is none. ok says
// whether it is a router's report.
func nextReport(fd int) (mtu int, ok, more bool) {
	data, oob := make([]byte, 64), make([]byte, 512)
	_, n, _, _, err := unix.Recvmsg(fd, data, oob, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return 0, false, false
	}
	mtu, ok = parseReport(oob[:n])
	return mtu, ok, true
}

// parseReport reads a router's report that a packet was too big from the control messages of
// an error: struct sock_extended_err.
func parseReport(oob []byte) (mtu int, ok bool) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if !v4 && !v6 || len(m.Data) < int(unsafe.Sizeof(unix.SockExtendedErr{})) {
			continue
		}
		e := *(*unix.SockExtendedErr)(unsafe.Pointer(&m.Data[0]))
		fromRouter := e.Origin == unix.SO_EE_ORIGIN_ICMP || e.Origin == unix.SO_EE_ORIGIN_ICMP6
		if fromRouter && unix.Errno(e.Errno) == unix.EMSGSIZE {
			return int(e.Info), true
		}
	}
	return 0, false
}

// segmentSize returns the payload of a full-size segment of a connection.
func segmentSize(conn net.Conn) (mss int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, errors.New("not a socket")
	}
	err = control(c, func(fd int) (err error) {
		mss, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
		return err
	})
	return mss, err
}
