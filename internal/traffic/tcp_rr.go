package traffic

import (
	"context"
	"fmt"
	"time"

	"tare/internal/result"
	"tare/internal/study"
)

// tcpRR exchanges one byte each way over one connection, the next request as
// soon as the response is there: netperf's TCP_RR in its plainest form.
type tcpRR struct{ net network }

// rrSlice is long beside what an exchange takes, and short beside the seconds
// within which the speed of a virtual machine wavers.
const rrSlice = study.Duration(10 * time.Millisecond)

func (tcpRR) Spec() Spec {
	return Spec{Title: "TCP request/response", WorkloadSpec: study.WorkloadSpec{
		Kind:   "tcp_rr",
		Params: []string{"family", "congestion_control", "send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"},
		Defaults: study.Workload{
			Family: study.IPv4, Congestion: "cubic", SendBuffer: study.Auto, ReceiveBuffer: study.Auto, Placement: study.OneCore,
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: study.Duration(200 * time.Millisecond), Duration: study.Duration(1250 * time.Millisecond), Slice: rrSlice},
			study.Standard: {Warmup: study.Duration(300 * time.Millisecond), Duration: study.Duration(time.Second), Slice: rrSlice},
			study.Paper:    {Warmup: study.Duration(time.Second), Duration: study.Duration(30 * time.Second)},
		},
	}}
}

func (w tcpRR) Listen(p Params) (Server, error) {
	p = onlyFlow(p)
	// Its slices share one connection, and the server cannot tell them apart.
	p.Rounds = 0
	return listenTCP(w.net, p, respond)
}

func (w tcpRR) Dial(ctx context.Context, p Params, _ Peer) (Report, error) {
	s, err := w.dial(ctx, p)
	if err != nil {
		return Report{}, err
	}
	err = s.drive(ctx, p.Warmup, p.Duration)
	return s.Close(), err
}

func (w tcpRR) Open(ctx context.Context, p Params) (Session, error) {
	s, err := w.dial(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.drive(ctx, p.Warmup, 0); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (w tcpRR) dial(ctx context.Context, p Params) (*rrSession, error) {
	p = onlyFlow(p)
	s := &rrSession{p: p, hist: NewDistribution(), restore: quiet()}
	c, err := connect(ctx, w.net, p)
	if err != nil {
		s.restore()
		return nil, err
	}
	s.c = c
	return s, nil
}

// onlyFlow fixes what is not a parameter of tcp_rr.
func onlyFlow(p Params) Params {
	p.Streams, p.NoDelay = 1, true
	return p
}

func (tcpRR) Metrics(_ Params, client, _ Report) (map[string]float64, *result.Series) {
	w := client.Window
	m := map[string]float64{"transaction_rate": float64(w.Messages) / w.Seconds}
	// No exchange in the window leaves the round trip unknown, not 0.
	if w.Messages > 0 {
		m["rtt_p50"], m["rtt_p99"] = w.RTT.Quantile(0.5), w.RTT.Quantile(0.99)
	}
	return m, &result.Series{Metric: "transaction_rate", Interval: w.Interval, Values: w.Series}
}

// rrSession is the client, which owns the clock.
type rrSession struct {
	c       conns
	p       Params
	hist    *Distribution
	total   int64         // exchanges, counted or not
	driven  time.Duration // with traffic flowing
	window  Window
	restore func()
}

func (s *rrSession) Slice(ctx context.Context, d time.Duration) error {
	warmup := d / SliceWarmup
	return s.drive(ctx, warmup, d-warmup)
}

// drive exchanges for warmup + long and counts what ends in the latter.
func (s *rrSession) drive(ctx context.Context, warmup, long time.Duration) error {
	p := Params{Warmup: warmup, Duration: long}
	b := newBook(p)
	err := onThreads(1, s.p.CPU, func(int) error {
		over, stop := givenUp(ctx)
		defer stop()
		start, sent := time.Now(), time.Duration(0)
		for sent < b.end {
			if err := exchange(ctx, direct(s.c[0])); err != nil {
				return err
			}
			if over.Load() {
				return context.Cause(ctx)
			}
			at := time.Since(start)
			b.add(at, 1)
			// The next request leaves at once, so one reading of the clock
			// ends an exchange and begins the next.
			if sent >= b.warmup && at < b.end {
				s.hist.Record(at - sent)
			}
			sent = at
		}
		s.driven += sent
		return nil
	})
	if err != nil {
		return err
	}
	s.total += b.total
	s.window.Messages += b.window
	s.window.Seconds += long.Seconds()
	if long > 0 {
		s.window.Series = append(s.window.Series, series(p, []*book{b})...)
		s.window.Interval = min(SeriesInterval, long).Seconds()
	}
	return nil
}

func (s *rrSession) Close() Report {
	defer s.restore()
	defer s.c.close()
	r := Report{CPU: s.p.CPU, Traffic: s.driven.Seconds(), Messages: s.total, Sent: s.total, Received: s.total, Window: s.window}
	s.c.describe(&r)
	r.Window.RTT = s.hist
	return r
}

// direct is the shortest way through a stream for small messages.
func direct(s stream) messenger {
	if m, ok := s.(messenger); ok {
		return m
	}
	return unhurried{s}
}

// unhurried is a stream without a shorter way.
type unhurried struct{ stream }

func (u unhurried) send(b []byte) (int, error) { return u.write(b) }
func (u unhurried) recv(b []byte) (int, error) { return u.read(b) }

func exchange(ctx context.Context, m messenger) error {
	var b [1]byte
	if _, err := moveByte(ctx, m.send, &b); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	more, err := moveByte(ctx, m.recv, &b)
	if err != nil {
		return fmt.Errorf("receive response: %w", err)
	}
	if !more {
		return fmt.Errorf("receive response: the server closed the connection")
	}
	return nil
}

// respond is the server: it echoes until the client closes.
func respond(ctx context.Context, c conns, p Params) (Report, error) {
	defer c.close()
	var n int64
	start := time.Now()
	err := onThreads(1, p.CPU, func(int) error {
		var b [1]byte
		m := direct(c[0])
		over, stop := givenUp(ctx)
		defer stop()
		for {
			if over.Load() {
				return context.Cause(ctx)
			}
			more, err := moveByte(ctx, m.recv, &b)
			if err != nil {
				return fmt.Errorf("receive request: %w", err)
			}
			if !more {
				return nil
			}
			if _, err := moveByte(ctx, m.send, &b); err != nil {
				return fmt.Errorf("send response: %w", err)
			}
			n++
		}
	})
	if err != nil {
		return Report{}, err
	}
	r := Report{CPU: p.CPU, Traffic: time.Since(start).Seconds(), Messages: n, Sent: n, Received: n}
	c.describe(&r)
	return r, nil
}

// moveByte sends or receives one byte and reports whether the peer is still there.
func moveByte(ctx context.Context, move func([]byte) (int, error), b *[1]byte) (more bool, err error) {
	for {
		n, err := move(b[:])
		switch {
		case err == nil:
			return n == 1, nil
		case !again(err):
			return false, err
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
	}
}
