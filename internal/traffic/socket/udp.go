package socket

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// UDP opens the UDP sockets of a workload.
type UDP interface {
	ListenUDP(address string, o UDPOptions) (UDPPort, error)
	// DialUDP opens the sockets of all flows, each with its own port.
	DialUDP(to netip.AddrPort, o UDPOptions) (UDPWire, error)
	// Sleeper prepares the calling thread for precise sleeps and returns a sleep function. A sleep
	// may end early.
	Sleeper() func(time.Duration)
}

// UDPOptions are the options of the UDP sockets of one endpoint.
type UDPOptions struct {
	Flows         int  // at least one is opened
	Longest       int  // size of the longest datagram to receive, bytes
	Offload       bool // receive offload: super-packets
	Fragment      bool // let IP fragment what exceeds the path MTU
	SendBuffer    int  // bytes, -1 leaves it to the kernel
	ReceiveBuffer int  // bytes, -1 leaves it to the kernel
}

// UDPPort is a server's open port, which receives from any sender.
type UDPPort interface {
	Port
	// Receive waits for one datagram. It returns ErrAgain when it times out.
	Receive(b []byte) (int, netip.AddrPort, error)
	Answer(b []byte, to netip.AddrPort) error
	// Connect opens the sockets of the flows, each connected to its peer. The port stays open until
	// the wire is closed.
	Connect(peers []netip.AddrPort) (UDPWire, error)
}

// UDPWire is the sockets of all flows of one endpoint, for use by one thread.
type UDPWire interface {
	bulkSender
	bulkReceiver
	// Messenger sends and receives single datagrams of a flow.
	Messenger(flow int) Messenger
	// State returns the state of the open sockets.
	State() UDPState
	Close()
}

// bulkSender sends many datagrams per call.
type bulkSender interface {
	// Attach allocates what sending from out needs. Call it again after out.Group has changed.
	Attach(out *Outbox)
	// Send passes n datagrams of the outbox, from index from on, to the kernel on one flow. The
	// first must start a super-packet. It returns how many the kernel accepted, and ErrAgain when
	// it timed out for lack of buffer space.
	Send(flow int, out *Outbox, from, n int) (int, error)
	// SendOne sends one datagram on a flow.
	SendOne(flow int, b []byte) error
	// Segment turns on segmentation into datagrams of size bytes, and returns how many datagrams
	// one super-packet may have.
	Segment(size int) (int, error)
}

// bulkReceiver receives many datagrams per call.
type bulkReceiver interface {
	// Receive waits for datagrams of any one flow, and returns ErrAgain if there are none. With
	// in.NonBlocking it does not wait, if the implementation supports that.
	Receive(in *Inbox) error
	// ReceiveWithin is Receive, but waits no longer than d, to the precision of the system's timers.
	ReceiveWithin(in *Inbox, d time.Duration) error
	// SetTimeout sets how long Receive waits.
	SetTimeout(patience time.Duration) error
}

// Messenger sends and receives single datagrams. It returns ErrAgain when it times out. The fast
// implementation bypasses the Go scheduler.
type Messenger interface {
	Send(b []byte) (int, error)
	Recv(b []byte) (int, error)
}

// UDPState is the state of the sockets of one endpoint.
type UDPState struct {
	SendBuffer    int    // granted to flow 0, bytes, 0 unknown
	ReceiveBuffer int    // granted to flow 0, bytes, 0 unknown
	MTU           int    // of the path of flow 0, 0 unknown
	Coalesced     bool   // receive offload is active
	Dropped       *int64 // datagrams that the kernel dropped at all sockets, nil if unknown
	UnknownPeers  int64  // datagrams that arrived at the port from other senders
}

// Outbox is the datagrams of one send call, in one block of memory.
type Outbox struct {
	Mem   []byte
	Size  int // bytes of a datagram
	Group int // datagrams in one super-packet, 1 without segmentation
}

// datagram returns the i-th datagram.
func (o *Outbox) datagram(i int) []byte { return o.Mem[i*o.Size : (i+1)*o.Size : (i+1)*o.Size] }

// Inbox is what one receive call returned, all of one flow.
type Inbox struct {
	NonBlocking  bool     // do not wait
	Flow         int      // -1 for an unknown peer
	N            int      // how many of Bufs are filled
	Bufs         [][]byte // memory for one packet each
	Sizes        []int    // bytes in each
	SegmentSizes []int    // bytes of each datagram in a super-packet, the last may be shorter; 0 for a single datagram
}

// Batch is the most packets per call.
const Batch = 64

// The largest packet, and how many of that size one call may return.
const (
	superSize  = 1 << 16
	SuperBatch = 16
)

// NewInbox returns an inbox for datagrams of up to longest bytes. It can detect longer ones.
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

// MaxPayload is the largest payload of a datagram over IPv4 in bytes.
const MaxPayload = 65507

// ErrOffload means that the kernel or the path does not support UDP segmentation.
var ErrOffload = errors.New("no UDP segmentation offload")

// ErrSegments means that a super-packet has more datagrams than the kernel accepts.
var ErrSegments = errors.New("too many segments")

// ErrTooLong means that a datagram exceeds the path MTU and must not be fragmented.
var ErrTooLong = errors.New("datagram too long")

// ErrRefused means that the peer's kernel reported that the port is closed.
var ErrRefused = errors.New("connection refused")

// PacketConn is a connected UDP socket with deadlines.
type PacketConn interface {
	net.Conn
	syscall.Conn
}
