package socket

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmsghdr is struct mmsghdr, which package unix lacks.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [unsafe.Sizeof(uintptr(0)) - 4]byte // alignment of a pointer
}

// controlSize has space for the one control message of GRO: the size of a segment.
const controlSize = 32

// fastWire has one connected blocking socket per flow. With one flow a call waits on its socket,
// with several on an epoll of all.
type fastWire struct {
	fds    []int
	poll   int   // epoll, -1 with one flow
	ready  []int // flows that epoll reported and that are not yet read
	events []unix.EpollEvent
	wait   time.Duration // of epoll
	gro    bool
	// polls is set where recvmmsg does not know MSG_WAITFORONE, as on gVisor: the first datagram is
	// waited for by a poll.
	polls bool
	// listening is the server's port, -1 at the client.
	listening int
	peers     []netip.AddrPort // of the flows, at the server
	foreign   int64

	outVec []unix.Iovec
	outMsg []mmsghdr
	in     *Inbox // which the next three belong to
	inVec  []unix.Iovec
	inMsg  []mmsghdr
	inCtl  [][controlSize]byte
}

func newFastWire(fds []int, o UDPOptions) (*fastWire, error) {
	w := &fastWire{fds: fds, poll: -1, listening: -1, wait: PollTimeout, gro: o.Offload}
	if len(fds) == 1 {
		return w, nil
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wait for %d flows: %w", len(fds), err)
	}
	w.poll = ep
	w.events = make([]unix.EpollEvent, min(len(fds), Batch))
	w.ready = make([]int, 0, Batch)
	for i, fd := range fds {
		if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			unix.Close(ep)
			return nil, fmt.Errorf("wait for %d flows: %w", len(fds), err)
		}
	}
	return w, nil
}

func (w *fastWire) Close() {
	for _, fd := range w.fds {
		unix.Close(fd)
	}
	if w.poll >= 0 {
		unix.Close(w.poll)
	}
	if w.listening >= 0 {
		unix.Close(w.listening)
	}
}

// Attach points a vector at each packet of the outbox.
func (w *fastWire) Attach(out *Outbox) {
	packet := out.Size * out.Group
	n := (len(out.Mem) + packet - 1) / packet
	w.outVec, w.outMsg = make([]unix.Iovec, n), make([]mmsghdr, n)
	for i := range n {
		w.outVec[i].Base = &out.Mem[i*packet]
		w.outMsg[i].hdr.Iov = &w.outVec[i]
		w.outMsg[i].hdr.SetIovlen(1)
	}
}

func (w *fastWire) Send(flow int, out *Outbox, from, n int) (int, error) {
	first := from / out.Group
	packets := first
	for left := n; left > 0; left -= out.Group {
		w.outVec[packets].SetLen(min(left, out.Group) * out.Size)
		packets++
	}
	sent, err := mmsg(unix.SYS_SENDMMSG, w.fds[flow], w.outMsg[first:packets], 0)
	if err != nil {
		if out.Group > 1 && errors.Is(err, unix.EINVAL) {
			err = ErrSegments
		}
		return 0, err
	}
	return min(sent*out.Group, n), nil
}

func (w *fastWire) Receive(in *Inbox) error {
	in.N = 0
	if w.poll < 0 {
		if in.NonBlocking {
			return w.receiveOn(0, in, unix.MSG_DONTWAIT)
		}
		return w.receiveFirst(in)
	}
	if len(w.ready) == 0 {
		wait := int(w.wait.Milliseconds())
		if in.NonBlocking {
			wait = 0
		}
		// Like the calls on one socket, it bypasses the Go scheduler: its way back from a system call
		// that blocked would be part of each round trip.
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(w.poll), uintptr(unsafe.Pointer(&w.events[0])), uintptr(len(w.events)), uintptr(wait), 0, 0)
		if errno != 0 {
			return udpError(errno)
		}
		if n == 0 {
			return ErrAgain
		}
		for _, e := range w.events[:n] {
			w.ready = append(w.ready, int(e.Fd))
		}
	}
	last := len(w.ready) - 1
	flow := w.ready[last]
	w.ready = w.ready[:last]
	return w.receiveOn(flow, in, unix.MSG_DONTWAIT)
}

// receiveFirst waits for a datagram of the only flow, and receives what else is there.
func (w *fastWire) receiveFirst(in *Inbox) error {
	if !w.polls {
		err := w.receiveOn(0, in, unix.MSG_WAITFORONE)
		if !errors.Is(err, unix.EINVAL) {
			return err
		}
		w.polls = true
	}
	if ready, err := PollFD(w.fds[0], unix.POLLIN, w.wait); !ready {
		return cmp.Or(err, ErrAgain)
	}
	return w.receiveOn(0, in, unix.MSG_DONTWAIT)
}

// ReceiveWithin waits with ppoll, whose timeout is finer than that of the sockets and of epoll.
func (w *fastWire) ReceiveWithin(in *Inbox, d time.Duration) error {
	in.N = 0
	if len(w.ready) == 0 {
		fd := w.poll
		if fd < 0 {
			fd = w.fds[0]
		}
		if ready, err := PollFD(fd, unix.POLLIN, min(d, PollTimeout)); !ready {
			if err == nil {
				err = ErrAgain
			}
			return err
		}
	}
	waits := in.NonBlocking
	in.NonBlocking = true
	err := w.Receive(in)
	in.NonBlocking = waits
	return err
}

func (w *fastWire) receiveOn(flow int, in *Inbox, flags uintptr) error {
	if w.in != in {
		w.prepare(in)
	}
	if w.gro {
		for i := range w.inMsg {
			w.inMsg[i].hdr.SetControllen(controlSize)
		}
	}
	n, err := mmsg(unix.SYS_RECVMMSG, w.fds[flow], w.inMsg, flags)
	if err != nil {
		return err
	}
	in.Flow, in.N = flow, n
	for i := range n {
		in.Sizes[i], in.SegmentSizes[i] = int(w.inMsg[i].len), 0
		if w.gro {
			in.SegmentSizes[i] = segmentSize(&w.inMsg[i].hdr, &w.inCtl[i])
		}
	}
	return nil
}

func (w *fastWire) prepare(in *Inbox) {
	n := len(in.Bufs)
	w.in = in
	w.inVec, w.inMsg, w.inCtl = make([]unix.Iovec, n), make([]mmsghdr, n), make([][controlSize]byte, n)
	for i := range n {
		w.inVec[i].Base = &in.Bufs[i][0]
		w.inVec[i].SetLen(len(in.Bufs[i]))
		w.inMsg[i].hdr.Iov = &w.inVec[i]
		w.inMsg[i].hdr.SetIovlen(1)
		if w.gro {
			w.inMsg[i].hdr.Control = &w.inCtl[i][0]
		}
	}
}

// segmentSize returns the segment size that GRO reports for a packet, 0 for a single datagram.
func segmentSize(h *unix.Msghdr, ctl *[controlSize]byte) int {
	if h.Controllen < unix.SizeofCmsghdr+4 {
		return 0
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(ctl))
	if c.Level != unix.SOL_UDP || c.Type != unix.UDP_GRO {
		return 0
	}
	return int(*(*int32)(unsafe.Pointer(&ctl[unix.SizeofCmsghdr])))
}

// mmsg calls sendmmsg or recvmmsg.
func mmsg(call uintptr, fd int, m []mmsghdr, flags uintptr) (int, error) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), flags, 0, 0)
	if errno != 0 {
		return 0, udpError(errno)
	}
	return int(n), nil
}

// udpError maps errors of a UDP socket to those that workloads handle.
func udpError(err error) error {
	switch {
	// No memory at the moment: handle it like a full socket buffer.
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOBUFS):
		return ErrAgain
	case errors.Is(err, unix.ECONNREFUSED):
		return ErrRefused
	case errors.Is(err, unix.EMSGSIZE):
		return ErrTooLong
	case errors.Is(err, unix.EIO):
		return ErrOffload
	}
	return err
}

func (w *fastWire) SetTimeout(patience time.Duration) error {
	w.wait = patience
	for _, fd := range w.fds {
		if err := SetTimeout(fd, patience); err != nil {
			return err
		}
	}
	return nil
}

func (w *fastWire) SendOne(flow int, b []byte) error {
	_, err := unix.SendmsgN(w.fds[flow], b, nil, nil, 0)
	return udpError(err)
}

func (w *fastWire) Messenger(flow int) Messenger { return fastMessenger(w.fds[flow]) }

// fastMessenger bypasses the Go scheduler, like the messenger of a TCP stream.
type fastMessenger int

func (m fastMessenger) Send(b []byte) (int, error) {
	n, err := Send(int(m), b)
	return n, messageError(err)
}

func (m fastMessenger) Recv(b []byte) (int, error) {
	n, err := Recv(int(m), b)
	return n, messageError(err)
}

// messageError is udpError without its cost where there is no error.
func messageError(err error) error {
	if err == nil {
		return nil
	}
	return udpError(err)
}

// maxSegments is the most datagrams per super-packet of any kernel. Older kernels allow 64.
const maxSegments = 128

// Segment sets the socket option. How many datagrams this kernel and path allow only shows when the
// first super-packet is sent.
func (w *fastWire) Segment(size int) (int, error) {
	for _, fd := range w.fds {
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, size); err != nil {
			return 1, fmt.Errorf("%w: set UDP_SEGMENT: %w", ErrOffload, err)
		}
	}
	return min(maxSegments, MaxPayload/size), nil
}

func (w *fastWire) State() UDPState {
	s := UDPState{Coalesced: w.gro, Dropped: w.dropped(), UnknownPeers: w.unknownPeers()}
	fd := w.fds[0]
	// Values that cannot be read stay unknown.
	s.SendBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	s.ReceiveBuffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	s.MTU, _ = unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU)
	if local, err := unix.Getsockname(fd); err == nil {
		if _, six := local.(*unix.SockaddrInet6); six {
			s.MTU, _ = unix.GetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
		}
	}
	return s
}

// The number of values of SO_MEMINFO, and the index of the drops among them (linux/sock_diag.h).
// They are read before a socket is closed. SO_RXQ_OVFL is not used: it arrives with a datagram and
// so does not report drops after the last one.
const (
	meminfoVars  = 9
	meminfoDrops = 8
)

// dropped returns the number of datagrams that the kernel has dropped at the sockets of the flows,
// nil if unknown.
func (w *fastWire) dropped() *int64 { return drops(w.fds...) }

// drops returns the number of datagrams that the kernel has dropped at sockets, nil if unknown.
func drops(fds ...int) *int64 {
	var sum int64
	for _, fd := range fds {
		var vars [meminfoVars]uint32
		size := uint32(unsafe.Sizeof(vars))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&vars[0])), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 || size < 4*meminfoVars {
			return nil // before Linux 4.12
		}
		sum += int64(vars[meminfoDrops])
	}
	return &sum
}

// unknownPeers counts datagrams that arrived at the port from other senders.
func (w *fastWire) unknownPeers() int64 {
	if w.listening < 0 {
		return w.foreign
	}
	var b [1]byte
	for range maxUnknownPeers {
		_, from, err := unix.Recvfrom(w.listening, b[:], unix.MSG_DONTWAIT)
		if err != nil {
			break
		}
		// What a peer repeated before its flow was connected is not from others.
		if !slices.Contains(w.peers, addrPort(from)) {
			w.foreign++
		}
	}
	all := w.foreign
	if n := drops(w.listening); n != nil {
		all += *n
	}
	return all
}

// maxUnknownPeers bounds how many datagrams of unknown peers are read at once, because more may
// arrive meanwhile.
const maxUnknownPeers = 1 << 16

// DialUDP opens a connected socket for each flow.
func (Fast) DialUDP(to netip.AddrPort, o UDPOptions) (UDPWire, error) {
	var fds []int
	for range max(1, o.Flows) {
		fd, err := openUDP(to, o)
		if err == nil {
			fds = append(fds, fd)
			err = unix.Connect(fd, sockaddr(to))
		}
		if err != nil {
			closeAll(fds)
			return nil, fmt.Errorf("open flow %d to %s: %w", len(fds), to, err)
		}
	}
	w, err := newFastWire(fds, o)
	if err != nil {
		closeAll(fds)
		return nil, err
	}
	return w, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
