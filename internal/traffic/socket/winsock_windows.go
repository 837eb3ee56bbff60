package socket

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Winsock is the implementation for Windows: non-blocking sockets that send with plain calls and
// receive with overlapped ones, without Go's poller. An overlapped receive that has to wait costs two
// system calls; a plain one would cost three. Nothing that was received is lost when one times out,
// because its cancellation tells whether it was. That does not hold for sends, nor for the timeouts of
// blocking sockets.
type Winsock struct{}

// FastestUDP returns the UDP implementation with the lowest cost on this system.
func FastestUDP() UDP { return Winsock{} }

// Functions and constants that package windows lacks (winsock2.h, ws2tcpip.h, ws2ipdef.h).
var (
	winsock   = windows.NewLazySystemDLL("ws2_32.dll")
	wsAccept  = winsock.NewProc("accept")
	wsIoctl   = winsock.NewProc("ioctlsocket")
	wsPoll    = winsock.NewProc("WSAPoll")
	wsPeer    = winsock.NewProc("getpeername")
	wsSelect  = winsock.NewProc("WSAEventSelect")
	wsStarted = sync.OnceValue(func() error {
		var data windows.WSAData
		return windows.WSAStartup(0x202, &data)
	})
)

const (
	fionbio        = 0x8004667e
	pollIn         = 0x300 // POLLRDNORM | POLLRDBAND
	pollOut        = 0x10  // POLLWRNORM
	fdRead         = 1
	soConnected    = 0x7010 // SO_UPDATE_CONNECT_CONTEXT
	ipDontFragment = 14     // of IPPROTO_IP and of IPPROTO_IPV6
	ipMTU          = 73
	ipv6MTU        = 72
	invalidSocket  = ^uintptr(0)
)

// pollFD is WSAPOLLFD.
type pollFD struct {
	socket          windows.Handle
	events, revents int16
}

// poll waits until one of the sockets is ready, for at most d. It returns how many are.
func poll(fds []pollFD, d time.Duration) (int, error) {
	n, _, errno := syscall.SyscallN(wsPoll.Addr(), uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(d.Milliseconds()))
	if int32(n) < 0 {
		return 0, fmt.Errorf("wait for sockets: %w", errno)
	}
	return int(n), nil
}

// openWinsock opens a non-blocking socket that no child process inherits.
func openWinsock(addr netip.AddrPort, kind, protocol int32) (windows.Handle, error) {
	if err := wsStarted(); err != nil {
		return 0, fmt.Errorf("start Winsock: %w", err)
	}
	family := int32(windows.AF_INET)
	if addr.Addr().Is6() {
		family = windows.AF_INET6
	}
	h, err := windows.WSASocket(family, kind, protocol, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	if err != nil {
		return 0, fmt.Errorf("open socket: %w", err)
	}
	if err := setNonBlocking(h); err != nil {
		_ = windows.Closesocket(h)
		return 0, err
	}
	return h, nil
}

func setNonBlocking(h windows.Handle) error {
	on := uint32(1)
	if n, _, errno := syscall.SyscallN(wsIoctl.Addr(), uintptr(h), fionbio, uintptr(unsafe.Pointer(&on))); int32(n) != 0 {
		return fmt.Errorf("make socket non-blocking: %w", errno)
	}
	return nil
}

func setWinsockBuffers(h windows.Handle, send, receive int) error {
	for _, b := range []struct{ option, bytes int }{{windows.SO_SNDBUF, send}, {windows.SO_RCVBUF, receive}} {
		if b.bytes < 0 {
			continue
		}
		if err := windows.SetsockoptInt(h, windows.SOL_SOCKET, b.option, min(b.bytes, math.MaxInt32)); err != nil {
			return fmt.Errorf("set socket buffers: %w", err)
		}
	}
	return nil
}

// socketOption reads a 32-bit option, 0 if that is not possible.
func socketOption(h windows.Handle, level, option int32) int {
	var v, size = int32(0), int32(4)
	if windows.Getsockopt(h, level, option, (*byte)(unsafe.Pointer(&v)), &size) != nil {
		return 0
	}
	return int(v)
}

func winSockaddr(a netip.AddrPort) windows.Sockaddr {
	if a.Addr().Is6() {
		return &windows.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &windows.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// winAddrPort returns a socket address of a network, else the invalid one.
func winAddrPort(raw *windows.RawSockaddrAny) netip.AddrPort {
	sa, err := raw.Sockaddr()
	if err != nil {
		return netip.AddrPort{}
	}
	switch a := sa.(type) {
	case *windows.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *windows.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// winLocal returns the address that a socket is bound to.
func winLocal(h windows.Handle) (netip.AddrPort, error) {
	sa, err := windows.Getsockname(h)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("read the socket's address: %w", err)
	}
	switch a := sa.(type) {
	case *windows.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), nil
	case *windows.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("read the socket's address: it is a %T", sa)
}

// sendWinsock sends without waiting, and returns ErrAgain if there is no buffer space. With an
// address it is for an unconnected socket.
func sendWinsock(h windows.Handle, b []byte, to *windows.RawSockaddrAny, length int32) (int, error) {
	buf := windows.WSABuf{Len: uint32(min(len(b), math.MaxInt32)), Buf: unsafe.SliceData(b)}
	var n uint32
	var err error
	if to == nil {
		err = windows.WSASend(h, &buf, 1, &n, 0, nil, nil)
	} else {
		err = windows.WSASendTo(h, &buf, 1, &n, 0, to, length, nil, nil)
	}
	if errors.Is(err, windows.WSAEWOULDBLOCK) {
		err = ErrAgain
	}
	return int(n), err
}

// receiver receives with overlapped calls. It stays in one place, and its memory belongs to the kernel
// until a call has completed, so that receive never returns before that.
type overlappedReceiver struct {
	o      windows.Overlapped
	buf    windows.WSABuf
	n      uint32
	flags  uint32
	from   windows.RawSockaddrAny
	length int32
}

func newReceiver() (*overlappedReceiver, error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("create an event: %w", err)
	}
	return &overlappedReceiver{o: windows.Overlapped{HEvent: event}}, nil
}

func (r *overlappedReceiver) close() { _ = windows.CloseHandle(r.o.HEvent) }

// receive waits with the given function until the event is signalled. It returns ErrAgain when that
// reports a timeout. With addressed it records who sent.
func (r *overlappedReceiver) receive(h windows.Handle, b []byte, addressed bool, wait func(event windows.Handle) (bool, error)) (int, error) {
	r.buf = windows.WSABuf{Len: uint32(min(len(b), math.MaxInt32)), Buf: unsafe.SliceData(b)}
	r.n, r.flags, r.length = 0, 0, int32(unsafe.Sizeof(r.from))
	var err error
	if addressed {
		err = windows.WSARecvFrom(h, &r.buf, 1, &r.n, &r.flags, &r.from, &r.length, &r.o, nil)
	} else {
		err = windows.WSARecv(h, &r.buf, 1, &r.n, &r.flags, &r.o, nil)
	}
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		signalled, failed := wait(r.o.HEvent)
		if !signalled {
			_ = windows.CancelIoEx(h, &r.o) // if it has completed meanwhile, there is nothing to cancel
		}
		err = windows.WSAGetOverlappedResult(h, &r.o, &r.n, true, &r.flags)
		if errors.Is(err, windows.ERROR_OPERATION_ABORTED) {
			if err = failed; err == nil {
				err = ErrAgain
			}
		}
	}
	r.buf.Buf = nil
	return int(r.n), err
}

// waitMilliseconds waits as precisely as the system's tick, for waits that only bound a call.
func waitMilliseconds(d time.Duration) func(windows.Handle) (bool, error) {
	return func(event windows.Handle) (bool, error) {
		return signalled(windows.WaitForSingleObject(event, uint32(d.Milliseconds())))
	}
}

func signalled(event uint32, err error) (bool, error) {
	if event == uint32(windows.WAIT_TIMEOUT) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for socket: %w", err)
	}
	return true, nil
}
