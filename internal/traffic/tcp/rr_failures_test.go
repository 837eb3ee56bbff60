package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// answer answers so many requests, all for a negative number, and reports whether there were so many.
func answer(c net.Conn, p traffic.Params, n int) bool {
	for ; n != 0; n-- {
		if _, err := io.ReadFull(c, make([]byte, p.RequestSize)); err != nil {
			return false
		}
		if _, err := c.Write(make([]byte, p.ResponseSize)); err != nil {
			return false
		}
	}
	return true
}

// Each of these waits for a limit of a trial, or for some seconds.
func TestPeersThatFail(t *testing.T) {
	t.Setenv(timelimit.Variable, "1")
	loopback.Room(t)
	loopback.AtOnce(t, map[string]func(*testing.T){
		"some of tcp_rr": rrSomeFail, "some of a pipeline": pipelineSomeFail,
		"server of tcp_rr": rrBadServer, "server of tcp_crr": crrBadServer, "server of tcp_stream": streamBadServer,
	})
}

// A connection that is reset, or has no answer, in the middle of a trial is counted by its kind, and the other flows
// go on. The requests of both loops, and of slices, are those of the flows that are left.
func rrSomeFail(t *testing.T) {
	tests := map[string]func(*testing.T){}
	for _, n := range implementations() {
		for _, rate := range []int{0, 2000} {
			for _, sliced := range []bool{false, true} {
				tests[fmt.Sprintf("%s, %d per s, slices %t", n.name, rate, sliced)] = func(t *testing.T) { rrTwoFail(t, n, rate, sliced) }
			}
		}
	}
	loopback.AtOnce(t, tests)
}

func rrTwoFail(t *testing.T, n path, rate int, sliced bool) {
	p := loopback.Params("tcp_rr")
	p.TransactionRate, p.Duration = rate, 2*time.Second
	if sliced {
		p.Warmup, p.Slice, p.Rounds = 10*time.Millisecond, 30*time.Millisecond, 8
	}
	if got := twoFail(t, n, p, 5); got.Messages <= 20 {
		t.Errorf("%d exchanges", got.Messages)
	}
}

// twoFail runs a client of four flows against a server that answers so many requests of each. Then it resets one of them, is silent on
// another, and goes on with the others. A trial in which a busy machine does not come so far is repeated for longer.
func twoFail(t *testing.T, n path, p traffic.Params, answers int) traffic.Report {
	t.Helper()
	p.Streams = 4
	for ; p.Duration < timelimit.Scaled(30*time.Second); p.Duration, p.Rounds = 2*p.Duration, 2*p.Rounds {
		p := p
		var failed, others atomic.Int64
		p.Address = rrFakeServer(t, p, func(flow int, c net.Conn) {
			switch came := answer(c, p, answers); {
			case came && flow == 1:
				failed.Add(1)
				_ = c.(*net.TCPConn).SetLinger(0)
				c.Close()
			case came && flow == 2:
				failed.Add(1)
				_, _ = io.Copy(io.Discard, c)
			case came && answer(c, p, 1):
				others.Add(1)
				answer(c, p, -1)
			}
		})
		got := must.Get(loopback.RunClient(t.Context(), rr{n}, p))(t)
		if failed.Load() < 2 || others.Load() < 2 {
			continue
		}
		got.Attempts.Late = 0 // on a busy machine
		must.Equal(t, result.Attempts{Tried: 4, TimedOut: 1, Reset: 1}, *got.Attempts)
		must.True(t, len(got.Notes) != 0 && got.Notes[0].Code == "lost_exchanges", "notes %+v", got.Notes)
		return got
	}
	t.Fatalf("not all flows had %d answers", answers)
	return traffic.Report{}
}

// A server that ends in the middle of a trial ends it, when no flow has a connection left. What was tried is known.
func TestRRServerGone(t *testing.T) {
	t.Parallel()
	for _, on := range pairings() {
		for _, flows := range []int{1, 4} {
			p := loopback.Params("tcp_rr")
			p.Streams, p.Duration = flows, time.Minute
			ctx, kill := context.WithCancelCause(t.Context())
			began := make(chan struct{})
			p.Meter = nil
			address, end := loopback.Serve(ctx, t, rr{on.Server}, p)
			p.Address = address
			go func() {
				<-began
				kill(errors.New("killed"))
			}()
			client, err := rr{on.Client}.dial(t.Context(), p)
			must.Do(t, err)
			must.Do(t, client.Drive(t.Context(), 0, 20*time.Millisecond))
			close(began)
			err = client.Drive(t.Context(), 0, time.Minute)
			client.Close()
			<-end
			what := fmt.Sprintf("%s, %d flows", on, flows)
			must.FailFor(t, what, err, map[bool]string{true: "receive response: ", false: "all 4 connections failed (4 reset), the last one: receive response: "}[flows == 1])
			got := traffic.AttemptsOf(err)
			must.True(t, got != nil && got.Tried == int64(flows) && got.Failed() == int64(flows), "%s: %+v", what, got)
		}
	}
}

// A connection that is refused at the start of a trial is attempted once more, and both attempts count.
func TestDialAttempts(t *testing.T) {
	t.Parallel()
	for _, n := range implementations() {
		p := loopback.Params("tcp_stream")
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		p.Address = l.Addr().String()
		l.Close()
		for _, w := range []traffic.Workload{stream{n}, rr{n}} {
			p.Kind = w.Spec().Kind
			_, err := w.Dial(t.Context(), p, nil)
			must.FailLine(t, n.name, err, "refused")
			got := traffic.AttemptsOf(err)
			must.True(t, got != nil && *got == (result.Attempts{Tried: 2, Refused: 2}), "%s, %s: %+v", n.name, p.Kind, got)
		}
	}
}
