package socket

import (
	"errors"
	"net/netip"
	"time"
)

// UDP is how a workload gets its UDP sockets.
type UDP interface {
	ListenUDP(address string, o UDPOptions) (UDPPort, error)
	// DialUDP opens the sockets of all flows, each with a port of its own.
	DialUDP(to netip.AddrPort, o UDPOptions) (UDPWire, error)
	// Sleeper prepares the calling thread to sleep precisely, and gives how. A
	// sleep may end early.
	Sleeper() func(time.Duration)
}

// UDPOptions are what the UDP sockets of one end are opened with.
type UDPOptions struct {
	Flows         int  // at least one is opened
	Longest       int  // bytes of the longest datagram that is to be received
	Offload       bool // receive offload: super-packets
	Fragment      bool // let IP fragment what exceeds the path MTU
	SendBuffer    int  // bytes, -1 leaves it to the kernel
	ReceiveBuffer int  // bytes, -1 leaves it to the kernel
}

// UDPPort is a server's open port, which anybody may send to.
type UDPPort interface {
	Port
	// Receive waits for one datagram, ErrAgain when patience ran out first.
	Receive(b []byte) (int, netip.AddrPort, error)
	Answer(b []byte, to netip.AddrPort) error
	// Connect makes the flows' sockets, each to the peer that has shown it. The
	// port stays open until the wire is closed.
	Connect(peers []netip.AddrPort) (UDPWire, error)
}

// UDPWire is one end's sockets of all flows of a trial, for one thread.
type UDPWire interface {
	bulkSender
	bulkReceiver
	// Messenger sends and receives single datagrams of a flow.
	Messenger(flow int) Messenger
	// State is what is known of the sockets so far. Of closed ones nobody knows it.
	State() UDPState
	Close()
}

// bulkSender sends many datagrams at once.
type bulkSender interface {
	// Attach sets aside what sending from out needs; again after a change of its group.
	Attach(out *Outbox)
	// Send hands n datagrams of the outbox to the kernel, on one flow, from the
	// given one on, which begins a super-packet. It says how many the kernel took:
	// ErrAgain where there was no room for patience.
	Send(flow int, out *Outbox, from, n int) (int, error)
	// SendOne sends one datagram on a flow.
	SendOne(flow int, b []byte) error
	// Segment turns segmentation of what is sent on, in datagrams of size bytes,
	// and says how many one super-packet may have.
	Segment(size int) (int, error)
}

// bulkReceiver receives many datagrams at once.
type bulkReceiver interface {
	// Receive waits for datagrams of any one flow. Where it can, it only looks
	// for them if the inbox says so: ErrAgain is nothing there.
	Receive(in *Inbox) error
	// SetTimeout makes receive wait shorter or longer.
	SetTimeout(patience time.Duration) error
}

// Messenger sends and receives single datagrams, ErrAgain when it ran out of
// patience. The fast one goes past the Go scheduler.
type Messenger interface {
	Send(b []byte) (int, error)
	Recv(b []byte) (int, error)
}

// UDPState is what is known of one end's sockets.
type UDPState struct {
	SendBuffer    int    // granted to flow 0, bytes, 0 unknown
	ReceiveBuffer int    // granted to flow 0, bytes, 0 unknown
	MTU           int    // of the path of flow 0, 0 unknown
	Coalesced     bool   // receive offload is in force
	Dropped       *int64 // what the kernel threw away at all sockets, nil where that is unknown
	UnknownPeers  int64  // what has come to the port from elsewhere
}

// Outbox is the datagrams of one call, in one piece of memory.
type Outbox struct {
	Mem   []byte
	Size  int // bytes of a datagram
	Group int // datagrams in one super-packet, 1 without segmentation
}

// datagram is the i-th.
func (o *Outbox) datagram(i int) []byte { return o.Mem[i*o.Size : (i+1)*o.Size : (i+1)*o.Size] }

// Inbox is what one call received, all of one flow.
type Inbox struct {
	NonBlocking  bool     // do not wait
	Flow         int      // -1 is an unknown peer
	N            int      // how many of Bufs are filled
	Bufs         [][]byte // room for one packet each
	Sizes        []int    // bytes in each
	SegmentSizes []int    // bytes of each datagram in a super-packet, the last may be shorter; 0 is a single one
}

// Batch is the most packets of one call.
const Batch = 64

// The most that one packet can be, and what one call may bring of those.
const (
	superSize  = 1 << 16
	SuperBatch = 16
)

// NewInbox has room for datagrams of up to longest bytes, and for telling longer ones.
func NewInbox(longest int, offload bool) *Inbox {
	room, n := longest+1, Batch
	if offload {
		room, n = superSize, SuperBatch
	}
	in := &Inbox{Sizes: make([]int, n), SegmentSizes: make([]int, n)}
	mem := make([]byte, room*n)
	for i := range n {
		in.Bufs = append(in.Bufs, mem[i*room:(i+1)*room:(i+1)*room])
	}
	return in
}

// MaxPayload is what IPv4 can carry in one datagram, bytes.
const MaxPayload = 65507

// ErrOffload is a kernel or path without UDP segmentation.
var ErrOffload = errors.New("no UDP segmentation offload")

// ErrSegments is a super-packet of more datagrams than the kernel takes.
var ErrSegments = errors.New("too many segments")

// ErrTooLong is a datagram beyond the path MTU that may not be fragmented.
var ErrTooLong = errors.New("datagram too long")

// ErrRefused is a peer's kernel saying that nobody has the port.
var ErrRefused = errors.New("connection refused")
