package traffic

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// udpNetwork is how a workload gets its UDP sockets.
type udpNetwork interface {
	listenUDP(p Params) (udpPort, error)
	// dialUDP opens the sockets of all flows, each with a port of its own.
	dialUDP(to netip.AddrPort, p Params) (udpWire, error)
	// sleeper prepares the calling thread to sleep precisely, and gives how. A
	// sleep may end early.
	sleeper() func(time.Duration)
}

// udpPort is a server's open port, which anybody may send to.
type udpPort interface {
	port() uint16
	// receive waits for one datagram, errAgain when patience ran out first.
	receive(b []byte) (int, netip.AddrPort, error)
	answer(b []byte, to netip.AddrPort) error
	// connect makes the flows' sockets, each to the peer that has shown it. The
	// port stays open until the wire is closed.
	connect(peers []netip.AddrPort) (udpWire, error)
	close()
}

// udpWire is one end's sockets of all flows of a trial, for one thread.
type udpWire interface {
	// attach sets aside what sending from out needs; again after a change of its group.
	attach(out *outbox)
	// send hands n datagrams of the outbox to the kernel, on one flow, from the
	// given one on, which begins a super-packet. It says how many the kernel took:
	// errAgain where there was no room for patience.
	send(flow int, out *outbox, from, n int) (int, error)
	// receive waits for datagrams of any one flow. Where it can, it only looks
	// for them if the inbox says so: errAgain is nothing there.
	receive(in *inbox) error
	// prompt makes receive wait less, for the end of a trial.
	prompt(patience time.Duration) error
	// say sends one message of the handshake.
	say(flow int, b []byte) error
	// messenger sends and receives single datagrams of a flow.
	messenger(flow int) messenger
	// segment turns segmentation of what is sent on, in datagrams of size bytes,
	// and says how many one super-packet may have.
	segment(size int) (int, error)
	// state tells of flow 0: granted buffers in bytes and the path MTU, 0 unknown.
	state() udpState
	// coalesced says whether receive offload is in force.
	coalesced() bool
	// dropped is what the kernel threw away at the flows' sockets so far, nil where
	// that is unknown. Of a closed socket nobody knows it.
	dropped() *int64
	// strangers counts what has come to the port from elsewhere.
	strangers() int64
	close()
}

type udpState struct{ sendBuffer, receiveBuffer, mtu int }

// outbox is the datagrams of one call, in one piece of memory.
type outbox struct {
	mem   []byte
	size  int // bytes of a datagram
	group int // datagrams in one super-packet, 1 without segmentation
}

// datagram is the i-th.
func (o *outbox) datagram(i int) []byte { return o.mem[i*o.size : (i+1)*o.size : (i+1)*o.size] }

// inbox is what one call received, all of one flow.
type inbox struct {
	look  bool     // do not wait
	flow  int      // -1 is an unknown peer
	n     int      // how many of bufs are filled
	bufs  [][]byte // room for one packet each
	sizes []int    // bytes in each
	parts []int    // bytes of each datagram in a super-packet, the last may be shorter; 0 is a single one
}

// batch is the most packets of one call.
const batch = 64

// The most that one packet can be, and what one call may bring of those.
const (
	superSize  = 1 << 16
	superBatch = 16
)

// newInbox has room for datagrams of size bytes, and for telling longer ones.
func newInbox(size int, offload bool) *inbox {
	room, n := max(size, maxMessage)+1, batch
	if offload {
		room, n = superSize, superBatch
	}
	in := &inbox{sizes: make([]int, n), parts: make([]int, n)}
	mem := make([]byte, room*n)
	for i := range n {
		in.bufs = append(in.bufs, mem[i*room:(i+1)*room:(i+1)*room])
	}
	return in
}

// errOffload is a kernel or path without UDP segmentation.
var errOffload = errors.New("no UDP segmentation offload")

// errSegments is a super-packet of more datagrams than the kernel takes.
var errSegments = errors.New("too many segments")

// errTooLong is a datagram beyond the path MTU that may not be fragmented.
var errTooLong = errors.New("datagram too long")

// errRefused is a peer's kernel saying that nobody has the port.
var errRefused = errors.New("connection refused")

// checkUDP refuses what no trial over UDP can do.
func checkUDP(p Params, least int) (netip.AddrPort, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	switch {
	case err != nil:
		return addr, fmt.Errorf("%s: %w", p.Kind, err)
	case p.Streams > maxFlows:
		return addr, fmt.Errorf("%s: %d flows; use %d at most", p.Kind, p.Streams, maxFlows)
	case p.PayloadSize < least || p.PayloadSize > maxPayload:
		return addr, fmt.Errorf("%s: a payload of %d bytes; want %d to %d", p.Kind, p.PayloadSize, least, maxPayload)
	case p.Warmup < 0 || p.Duration < 0 || p.Warmup+p.Duration > maxSchedule:
		return addr, fmt.Errorf("%s: a warm-up of %s and a window of %s; want at most %s", p.Kind, p.Warmup, p.Duration, maxSchedule)
	case messageSize+len(p.Token) > maxMessage:
		return addr, fmt.Errorf("%s: a token of %d bytes; want at most %d", p.Kind, len(p.Token), maxMessage-messageSize)
	}
	return addr, nil
}

// The bounds of a trial over UDP: its flows, and what IPv4 can carry.
const (
	maxFlows   = 1000
	maxPayload = 65507
)

// messenger sends and receives single datagrams, errAgain when it ran out of
// patience. The fast one goes past the Go scheduler.
type messenger interface {
	send(b []byte) (int, error)
	recv(b []byte) (int, error)
}
