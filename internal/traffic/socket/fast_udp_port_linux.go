package socket

import (
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openUDP opens a socket with the options of a trial.
func openUDP(addr netip.AddrPort, o UDPOptions) (int, error) {
	fd, err := openSocket(addr, unix.SOCK_DGRAM)
	if err != nil {
		return -1, err
	}
	err = setBuffers(fd, o.SendBuffer, o.ReceiveBuffer)
	if err == nil {
		err = setFragment(fd, addr, o.Fragment)
	}
	if err == nil {
		err = SetTimeout(fd, PollTimeout)
	}
	if err == nil && o.Offload {
		// A kernel without it delivers single datagrams.
		_ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// setFragment sets whether IP may fragment datagrams that exceed the path MTU.
func setFragment(fd int, addr netip.AddrPort, may bool) error {
	level, option, value := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO
	if may {
		value = unix.IP_PMTUDISC_DONT
	}
	if addr.Addr().Is6() {
		level, option, value = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO
		if may {
			value = unix.IPV6_PMTUDISC_DONT
		}
	}
	if err := unix.SetsockoptInt(fd, level, option, value); err != nil {
		return fmt.Errorf("set path MTU discovery: %w", err)
	}
	return nil
}

// fastPort is the server's unconnected socket.
type fastPort struct {
	fd        int
	addr      netip.AddrPort
	o         UDPOptions
	connected bool // the wire closes the socket
}

// ListenUDP opens the port of a server.
func (Fast) ListenUDP(address string, o UDPOptions) (UDPPort, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	fd, err := openUDP(addr, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := &fastPort{fd: fd, addr: addr, o: o}
	err = bindShared(fd, addr)
	if err == nil {
		var number uint16
		number, err = localPort(fd)
		l.addr = netip.AddrPortFrom(addr.Addr(), number)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// bindShared binds so that the sockets of the flows can use the same port. The kernel allows that
// to the same user only.
func bindShared(fd int, addr netip.AddrPort) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	return unix.Bind(fd, sockaddr(addr))
}

func (l *fastPort) Port() uint16 { return l.addr.Port() }

func (l *fastPort) Close() {
	if !l.connected {
		unix.Close(l.fd)
	}
}

func (l *fastPort) Receive(b []byte) (int, netip.AddrPort, error) {
	n, from, err := unix.Recvfrom(l.fd, b, 0)
	return n, addrPort(from), udpError(err)
}

func (l *fastPort) Answer(b []byte, to netip.AddrPort) error {
	return unix.Sendto(l.fd, b, 0, sockaddr(to))
}

// Connect opens a socket on the same port for each flow, connected to its peer. The kernel prefers
// it to the unconnected socket for datagrams from that peer. Datagrams from others that arrive
// between bind and connect are not of the trial.
func (l *fastPort) Connect(peers []netip.AddrPort) (UDPWire, error) {
	var fds []int
	for i, peer := range peers {
		fd, err := openUDP(l.addr, l.o)
		if err == nil {
			fds = append(fds, fd)
			err = bindShared(fd, l.addr)
		}
		if err == nil {
			err = unix.Connect(fd, sockaddr(peer))
		}
		if err != nil {
			closeAll(fds)
			return nil, fmt.Errorf("connect flow %d to %s: %w", i, peer, err)
		}
	}
	w, err := newFastWire(fds, l.o)
	if err != nil {
		closeAll(fds)
		return nil, err
	}
	w.listening, w.peers, l.connected = l.fd, peers, true
	return w, nil
}

// Sleeper reduces the thread's timer slack, 50 us by default, to the kernel's minimum. The slack
// ends with the thread.
func (Fast) Sleeper() func(time.Duration) {
	// If this fails, sleeps are longer, and the delay behind the slots shows it.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return func(d time.Duration) {
		ts := unix.NsecToTimespec(int64(d))
		_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
}
