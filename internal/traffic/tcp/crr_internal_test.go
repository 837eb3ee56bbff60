package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/connection"
)

// Connections without an answer are counted while others have one. If none ever had one, or too many in a
// row have none, the server has gone.
func TestCRRUnanswered(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	to := netip.MustParseAddrPort("198.18.0.2:5201")
	window := func(before int64) *crrWindow {
		p := traffic.Params{Workload: study.Workload{Streams: 1}, Duration: 100 * ms}
		return &crrWindow{
			crrTrial: crrTrial{Params: p}, bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(p), Flows: 1},
			connect: traffic.NewDistribution(), firstByte: traffic.NewDistribution(), before: before, made: 9,
		}
	}
	late := connection.NoReplyError(to, 9)
	must.FailFor(t, "the first of all", window(0).fail(late, 0, 5*ms), "198.18.0.2:5201 did not answer within", "after 9 others")
	w := window(1)
	for i := range time.Duration(4) {
		must.Do(t, w.fail(late, i*10*ms, (i+1)*10*ms))
	}
	w.done(40*ms, 41*ms, 42*ms, 43*ms, false)
	must.Do(t, w.fail(late, 43*ms, 143*ms))
	must.Equal(t, []any{int64(1), int64(5), 143 * ms}, []any{w.bins.Counted(), w.bins.Failed, w.bins.Time()})
	for range 3 {
		must.Do(t, w.fail(late, 0, 0))
	}
	must.FailFor(t, "five in a row", w.fail(late, 0, 0), "did not answer")
	client := traffic.Report{Window: traffic.Window{Seconds: 1, Messages: 15, Failed: 5}}
	m, _ := crr{}.Metrics(traffic.Params{}, client, traffic.Report{})
	must.Equal(t, map[string]float64{"connection_rate": 15, "loss_ratio": 0.25}, m)
}

// Failures are counted by kind; what is of this host ends a trial, and so does a server that has gone.
func TestCRRFailures(t *testing.T) {
	t.Parallel()
	p := traffic.Params{Workload: study.Workload{Streams: 1}, Duration: time.Second}
	w := &crrWindow{crrTrial: crrTrial{Params: p}, bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(p), Flows: 1}, before: 1}
	wrapped := func(err error) error { return fmt.Errorf("connect: %w", os.NewSyscallError("connect", err)) }
	for _, err := range []error{wrapped(syscall.ECONNREFUSED), wrapped(syscall.EHOSTUNREACH), wrapped(syscall.ECONNRESET), wrapped(syscall.EPIPE),
		fmt.Errorf("receive: %w", connection.ErrPeerClosed), wrapped(syscall.ETIMEDOUT), syscall.Errno(10054)} {
		must.Do(t, w.fail(err, 0, time.Millisecond))
	}
	must.Equal(t, "1 without a response in time, 2 refused, 4 reset", w.failed.String())
	must.Equal(t, int64(7), w.bins.Failed)
	for _, err := range []error{wrapped(syscall.EMFILE), wrapped(syscall.EPERM), context.Canceled} {
		if got := w.fail(err, 0, 0); !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	w.inRow = connection.Tally{}
	for range connection.MostRefused {
		must.Do(t, w.fail(wrapped(syscall.ECONNREFUSED), 0, 0))
	}
	must.FailFor(t, "the server has gone", w.fail(wrapped(syscall.ECONNREFUSED), 0, 0), "connection refused, as did 100 before it")
}

// A connection whose handshake lost a packet is counted.
func TestCRRLate(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	w := &crrWindow{bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(traffic.Params{}), Flows: 1}, connect: traffic.NewDistribution(), firstByte: traffic.NewDistribution()}
	w.done(0, ms, ms, ms, true)
	w.done(0, ms, ms, ms, false)
	must.Equal(t, int64(1), w.tried.Late)
}
