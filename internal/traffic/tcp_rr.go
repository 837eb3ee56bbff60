package traffic

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"tare/internal/result"
	"tare/internal/study"
)

// tcpRR exchanges one byte each way over one connection, the next request as
// soon as the response is there: netperf's TCP_RR in its plainest form.
type tcpRR struct{}

// The histogram's range and resolution: 0.1 % of 100 ns to 100 s.
const (
	histMin    = 100
	histMax    = int64(100 * time.Second)
	histDigits = 3
)

func (tcpRR) Spec() Spec {
	return Spec{Title: "TCP request/response", WorkloadSpec: study.WorkloadSpec{
		Kind:   "tcp_rr",
		Params: []string{"family", "congestion_control", "send_buffer", "receive_buffer", "placement", "warmup", "duration"},
		Defaults: study.Workload{
			Family: study.IPv4, Congestion: "cubic", SendBuffer: study.Auto, ReceiveBuffer: study.Auto, Placement: study.OneCore,
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: study.Duration(200 * time.Millisecond), Duration: study.Duration(500 * time.Millisecond)},
			study.Standard: {Warmup: study.Duration(300 * time.Millisecond), Duration: study.Duration(time.Second)},
			study.Paper:    {Warmup: study.Duration(time.Second), Duration: study.Duration(30 * time.Second)},
		},
	}}
}

func (tcpRR) Listen(p Params) (Server, error) {
	p = onlyFlow(p)
	l, err := listen(p)
	if err != nil {
		return nil, err
	}
	return &tcpServer{listener: l, p: p, serve: func(ctx context.Context, c conns) (Report, error) {
		return respond(ctx, c, p)
	}}, nil
}

func (tcpRR) Dial(ctx context.Context, p Params) (Report, error) {
	p = onlyFlow(p)
	defer quiet()()
	c, err := connect(ctx, p)
	if err != nil {
		return Report{}, err
	}
	return request(ctx, c, p)
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
		m["rtt_p50"], m["rtt_p99"] = w.P50, w.P99
	}
	return m, &result.Series{Metric: "transaction_rate", Interval: w.Interval, Values: w.Series}
}

// request is the client: it owns the clock.
func request(ctx context.Context, c conns, p Params) (Report, error) {
	defer c.close()
	hist := hdrhistogram.New(histMin, histMax, histDigits)
	b := newBook(p)
	start := time.Now()
	err := onThreads(1, p.CPU, func(int) error {
		sent := time.Duration(0)
		for sent < b.end {
			if err := exchange(ctx, c[0]); err != nil {
				return err
			}
			at := time.Since(start)
			b.add(at, 1)
			// The next request leaves at once, so one reading of the clock
			// ends an exchange and begins the next. Out of range is only what
			// took longer than histMax, by when the trial has ended.
			if sent >= b.warmup && at < b.end {
				_ = hist.RecordValue(int64(at - sent))
			}
			sent = at
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	r := Report{CPU: p.CPU, Traffic: time.Since(start).Seconds(), Messages: b.total, Sent: b.total, Received: b.total}
	c.describe(&r)
	r.Window = Window{
		Seconds: p.Duration.Seconds(), Interval: SeriesInterval.Seconds(), Messages: b.window, Series: series(p, []*book{b}),
		P50: float64(hist.ValueAtQuantile(50)) / 1e9, P99: float64(hist.ValueAtQuantile(99)) / 1e9,
	}
	return r, nil
}

func exchange(ctx context.Context, fd int) error {
	var b [1]byte
	if _, err := rawByte(ctx, unix.SYS_SENDTO, fd, &b); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	more, err := rawByte(ctx, unix.SYS_RECVFROM, fd, &b)
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
		for {
			more, err := rawByte(ctx, unix.SYS_RECVFROM, c[0], &b)
			if err != nil {
				return fmt.Errorf("receive request: %w", err)
			}
			if !more {
				return nil
			}
			if _, err := rawByte(ctx, unix.SYS_SENDTO, c[0], &b); err != nil {
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

// rawByte sends or receives one byte and reports whether the peer is still
// there. It goes round the Go scheduler's system call entry, which would take a
// third of the transaction rate; the socket's time-out bounds how long the
// runtime can be kept waiting for this thread.
func rawByte(ctx context.Context, call uintptr, fd int, b *[1]byte) (more bool, err error) {
	for {
		n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(b)), 1, unix.MSG_NOSIGNAL, 0, 0)
		switch {
		case errno == 0:
			return n == 1, nil
		case errno != unix.EAGAIN && errno != unix.EINTR:
			return false, errno
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
	}
}
