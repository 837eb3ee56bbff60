package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// winStream is a TCP connection.
type winStream struct {
	h    windows.Handle
	in   *overlappedReceiver
	wait func(windows.Handle) (bool, error)
}

func newWinStream(h windows.Handle) (*winStream, error) {
	in, err := newReceiver()
	if err != nil {
		return nil, err
	}
	return &winStream{h: h, in: in, wait: waitMilliseconds(PollTimeout)}, nil
}

func (s *winStream) Read(b []byte) (int, error) { return s.in.receive(s.h, b, false, s.wait) }

func (s *winStream) ReadNow(b []byte) (int, error) {
	buf := windows.WSABuf{Len: uint32(len(b)), Buf: unsafe.SliceData(b)}
	var n, flags uint32
	err := windows.WSARecv(s.h, &buf, 1, &n, &flags, nil, nil)
	if errors.Is(err, windows.WSAEWOULDBLOCK) {
		err = ErrAgain
	}
	return int(n), err
}

func (s *winStream) Write(b []byte) (int, error) {
	n, err := sendWinsock(s.h, b, nil, 0)
	if !IsAgain(err) {
		return n, err
	}
	if ready, err := poll([]pollFD{{socket: s.h, events: pollOut}}, PollTimeout); err != nil || ready == 0 {
		return 0, errors.Join(err, ErrAgain)
	}
	return sendWinsock(s.h, b, nil, 0)
}

// FD returns -1: the handle is no file descriptor.
func (s *winStream) FD() int { return -1 }

func (s *winStream) Peer() netip.AddrPort {
	var raw windows.RawSockaddrAny
	length := int32(unsafe.Sizeof(raw))
	if n, _, _ := syscall.SyscallN(wsPeer.Addr(), uintptr(s.h), uintptr(unsafe.Pointer(&raw)), uintptr(unsafe.Pointer(&length))); int32(n) != 0 {
		return netip.AddrPort{}
	}
	return winAddrPort(&raw)
}

func (s *winStream) CloseWrite() error { return windows.Shutdown(s.h, windows.SHUT_WR) }

func (s *winStream) Close() {
	_ = windows.Closesocket(s.h)
	s.in.close()
}

// setWinsockOptions sets the options that must be active before the handshake. The system chooses
// the congestion control, and the report leaves it unknown.
func setWinsockOptions(h windows.Handle, o TCPOptions) error {
	if err := setWinsockBuffers(h, o.SendBuffer.Socket(), o.ReceiveBuffer.Socket()); err != nil {
		return err
	}
	return setNoDelay(h, o.DisablesNagle())
}

func setNoDelay(h windows.Handle, noDelay bool) error {
	on := 0
	if noDelay {
		on = 1
	}
	if err := windows.SetsockoptInt(h, windows.IPPROTO_TCP, windows.TCP_NODELAY, on); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return nil
}

// winListener is a listening socket.
type winListener struct {
	h      windows.Handle
	port   uint16
	o      TCPOptions
	use    sync.Mutex // guards h against its end: the system may give its number to another socket
	closed atomic.Bool
}

// ListenTCP opens the port of a server.
func (Winsock) ListenTCP(address string, o TCPOptions) (Listener, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	h, err := openWinsock(addr, windows.SOCK_STREAM, windows.IPPROTO_TCP)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := &winListener{h: h, o: o}
	if err := l.open(addr); err != nil {
		_ = windows.Closesocket(h)
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

func (l *winListener) open(addr netip.AddrPort) error {
	if err := setWinsockOptions(l.h, l.o); err != nil {
		return err
	}
	if err := windows.Bind(l.h, winSockaddr(addr)); err != nil {
		return err
	}
	if err := windows.Listen(l.h, backlog); err != nil {
		return err
	}
	got, err := winLocal(l.h)
	l.port = got.Port()
	return err
}

func (l *winListener) Port() uint16 { return l.port }
func (l *winListener) FD() int      { return -1 }

// Close waits until a call of Accept has ended.
func (l *winListener) Close() {
	if l.closed.Swap(true) {
		return
	}
	l.use.Lock()
	defer l.use.Unlock()
	_ = windows.Closesocket(l.h)
}

func (l *winListener) Accept(others []Stream) (Stream, error) {
	l.use.Lock()
	defer l.use.Unlock()
	if l.closed.Load() {
		return nil, net.ErrClosed
	}
	watched := []pollFD{{socket: l.h, events: pollIn}}
	for _, s := range others {
		if w, ok := s.(*winStream); ok {
			watched = append(watched, pollFD{socket: w.h, events: pollIn})
		}
	}
	if _, err := poll(watched, PollTimeout); err != nil {
		return nil, err
	}
	if watched[0].revents == 0 {
		return nil, ErrAgain
	}
	return l.accept()
}

func (l *winListener) AcceptNow() (Stream, error) {
	l.use.Lock()
	defer l.use.Unlock()
	if l.closed.Load() {
		return nil, net.ErrClosed
	}
	return l.accept()
}

func (l *winListener) accept() (Stream, error) {
	h, _, errno := syscall.SyscallN(wsAccept.Addr(), uintptr(l.h), 0, 0)
	if h == invalidSocket {
		if errno == windows.WSAEWOULDBLOCK || errno == windows.WSAECONNRESET || errno == windows.WSAECONNABORTED {
			return nil, ErrAgain
		}
		return nil, errno
	}
	return l.accepted(windows.Handle(h))
}

// accepted sets what an accepted socket does not inherit.
func (l *winListener) accepted(h windows.Handle) (Stream, error) {
	err := windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, 0)
	if err == nil {
		err = setNonBlocking(h)
	}
	if err == nil {
		err = setNoDelay(h, l.o.DisablesNagle())
	}
	if err == nil {
		var s *winStream
		if s, err = newWinStream(h); err == nil {
			return s, nil
		}
	}
	_ = windows.Closesocket(h)
	return nil, err
}

// DialTCP opens one connection, within ConnectTimeout.
func (Winsock) DialTCP(ctx context.Context, addr netip.AddrPort, o TCPOptions) (Stream, error) {
	h, err := openWinsock(addr, windows.SOCK_STREAM, windows.IPPROTO_TCP)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	s, err := newWinStream(h)
	if err != nil {
		_ = windows.Closesocket(h)
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if err := s.dial(ctx, addr, o); err != nil {
		s.Close()
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return s, nil
}

func (s *winStream) dial(ctx context.Context, addr netip.AddrPort, o TCPOptions) error {
	if err := setWinsockOptions(s.h, o); err != nil {
		return err
	}
	if o.Reset {
		if err := windows.SetsockoptLinger(s.h, windows.SOL_SOCKET, windows.SO_LINGER, &windows.Linger{Onoff: 1}); err != nil {
			return fmt.Errorf("set SO_LINGER: %w", err)
		}
	}
	any4, any6 := netip.AddrPortFrom(netip.IPv4Unspecified(), 0), netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	local := any4
	if addr.Addr().Is6() {
		local = any6
	}
	// ConnectEx, unlike connect, can be cancelled, but requires a bound socket.
	if err := windows.Bind(s.h, winSockaddr(local)); err != nil {
		return err
	}
	err := windows.ConnectEx(s.h, winSockaddr(addr), nil, 0, nil, &s.in.o)
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		err = s.connected(ctx)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return windows.Setsockopt(s.h, windows.SOL_SOCKET, soConnected, nil, 0)
}

// connected waits for the end of the handshake.
func (s *winStream) connected(ctx context.Context) error {
	done, err := false, error(nil)
	for waited := time.Duration(0); !done && err == nil && waited < ConnectTimeout && ctx.Err() == nil; waited += PollTimeout {
		done, err = s.wait(s.in.o.HEvent)
	}
	if !done {
		_ = windows.CancelIoEx(s.h, &s.in.o) // it may have completed meanwhile
	}
	failed := err
	err = windows.WSAGetOverlappedResult(s.h, &s.in.o, &s.in.n, true, &s.in.flags)
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, windows.ERROR_OPERATION_ABORTED), errors.Is(err, windows.WSAETIMEDOUT):
		return fmt.Errorf("%w within %s", ErrNoAnswer, ConnectTimeout)
	}
	return err
}
