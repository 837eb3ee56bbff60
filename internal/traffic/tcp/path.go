// Package tcp implements the workloads over TCP: tcp_stream, tcp_rr, tcp_crr and tcp_dns. Their inner loops
// run on locked threads with their own sockets, allocate nothing, and count in preallocated memory.
package tcp

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/socket"
)

// path is one implementation of the connections and loops of all workloads: that of Linux with its
// own system calls, those of other systems with goroutines. The inner loops differ entirely, so each
// path has its own.
type path struct {
	name string
	net  socket.TCP

	// request runs the client's flows of tcp_rr for one window.
	request func(ctx context.Context, c connection.List, w *rrWindow) error
	// respond answers on all flows of tcp_rr until the client has closed them, and returns the
	// number of requests it answered. Content may be nil.
	respond func(ctx context.Context, c connection.List, p traffic.Params, in content) (int64, error)

	// runCRR runs the client's flows of tcp_crr for one window, each with one connection to addr at
	// a time.
	runCRR func(ctx context.Context, addr netip.AddrPort, w *crrWindow) error
	// serveCRR serves the connections of tcp_crr with the right tag until the control connection
	// ends.
	serveCRR func(ctx context.Context, l *admitter, control socket.Stream, t crrTrial) (crrServed, error)

	// threads drives the connections of tcp_stream with operating system threads. Nil gives each
	// connection a goroutine.
	threads *threads
}

// threads is how operating system threads drive connections.
type threads struct {
	// threadedStream returns the implementation of s with the least overhead for an endpoint with
	// that many threads.
	threadedStream func(s socket.Stream, threads int) threadStream
	// driveGroup drives a group of connections on the calling thread until all of them are done.
	driveGroup func(ctx context.Context, over *atomic.Bool, group []*streamEnd) error
}

// threadStream is a stream with control over the thread that drives it.
type threadStream interface {
	socket.Stream
	// Pause puts the thread to sleep at a low cost.
	Pause(d time.Duration)
}

// portablePath has the loops of goroutines over any sockets.
func portablePath(name string, over socket.TCP) path {
	return path{name: name, net: over, request: requestPortable, respond: respondPortable, runCRR: runCRRPortable(over), serveCRR: serveCRRPortable}
}

// All returns the workloads over TCP with the fastest implementation on this system.
func All() []traffic.Workload { return over(fastest()) }

func over(n path) []traffic.Workload {
	return []traffic.Workload{stream{n}, rr{n}, crr{n}, dnsQueries{rr{n}}}
}
