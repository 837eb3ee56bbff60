package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/result"
	"tare/internal/study"
)

// tcpStream sends as much as TCP takes over one or more connections, as
// netperf's TCP_STREAM does. Goodput is counted at the receiver.
type tcpStream struct{ net network }

// readSize is what the receiver asks for at once.
const readSize = 128 << 10

// stopByte goes from the receiver to the sender when the receiver's window is
// over. The sender waits for it: the window never ends in silence because the
// two clocks started apart.
const stopByte = 'S'

// DrainWait bounds how long what is still under way may take to arrive.
const DrainWait = 5 * time.Second

// streamSlice has a counted part of one SeriesInterval.
const streamSlice = study.Duration(SeriesInterval * SliceWarmup / (SliceWarmup - 1))

func (tcpStream) Spec() Spec {
	on := true
	return Spec{Title: "TCP bulk transfer", WorkloadSpec: study.WorkloadSpec{
		Kind: "tcp_stream",
		Bulk: true,
		Params: []string{"streams", "write_size", "no_delay", "direction", "family", "congestion_control",
			"send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"},
		Defaults: study.Workload{
			Streams: 1, WriteSize: 128 << 10, NoDelay: &on, Direction: study.Forward, Family: study.IPv4, Congestion: "cubic",
			// Mostly the steadiest of what was tried: see docs/performance.md.
			SendBuffer: 1 << 20, ReceiveBuffer: 1 << 20, Placement: study.OneCore,
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: study.Duration(100 * time.Millisecond), Duration: study.Duration(1500 * time.Millisecond), Slice: streamSlice},
			study.Standard: {Warmup: study.Duration(500 * time.Millisecond), Duration: study.Duration(4 * time.Second), Slice: streamSlice},
			study.Paper:    {Warmup: study.Duration(60 * time.Second), Duration: study.Duration(60 * time.Second)},
		},
	}}
}

func (w tcpStream) Listen(p Params) (Server, error) {
	return listenTCP(w.net, p, func(ctx context.Context, c conns, p Params) (Report, error) {
		return transfer(ctx, c, p, p.Reverse)
	})
}

// Open and its session make each slice a transfer of its own, over fresh
// connections: a connection tends to keep the speed it came to first, and a
// trial should not hang on the luck of one.
func (w tcpStream) Open(ctx context.Context, p Params) (Session, error) {
	s := &streamSession{net: w.net, p: p, restore: quiet()}
	if err := s.drive(ctx, p.opening()); err != nil {
		s.restore()
		return nil, err
	}
	s.total.Window = Window{} // the warm-up does not count
	return s, nil
}

type streamSession struct {
	net     network
	p       Params
	total   Report
	restore func()
}

func (s *streamSession) Slice(ctx context.Context, d time.Duration) error {
	return s.drive(ctx, s.p.slice(d))
}

func (s *streamSession) drive(ctx context.Context, p Params) error {
	c, err := connect(ctx, s.net, p)
	if err != nil {
		return err
	}
	r, err := transfer(ctx, c, p, !p.Reverse)
	if err != nil {
		return err
	}
	s.total.add(r)
	return nil
}

func (s *streamSession) Close() Report {
	s.restore()
	return s.total
}

func (w tcpStream) Dial(ctx context.Context, p Params, _ Peer) (Report, error) {
	defer quiet()()
	c, err := connect(ctx, w.net, p)
	if err != nil {
		return Report{}, err
	}
	return transfer(ctx, c, p, !p.Reverse)
}

func (tcpStream) Metrics(p Params, client, server Report) (map[string]float64, *result.Series) {
	sender, receiver := client, server
	if p.Reverse {
		sender, receiver = server, client
	}
	bits := make([]float64, len(receiver.Window.Series))
	for i, v := range receiver.Window.Series {
		bits[i] = v * 8
	}
	m := map[string]float64{"goodput": float64(receiver.Window.Received) * 8 / receiver.Window.Seconds}
	if n := sender.Window.Retransmits; n != nil {
		m["retransmits"] = float64(*n)
	}
	return m, &result.Series{Metric: "goodput", Interval: receiver.Window.Interval, Values: bits}
}

// transfer is one end of the trial, sending or receiving on all connections.
func transfer(ctx context.Context, c conns, p Params, send bool) (Report, error) {
	defer c.close()
	books := make([]*book, len(c))
	for i := range books {
		books[i] = newBook(p)
	}
	again := make([]int64, len(c)) // segments sent again, by connection
	start := time.Now()
	err := onThreads(len(c), p.CPU, func(i int) error {
		if send {
			return sendFor(ctx, c[i], p, start, books[i], &again[i])
		}
		return receive(ctx, c[i], start, books[i])
	})
	if err != nil {
		return Report{}, err
	}
	r := Report{CPU: p.CPU, Traffic: time.Since(start).Seconds()}
	c.describe(&r)
	r.Window = Window{Seconds: p.Duration.Seconds(), Interval: min(SeriesInterval, p.Duration).Seconds()}
	if send {
		var resent int64
		for i, b := range books {
			r.Sent += b.total
			resent += again[i]
		}
		r.Window.Retransmits = &resent
		return r, nil
	}
	for _, b := range books {
		r.Received += b.total
		r.Window.Received += b.window
	}
	r.Window.Series = series(p, books)
	return r, nil
}

// sendFor writes until the receiver has seen its window, closes its direction
// and waits until the receiver has read all of it.
func sendFor(ctx context.Context, s stream, p Params, start time.Time, b *book, resent *int64) error {
	buf := make([]byte, p.WriteSize)
	before, warm := int64(0), false
	over, stop := givenUp(ctx)
	defer stop()
	for {
		n, err := s.write(buf)
		at := time.Since(start)
		switch {
		case over.Load():
			return fmt.Errorf("send: %w", context.Cause(ctx))
		case err == nil:
			b.add(at, int64(n))
		case !again(err):
			return fmt.Errorf("send: %w", err)
		}
		if !warm && at >= b.warmup {
			before, warm = told(s).retransmits, true
		}
		if at < b.end {
			continue
		}
		if stopped, err := toldToStop(s); stopped || err != nil {
			if err != nil {
				return fmt.Errorf("send: %w", err)
			}
			break
		}
		if at > b.end+DrainWait {
			return fmt.Errorf("send: the receiver had not seen its window %s after it should have ended", DrainWait)
		}
	}
	*resent = told(s).retransmits - before
	if err := s.closeWrite(); err != nil {
		return fmt.Errorf("end the stream: %w", err)
	}
	return waitClosed(ctx, s)
}

// toldToStop looks, without waiting, for the receiver's stop.
func toldToStop(s stream) (bool, error) {
	var b [1]byte
	n, err := s.(glancer).readNow(b[:])
	switch {
	case again(err):
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, errors.New("the receiver closed the connection")
	}
	return true, nil
}

// waitClosed waits for the peer's end of the connection.
func waitClosed(ctx context.Context, s stream) error {
	ctx, cancel := context.WithTimeoutCause(ctx, DrainWait, errors.New("what was sent did not all arrive within "+DrainWait.String()))
	defer cancel()
	buf := make([]byte, 1)
	for {
		n, err := s.read(buf)
		switch {
		case err == nil && n == 0:
			return nil
		case err == nil, again(err):
			if ctx.Err() != nil {
				return fmt.Errorf("drain: %w", context.Cause(ctx))
			}
		default:
			return fmt.Errorf("drain: %w", err)
		}
	}
}

// receive reads until the sender closes its direction, which it does when told
// that the window is over.
func receive(ctx context.Context, s stream, start time.Time, b *book) error {
	buf := make([]byte, readSize)
	told := false
	over, stop := givenUp(ctx)
	defer stop()
	for {
		n, err := s.read(buf)
		at := time.Since(start)
		switch {
		case over.Load():
			return fmt.Errorf("receive: %w", context.Cause(ctx))
		case err == nil && n == 0 && !told:
			return fmt.Errorf("receive: the sender stopped after %s of %s", at.Round(time.Millisecond), b.end)
		case err == nil && n == 0:
			return s.closeWrite()
		case err == nil:
			b.add(at, int64(n))
		case !again(err):
			return fmt.Errorf("receive: %w", err)
		}
		if !told && at >= b.end {
			told = true
			if err := writeFull(ctx, s, []byte{stopByte}); err != nil {
				return fmt.Errorf("tell the sender to stop: %w", err)
			}
		}
	}
}
