package socket

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Info returns what the system reports about the connection.
func (s *portableStream) Info() TCPInfo {
	raw, err := s.c.SyscallConn()
	if err != nil {
		return TCPInfo{}
	}
	var info TCPInfo
	_ = raw.Control(func(fd uintptr) { // of a closed connection nothing is known
		got, err := unix.GetsockoptTCPConnectionInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_CONNECTION_INFO)
		if err == nil {
			info = parseMacInfo(unsafe.Slice((*byte)(unsafe.Pointer(got)), unsafe.Sizeof(*got)))
		}
		info.SendBuffer = bufferOf(int(fd), unix.SO_SNDBUF)
		info.ReceiveBuffer = bufferOf(int(fd), unix.SO_RCVBUF)
	})
	return info
}

// bufferOf returns a granted buffer, 0 if it is unknown.
func bufferOf(fd, option int) int {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option)
	if err != nil {
		return 0
	}
	return n
}

// Unacknowledged returns how many bytes the system still holds: sent or not, without an
// acknowledgement.
func (s *portableStream) Unacknowledged() (n int, known bool) {
	raw, err := s.c.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = raw.Control(func(fd uintptr) { // of a closed connection nothing is known
		n, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NWRITE)
		known = err == nil
	})
	return n, known
}
