package tcp

import (
	"context"
	"fmt"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/thread"
)

// stream sends as much as TCP accepts, or at a requested rate, over one or more connections, in one
// direction or both. Goodput is counted at the receiver.
type stream struct{ path path }

// The threads of Spec need the fast implementation. The portable one gives each connection a
// goroutine; a trial that requested threads then has the note threads_not_set.
func (stream) Spec() traffic.Spec {
	on := true
	return traffic.Spec{Title: "TCP bulk transfer", StandsFor: "a backup, an image, replication: bulk over one connection or several", WorkloadSpec: study.WorkloadSpec{
		Kind:   "tcp_stream",
		Metric: "goodput",
		Bulk:   true,
		Params: []string{"streams", "write_size", "rate", "no_delay", "direction", "family", "congestion_control",
			"send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"},
		Optional:   []string{"threads", "pairs", "tool", "verify_with"},
		Directions: []string{study.Forward, study.Reverse, study.Both},
		Defaults: study.Workload{
			Streams: 1, WriteSize: 128 << 10, Rate: quantity.Unlimited, NoDelay: &on, Direction: study.Forward, Family: study.IPv4, Congestion: "cubic",
			// Mostly the values with the least variation of those measured: see
			// bench/README.md.
			SendBuffer: quantity.Buffer(1 << 20), ReceiveBuffer: quantity.Buffer(1 << 20), Placement: study.OneCore,
		},
		// As in the published studies that this profile follows.
		Profiles: map[string]study.Workload{study.Paper: {Streams: 50}},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: quantity.Duration(50 * time.Millisecond), Duration: quantity.Duration(240 * time.Millisecond), Slice: streamSlice},
			study.Standard: {Warmup: quantity.Duration(500 * time.Millisecond), Duration: quantity.Duration(1500 * time.Millisecond), Slice: streamSlice},
			study.Paper:    {Warmup: quantity.Duration(60 * time.Second), Duration: quantity.Duration(60 * time.Second)},
		},
	}}
}

// streamSlice makes each counted 40 ms another connection. Of 10, 25, 50 and 125 ms it gives the narrowest
// intervals for the time (bench/README.md).
const streamSlice = quantity.Duration(50 * time.Millisecond)

// streamLimit is how many threads an endpoint may have if each connection has its own. Beyond it
// the system may refuse the process another thread, which crashes a Go program.
const streamLimit = 2048

// check refuses invalid parameters, and those that this endpoint does not support.
func (w stream) check(p traffic.Params) error {
	switch {
	case p.Streams < 1:
		return fmt.Errorf("tcp_stream: %d streams: use at least 1", p.Streams)
	case p.WriteSize < 1:
		return fmt.Errorf("tcp_stream: writes of %d bytes: use at least 1", p.WriteSize)
	case p.Threads < 0:
		return fmt.Errorf("tcp_stream: %d threads: use at least 1, or 0 for one per connection", p.Threads)
	case p.Warmup < 0 || p.Duration < 0 || p.Slice < 0:
		return fmt.Errorf("tcp_stream: a warm-up of %s and a window of %s: neither may be negative", p.Warmup, p.Duration)
	}
	// The files come first: more threads do not help with those.
	if err := checkFileLimit(connections(p)); err != nil {
		return fmt.Errorf("tcp_stream: %w", err)
	}
	if n := threadCount(p); w.path.threads != nil && n > streamLimit {
		return fmt.Errorf("tcp_stream: %d threads: at most %d; set threads to let that many drive the %d connections", n, streamLimit, connections(p))
	}
	return nil
}

// connections returns the number of connections of a trial: one per stream, or two with payload in
// both directions.
func connections(p traffic.Params) int {
	if p.Both() {
		return 2 * p.Streams
	}
	return p.Streams
}

// threadCount returns the number of threads that drive the connections of one endpoint.
func threadCount(p traffic.Params) int {
	if n := connections(p); p.Threads < 1 || p.Threads > n {
		return n
	}
	return p.Threads
}

func (w stream) Listen(p traffic.Params) (traffic.Server, error) {
	if err := w.check(p); err != nil {
		return nil, err
	}
	own := new(buffers)
	s, err := listen(w.path, p, func(ctx context.Context, c connection.List, p traffic.Params) (traffic.Report, error) {
		return own.transfer(ctx, w.path, c, p, false)
	})
	if err != nil {
		return nil, err
	}
	return streamServer{s, w, p, own}, nil
}

// streamServer adds the notes on the whole trial.
type streamServer struct {
	traffic.Server
	work stream
	p    traffic.Params
	own  *buffers
}

func (s streamServer) Serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	r, err := s.Server.Serve(ctx, peer)
	if err != nil {
		return traffic.Report{}, err
	}
	r.Notes = s.work.notes(s.p, r)
	return r, nil
}

func (w stream) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	if err := w.check(p); err != nil {
		return traffic.Report{}, err
	}
	defer thread.PauseGC()()
	own := new(buffers)
	r, err := w.once(ctx, own, p)
	if err != nil {
		return traffic.Report{}, err
	}
	r.Notes = w.notes(p, r)
	return r, nil
}

// once is the client's part of one transfer, over connections of its own. An error has those that it tried.
func (w stream) once(ctx context.Context, own *buffers, p traffic.Params) (traffic.Report, error) {
	c, tried, err := connect(ctx, w.path, p)
	if err != nil {
		return traffic.Report{}, err
	}
	r, err := own.transfer(ctx, w.path, c, p, true)
	if f, failed := connection.FailureOf(err); failed && ctx.Err() == nil {
		tried.Add(f)
	}
	r.Attempts = &tried.Attempts
	return r, traffic.WithAttempts(err, tried.Attempts)
}

// streamSession transfers each slice over new connections. A connection tends to keep the speed
// that it reached first, and a trial should not depend on that of a single one.
type streamSession struct {
	work    stream
	p       traffic.Params
	own     buffers
	total   traffic.Report
	restore func()
}

func (w stream) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	if err := w.check(p); err != nil {
		return nil, err
	}
	s := &streamSession{work: w, p: p, restore: thread.PauseGC()}
	if err := s.drive(ctx, p.WarmupTransfer()); err != nil {
		s.Close()
		return nil, err
	}
	s.total.Window = traffic.Window{} // the warm-up does not count
	return s, nil
}

func (s *streamSession) Slice(ctx context.Context, d time.Duration) error {
	return s.drive(ctx, s.p.SliceTransfer(d))
}

func (s *streamSession) drive(ctx context.Context, p traffic.Params) error {
	r, err := s.work.once(ctx, &s.own, p)
	if err != nil {
		return traffic.PlusAttempts(err, s.total.Attempts)
	}
	s.total.AddSlice(r)
	return nil
}

// Held is what the path held when the last transfer stopped.
func (s *streamSession) Held() *traffic.Held { return s.total.Held }

func (s *streamSession) Close() traffic.Report {
	s.restore()
	s.total.Notes = s.work.notes(s.p, s.total)
	return s.total
}
