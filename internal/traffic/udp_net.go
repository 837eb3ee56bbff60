package traffic

import (
	"errors"
	"net/netip"
	"time"
)

// udpNetwork is how a workload gets its UDP sockets.
type udpNetwork interface {
	listenUDP(address string, o udpOptions) (udpPort, error)
	// dialUDP opens the sockets of all flows, each with a port of its own.
	dialUDP(to netip.AddrPort, o udpOptions) (udpWire, error)
	// sleeper prepares the calling thread to sleep precisely, and gives how. A
	// sleep may end early.
	sleeper() func(time.Duration)
}

// udpOptions are what the UDP sockets of one end are opened with.
type udpOptions struct {
	Flows         int  // at least one is opened
	Longest       int  // bytes of the longest datagram that is to be received
	Offload       bool // receive offload: super-packets
	Fragment      bool // let IP fragment what exceeds the path MTU
	SendBuffer    int  // bytes, -1 leaves it to the kernel
	ReceiveBuffer int  // bytes, -1 leaves it to the kernel
}

// udpPort is a server's open port, which anybody may send to.
type udpPort interface {
	openPort
	// receive waits for one datagram, errAgain when patience ran out first.
	receive(b []byte) (int, netip.AddrPort, error)
	answer(b []byte, to netip.AddrPort) error
	// connect makes the flows' sockets, each to the peer that has shown it. The
	// port stays open until the wire is closed.
	connect(peers []netip.AddrPort) (udpWire, error)
}

// udpWire is one end's sockets of all flows of a trial, for one thread.
type udpWire interface {
	bulkSender
	bulkReceiver
	// messenger sends and receives single datagrams of a flow.
	messenger(flow int) messenger
	// state is what is known of the sockets so far. Of closed ones nobody knows it.
	state() udpState
	close()
}

// bulkSender sends many datagrams at once.
type bulkSender interface {
	// attach sets aside what sending from out needs; again after a change of its group.
	attach(out *outbox)
	// send hands n datagrams of the outbox to the kernel, on one flow, from the
	// given one on, which begins a super-packet. It says how many the kernel took:
	// errAgain where there was no room for patience.
	send(flow int, out *outbox, from, n int) (int, error)
	// say sends one datagram on a flow.
	say(flow int, b []byte) error
	// segment turns segmentation of what is sent on, in datagrams of size bytes,
	// and says how many one super-packet may have.
	segment(size int) (int, error)
}

// bulkReceiver receives many datagrams at once.
type bulkReceiver interface {
	// receive waits for datagrams of any one flow. Where it can, it only looks
	// for them if the inbox says so: errAgain is nothing there.
	receive(in *inbox) error
	// setPatience makes receive wait shorter or longer.
	setPatience(patience time.Duration) error
}

// messenger sends and receives single datagrams, errAgain when it ran out of
// patience. The fast one goes past the Go scheduler.
type messenger interface {
	send(b []byte) (int, error)
	recv(b []byte) (int, error)
}

// udpState is what is known of one end's sockets.
type udpState struct {
	SendBuffer    int    // granted to flow 0, bytes, 0 unknown
	ReceiveBuffer int    // granted to flow 0, bytes, 0 unknown
	MTU           int    // of the path of flow 0, 0 unknown
	Coalesced     bool   // receive offload is in force
	Dropped       *int64 // what the kernel threw away at all sockets, nil where that is unknown
	Strangers     int64  // what has come to the port from elsewhere
}

// outbox is the datagrams of one call, in one piece of memory.
type outbox struct {
	Mem   []byte
	Size  int // bytes of a datagram
	Group int // datagrams in one super-packet, 1 without segmentation
}

// datagram is the i-th.
func (o *outbox) datagram(i int) []byte { return o.Mem[i*o.Size : (i+1)*o.Size : (i+1)*o.Size] }

// inbox is what one call received, all of one flow.
type inbox struct {
	Look  bool     // do not wait
	Flow  int      // -1 is an unknown peer
	N     int      // how many of Bufs are filled
	Bufs  [][]byte // room for one packet each
	Sizes []int    // bytes in each
	Parts []int    // bytes of each datagram in a super-packet, the last may be shorter; 0 is a single one
}

// batch is the most packets of one call.
const batch = 64

// The most that one packet can be, and what one call may bring of those.
const (
	superSize  = 1 << 16
	superBatch = 16
)

// newInbox has room for datagrams of up to longest bytes, and for telling longer ones.
func newInbox(longest int, offload bool) *inbox {
	room, n := longest+1, batch
	if offload {
		room, n = superSize, superBatch
	}
	in := &inbox{Sizes: make([]int, n), Parts: make([]int, n)}
	mem := make([]byte, room*n)
	for i := range n {
		in.Bufs = append(in.Bufs, mem[i*room:(i+1)*room:(i+1)*room])
	}
	return in
}

// maxPayload is what IPv4 can carry in one datagram, bytes.
const maxPayload = 65507

// errOffload is a kernel or path without UDP segmentation.
var errOffload = errors.New("no UDP segmentation offload")

// errSegments is a super-packet of more datagrams than the kernel takes.
var errSegments = errors.New("too many segments")

// errTooLong is a datagram beyond the path MTU that may not be fragmented.
var errTooLong = errors.New("datagram too long")

// errRefused is a peer's kernel saying that nobody has the port.
var errRefused = errors.New("connection refused")
