// Package tcp makes the traffic of the workloads over TCP: tcp_stream, tcp_rr and
// tcp_crr. Their hot loops run on locked threads over sockets of their own, allocate
// nothing and count into memory that was set aside before.
package tcp

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// path is how the workloads reach and drive their connections over one network: the
// fast one in loops of system calls of their own, the portable one in goroutines.
// Their hot loops have nothing in common, so each path brings its own.
type path struct {
	name string
	net  socket.TCP

	// request drives the client's flows of tcp_rr through one window.
	request func(ctx context.Context, c conns, w *rrWindow) error
	// respond answers on all flows of tcp_rr until the client has closed them, and
	// gives how many requests it answered.
	respond func(ctx context.Context, c conns, p traffic.Params) (int64, error)

	// runCRR drives the client's flows of tcp_crr through one window, each a
	// connection at a time to addr.
	runCRR func(ctx context.Context, addr netip.AddrPort, w *crrWindow) error
	// serveCRR serves the connections of tcp_crr that show the tag until the control
	// connection ends.
	serveCRR func(ctx context.Context, l *admitter, control socket.Stream, t crrTrial) (crrServed, error)

	// threads drives the connections of tcp_stream by threads of the operating
	// system. Nil gives each connection a goroutine.
	threads *threads
}

// threads is how threads of the operating system drive connections.
type threads struct {
	// threadedStream is the shortest way through s for an end of so many threads.
	threadedStream func(s socket.Stream, threads int) threadStream
	// driveGroup drives a group of connections by the calling thread until all of
	// them are done.
	driveGroup func(ctx context.Context, over *atomic.Bool, group []*streamEnd) error
}

// threadStream is a stream that knows how to deal with the thread that drives it.
type threadStream interface {
	socket.Stream
	// Pause puts the thread to sleep, at little cost.
	Pause(d time.Duration)
	// Yield lets other threads of its CPU go first.
	Yield()
}

func portablePath() path {
	return path{name: "portable", net: socket.Portable{}, request: requestPortable, respond: respondPortable, runCRR: runCRRPortable, serveCRR: serveCRRPortable}
}

func optionsOf(p traffic.Params) socket.TCPOptions {
	return socket.TCPOptions{NoDelay: p.NoDelay, Congestion: p.Congestion, SendBuffer: p.SendBuffer, ReceiveBuffer: p.ReceiveBuffer}
}

// All are the workloads over TCP, by the fastest path of this system.
func All() []traffic.Workload { return over(fastest()) }

// Portable are those by the path that every system has.
func Portable() []traffic.Workload { return over(portablePath()) }

func over(n path) []traffic.Workload { return []traffic.Workload{stream{n}, rr{n}, crr{n}} }
