package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// sioUDPConnReset is SIO_UDP_CONNRESET: whether a refused datagram makes the next receive call fail.
const sioUDPConnReset = 0x9800000c

// openWinUDP opens a socket with the options of a trial. It makes no call that is not needed: Wine
// refuses the one with which Go's package net begins.
func openWinUDP(addr netip.AddrPort, o UDPOptions) (windows.Handle, error) {
	h, err := openWinsock(addr, windows.SOCK_DGRAM, windows.IPPROTO_UDP)
	if err != nil {
		return 0, err
	}
	err = setWinsockBuffers(h, o.SendBuffer, o.ReceiveBuffer)
	if err == nil {
		level, whole := windows.IPPROTO_IP, 1
		if addr.Addr().Is6() {
			level = windows.IPPROTO_IPV6
		}
		if o.Fragment {
			whole = 0
		}
		if err = windows.SetsockoptInt(h, level, ipDontFragment, whole); err != nil {
			err = fmt.Errorf("set whether datagrams may be fragmented: %w", err)
		}
	}
	if err != nil {
		_ = windows.Closesocket(h)
		return 0, err
	}
	return h, nil
}

// winUDPError maps errors of a UDP socket to those that workloads handle.
func winUDPError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.WSAEWOULDBLOCK), errors.Is(err, windows.WSAENOBUFS):
		return ErrAgain
	case errors.Is(err, windows.WSAECONNRESET), errors.Is(err, windows.WSAECONNREFUSED), errors.Is(err, windows.ERROR_PORT_UNREACHABLE):
		return ErrRefused
	case errors.Is(err, windows.WSAEMSGSIZE):
		return ErrTooLong
	}
	return err
}

// received completes a receive call. A datagram that is longer than the buffer fills it, by which the
// caller detects it.
func received(n, room int, err error) (int, error) {
	if errors.Is(err, windows.WSAEMSGSIZE) || errors.Is(err, windows.ERROR_MORE_DATA) {
		return room, nil
	}
	return n, winUDPError(err)
}

// winPort is the single socket of a server, for all flows.
type winPort struct {
	h         windows.Handle
	in        *overlappedReceiver
	number    uint16
	o         UDPOptions
	connected bool // the wire closes the socket
}

// ListenUDP opens the port of a server.
func (Winsock) ListenUDP(address string, o UDPOptions) (UDPPort, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	h, err := openWinUDP(addr, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	// A client that has gone must not end the trial of another. Where the call fails, as under Wine,
	// that is treated like a timeout.
	off, n := uint32(0), uint32(0)
	_ = windows.WSAIoctl(h, sioUDPConnReset, (*byte)(unsafe.Pointer(&off)), 4, nil, 0, &n, nil, 0)
	l := &winPort{h: h, o: o}
	err = windows.Bind(h, winSockaddr(addr))
	if err == nil {
		var got netip.AddrPort
		got, err = winLocal(h)
		l.number = got.Port()
	}
	if err == nil {
		l.in, err = newReceiver()
	}
	if err != nil {
		_ = windows.Closesocket(h)
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

func (l *winPort) Port() uint16 { return l.number }

func (l *winPort) Close() {
	if !l.connected {
		_ = windows.Closesocket(l.h)
		l.in.close()
	}
}

func (l *winPort) Receive(b []byte) (int, netip.AddrPort, error) {
	n, err := receiveFrom(l.in, l.h, b, waitMilliseconds(PollTimeout))
	if errors.Is(err, ErrRefused) {
		err = ErrAgain
	}
	if err != nil {
		return 0, netip.AddrPort{}, err
	}
	return n, winAddrPort(&l.in.from), nil
}

// receiveFrom receives one datagram and who sent it.
func receiveFrom(in *overlappedReceiver, h windows.Handle, b []byte, wait func(windows.Handle) (bool, error)) (int, error) {
	n, err := in.receive(h, b, true, wait)
	return received(n, len(b), err)
}

func (l *winPort) Answer(b []byte, to netip.AddrPort) error {
	raw, length := rawSockaddr(to)
	_, err := sendWinsock(l.h, b, &raw, length)
	return winUDPError(err)
}

func (l *winPort) Connect(peers []netip.AddrPort) (UDPWire, error) {
	w := &winWire{sockets: []windows.Handle{l.h}, in: l.in, timer: newWaitTimer(), patience: PollTimeout, flows: map[netip.AddrPort]int{}}
	for i, a := range peers {
		raw, length := rawSockaddr(a)
		w.flows[a], w.peers, w.length = i, append(w.peers, raw), length
	}
	l.connected = true
	return w, nil
}

// rawSockaddr returns an address as the system's calls take it: the family in host byte order, the
// port in network byte order.
func rawSockaddr(a netip.AddrPort) (raw windows.RawSockaddrAny, length int32) {
	port := a.Port()<<8 | a.Port()>>8
	if a.Addr().Is6() {
		p := (*windows.RawSockaddrInet6)(unsafe.Pointer(&raw))
		*p = windows.RawSockaddrInet6{Family: windows.AF_INET6, Port: port, Addr: a.Addr().As16()}
		return raw, int32(unsafe.Sizeof(*p))
	}
	p := (*windows.RawSockaddrInet4)(unsafe.Pointer(&raw))
	*p = windows.RawSockaddrInet4{Family: windows.AF_INET, Port: port, Addr: a.Addr().As4()}
	return raw, int32(unsafe.Sizeof(*p))
}

// winWire has one socket per flow at the client. At the server it has one socket for all flows and
// distinguishes them by the peer's address.
type winWire struct {
	sockets  []windows.Handle
	in       *overlappedReceiver // with one socket
	arrived  windows.Handle      // with several: the event of arrivals at any of them
	fds      []pollFD            // with several
	ready    []int               // flows that poll reported and that are not yet read
	timer    *waitTimer
	patience time.Duration
	peers    []windows.RawSockaddrAny // of the flows, at the server
	length   int32                    // of their addresses
	flows    map[netip.AddrPort]int   // flow by address, at the server
	foreign  int64
}

// DialUDP opens a connected socket for each flow.
func (Winsock) DialUDP(to netip.AddrPort, o UDPOptions) (UDPWire, error) {
	w := &winWire{timer: newWaitTimer(), patience: PollTimeout}
	for range max(1, o.Flows) {
		h, err := openWinUDP(to, o)
		if err == nil {
			w.sockets = append(w.sockets, h)
			err = windows.Connect(h, winSockaddr(to))
		}
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("open flow %d to %s: %w", len(w.sockets), to, err)
		}
	}
	if err := w.prepare(); err != nil {
		w.Close()
		return nil, fmt.Errorf("open flows to %s: %w", to, err)
	}
	return w, nil
}

// prepare prepares to wait for all sockets.
func (w *winWire) prepare() (err error) {
	if len(w.sockets) == 1 {
		w.in, err = newReceiver()
		return err
	}
	if w.arrived, err = windows.CreateEvent(nil, 0, 0, nil); err != nil {
		return fmt.Errorf("create an event: %w", err)
	}
	for _, h := range w.sockets {
		if n, _, errno := syscall.SyscallN(wsSelect.Addr(), uintptr(h), uintptr(w.arrived), fdRead); int32(n) != 0 {
			return fmt.Errorf("wait for a socket: %w", errno)
		}
		w.fds = append(w.fds, pollFD{socket: h, events: pollIn})
	}
	return nil
}

func (w *winWire) Close() {
	for _, h := range w.sockets {
		_ = windows.Closesocket(h)
	}
	if w.in != nil {
		w.in.close()
	}
	if w.arrived != 0 {
		_ = windows.CloseHandle(w.arrived)
	}
}

func (*winWire) Attach(*Outbox) {}

func (w *winWire) Send(flow int, out *Outbox, from, n int) (int, error) {
	for i := range n {
		if err := w.SendOne(flow, out.datagram(from+i)); err != nil {
			if i > 0 {
				return i, nil // the next call returns it again
			}
			return 0, err
		}
	}
	return n, nil
}

// SendOne waits for buffer space, for at most the wire's timeout.
func (w *winWire) SendOne(flow int, b []byte) error {
	err := w.sendNow(flow, b)
	if !IsAgain(err) {
		return err
	}
	h := w.sockets[0]
	if w.peers == nil {
		h = w.sockets[flow]
	}
	if ready, failed := poll([]pollFD{{socket: h, events: pollOut}}, w.patience); failed != nil || ready == 0 {
		return errors.Join(failed, ErrAgain)
	}
	return w.sendNow(flow, b)
}

func (w *winWire) sendNow(flow int, b []byte) (err error) {
	if w.peers == nil {
		_, err = sendWinsock(w.sockets[flow], b, nil, 0)
	} else {
		_, err = sendWinsock(w.sockets[0], b, &w.peers[flow], w.length)
	}
	return winUDPError(err)
}

func (w *winWire) Receive(in *Inbox) error {
	d := w.patience
	if in.NonBlocking {
		d = 0
	}
	return w.receive(in, waitMilliseconds(d))
}

// ReceiveWithin waits with a timer, which is finer than the timeout of a wait.
func (w *winWire) ReceiveWithin(in *Inbox, d time.Duration) error {
	d = min(d, PollTimeout)
	return w.receive(in, func(event windows.Handle) (bool, error) { return w.timer.wait(event, d) })
}

// receive receives one datagram. wait waits for an event.
func (w *winWire) receive(in *Inbox, wait func(windows.Handle) (bool, error)) error {
	in.N = 0
	if w.in == nil {
		return w.receiveAny(in, wait)
	}
	flow := 0
	n, err := receiveFrom(w.in, w.sockets[0], in.Bufs[0], wait)
	if err == nil && w.peers != nil {
		flow, err = w.flowOf()
	}
	if err != nil {
		return err
	}
	in.Flow, in.N, in.Sizes[0], in.SegmentSizes[0] = flow, 1, n, 0
	return nil
}

// flowOf returns the flow of the datagram that was received last.
func (w *winWire) flowOf() (int, error) {
	flow, known := w.flows[winAddrPort(&w.in.from)]
	if !known {
		w.foreign++
		return 0, ErrAgain
	}
	return flow, nil
}

// receiveAny receives from any of several sockets.
func (w *winWire) receiveAny(in *Inbox, wait func(windows.Handle) (bool, error)) error {
	for range 2 {
		for len(w.ready) > 0 {
			last := len(w.ready) - 1
			flow := w.ready[last]
			w.ready = w.ready[:last]
			n, err := w.receiveNow(flow, in.Bufs[0])
			if IsAgain(err) {
				continue
			}
			in.Flow = flow
			if err != nil {
				return err
			}
			in.N, in.Sizes[0], in.SegmentSizes[0] = 1, n, 0
			return nil
		}
		if err := w.findReady(); err != nil {
			return err
		}
		if len(w.ready) > 0 {
			continue
		}
		if got, err := wait(w.arrived); !got {
			return errors.Join(err, ErrAgain)
		}
		if err := w.findReady(); err != nil {
			return err
		}
	}
	return ErrAgain
}

func (w *winWire) findReady() error {
	if _, err := poll(w.fds, 0); err != nil {
		return err
	}
	for i := range w.fds {
		if w.fds[i].revents != 0 {
			w.ready = append(w.ready, i)
		}
	}
	return nil
}

func (w *winWire) receiveNow(flow int, b []byte) (int, error) {
	buf := windows.WSABuf{Len: uint32(len(b)), Buf: unsafe.SliceData(b)}
	var n, flags uint32
	err := windows.WSARecv(w.sockets[flow], &buf, 1, &n, &flags, nil, nil)
	return received(int(n), len(b), err)
}

func (w *winWire) SetTimeout(patience time.Duration) error {
	w.patience = patience
	return nil
}

// Segment is not supported: the system's own segmentation (UDP_SEND_MSG_SIZE) was never tried.
func (*winWire) Segment(int) (int, error) {
	return 1, fmt.Errorf("%w on Windows", ErrOffload)
}

func (w *winWire) State() UDPState {
	h := w.sockets[0]
	s := UDPState{UnknownPeers: w.foreign,
		SendBuffer: socketOption(h, windows.SOL_SOCKET, windows.SO_SNDBUF), ReceiveBuffer: socketOption(h, windows.SOL_SOCKET, windows.SO_RCVBUF)}
	local, err := winLocal(h)
	switch {
	case err != nil:
		return s
	case local.Addr().Is6():
		s.MTU = socketOption(h, windows.IPPROTO_IPV6, ipv6MTU)
	default:
		s.MTU = socketOption(h, windows.IPPROTO_IP, ipMTU)
	}
	if s.MTU <= 0 {
		s.MTU = deviceMTU(net.IP(local.Addr().AsSlice()))
	}
	return s
}

func (w *winWire) Messenger(flow int) Messenger {
	return &winMessenger{w, flow, waitMilliseconds(w.patience)}
}

// winMessenger sends and receives single datagrams of a flow.
type winMessenger struct {
	w    *winWire
	flow int
	wait func(windows.Handle) (bool, error)
}

func (m *winMessenger) Send(b []byte) (int, error) { return len(b), m.w.SendOne(m.flow, b) }

func (m *winMessenger) Recv(b []byte) (int, error) {
	if m.w.in == nil {
		if n, err := m.w.receiveNow(m.flow, b); !IsAgain(err) {
			return n, err
		}
		if ready, err := poll(m.w.fds[m.flow:m.flow+1], m.w.patience); err != nil || ready == 0 {
			return 0, errors.Join(err, ErrAgain)
		}
		return m.w.receiveNow(m.flow, b)
	}
	n, err := receiveFrom(m.w.in, m.w.sockets[0], b, m.wait)
	if err == nil && m.w.peers != nil {
		var flow int
		if flow, err = m.w.flowOf(); err == nil && flow != m.flow {
			err = ErrAgain
		}
	}
	return n, err
}
