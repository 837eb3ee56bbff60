package traffic

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"
)

// path is how the workloads reach and drive their connections over one network: the
// fast one in loops of system calls of their own, the portable one in goroutines.
// Their hot loops have nothing in common, so each path brings its own.
type path struct {
	name string
	net  tcpNetwork

	// request drives the client's flows of tcp_rr through one window.
	request func(ctx context.Context, c conns, w *rrWindow) error
	// respond answers on all flows of tcp_rr until the client has closed them, and
	// gives how many requests it answered.
	respond func(ctx context.Context, c conns, p Params) (int64, error)

	// cycle drives the client's flows of tcp_crr through one window, each a
	// connection at a time to addr.
	cycle func(ctx context.Context, addr netip.AddrPort, w *crrWindow) error
	// answer serves the connections of tcp_crr that show the tag until the control
	// connection ends.
	answer func(ctx context.Context, l *listener, control stream, t crrTrial) (crrAnswered, error)

	// threads drives the connections of tcp_stream by threads of the operating
	// system. Nil gives each connection a goroutine.
	threads *threads
}

// threads is how threads of the operating system drive connections.
type threads struct {
	// bulk is the shortest way through s for an end of so many threads.
	bulk func(s stream, threads int) threadStream
	// several drives a group of connections by the calling thread until all of
	// them are done.
	several func(ctx context.Context, over *atomic.Bool, group []*streamEnd) error
}

// threadStream is a stream that knows how to deal with the thread that drives it.
type threadStream interface {
	stream
	// pause puts the thread to sleep, at little cost.
	pause(d time.Duration)
	// yield lets other threads of its CPU go first.
	yield()
}

func portablePath() path {
	return path{name: "portable", net: portable{}, request: requestPortable, respond: respondPortable, cycle: cyclePortable, answer: answerPortable}
}

func tcpOptionsOf(p Params) tcpOptions {
	return tcpOptions{NoDelay: p.NoDelay, Congestion: p.Congestion, SendBuffer: p.SendBuffer, ReceiveBuffer: p.ReceiveBuffer}
}

// tcpAll are the workloads over TCP, by the fastest path of this system.
func tcpAll() []Workload { return tcpWorkloads(fastestPath()) }

// tcpPortable are those by the path that every system has.
func tcpPortable() []Workload { return tcpWorkloads(portablePath()) }

func tcpWorkloads(n path) []Workload { return []Workload{tcpStream{n}, tcpRR{n}, tcpCRR{n}} }
