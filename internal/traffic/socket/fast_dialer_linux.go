package socket

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Dialer opens connections with as few system calls as their options allow.
type Dialer struct {
	family, length uintptr
	to             [unix.SizeofSockaddrInet6]byte
	o              TCPOptions // those to set
}

// NewDialer determines the options to set on connections to addr.
func NewDialer(addr netip.AddrPort, o TCPOptions) (Dialer, error) {
	d := Dialer{o: o}
	d.o.NoDelay = nil // each request is one write, when nothing is unacknowledged
	// A sockaddr has its family in host byte order and its port in network byte order.
	if a := addr.Addr(); a.Is6() {
		d.family, d.length = unix.AF_INET6, unix.SizeofSockaddrInet6
		ip := a.As16()
		copy(d.to[8:], ip[:])
	} else {
		d.family, d.length = unix.AF_INET, unix.SizeofSockaddrInet4
		ip := a.As4()
		copy(d.to[4:], ip[:])
	}
	binary.NativeEndian.PutUint16(d.to[0:], uint16(d.family))
	binary.BigEndian.PutUint16(d.to[2:], addr.Port())
	fd, err := openSocket(addr, unix.SOCK_STREAM)
	if err != nil {
		return d, err
	}
	defer unix.Close(fd)
	own, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err == nil && own == o.Congestion {
		d.o.Congestion = ""
	}
	return d, nil
}

// Begin opens a socket and starts to connect it.
func (d *Dialer) Begin() (int, error) {
	fd, err := d.socket()
	if err != nil {
		return -1, err
	}
	if err := d.configure(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&d.to)), d.length)
	if errno == 0 || errno == unix.EINPROGRESS || errno == unix.EINTR {
		return fd, nil
	}
	unix.Close(fd)
	return -1, errno
}

func (d *Dialer) socket() (int, error) {
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, d.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (d *Dialer) configure(fd int) error {
	if err := setOptions(fd, &d.o); err != nil || !d.o.Reset {
		return err
	}
	return setReset(fd)
}
