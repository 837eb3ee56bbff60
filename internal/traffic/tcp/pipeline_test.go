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

	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// Both endpoints count the same for any implementations, flows, sizes and depths, also where neither direction's messages fit into buffers.
func TestPipeline(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for i, size := range [][2]int{{1, 1}, {100, 3000}, {300_000, 2}, {1, 300_000}, {70_000, 70_000}} {
		for j, flows := range []int{1, 3} {
			for k, on := range pairings() {
				depth := []int{2, 16, 100}[(i+j+k)%3]
				p := loopback.Params("tcp_rr")
				p.Streams, p.RequestSize, p.ResponseSize, p.Pipeline = flows, quantity.Size(size[0]), quantity.Size(size[1]), depth
				p.Warmup, p.Duration = 10*time.Millisecond, 60*time.Millisecond
				if j == 1 {
					p.SendBuffer, p.ReceiveBuffer = quantity.Buffer(32<<10), quantity.Buffer(32<<10)
				}
				name := fmt.Sprintf("%s, %d flows, %d/%d bytes, %d in progress", on, flows, size[0], size[1], depth)
				p, c, s, err := loopback.Grown(t.Context(), rr{on.Client}, rr{on.Server}, p)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				rrAgree(t, name, p, c, s)
				must.EqualFor(t, name, []int{flows, flows, depth, depth}, []int{c.Connections, s.Connections, c.Together, s.Together})
				must.EqualFor(t, name, c.Window.Messages, c.Window.RTT.Count())
			}
		}
	}
}

// A response's time is that of its own request. A request begins after the response that made room for it left the server, which is the last
// but one depth, and has arrived when the server reads it. Its response leaves after that, and has arrived when the server reads the request
// that it makes room for. So the server's clock bounds each time on both sides, however long either end had to wait for a CPU.
func TestPipelineTimes(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	const depth = 8
	for _, n := range implementations() {
		p := loopback.Params("tcp_rr")
		p.Pipeline, p.RequestSize, p.ResponseSize, p.Warmup = depth, 10, 20, 0
		for ; ; p.Duration *= 2 {
			var read, left []time.Duration // when a request was read, when its response left
			done, began := make(chan struct{}), time.Now()
			p.Address = fakeServer(t, p, func(c net.Conn) {
				defer close(done)
				requests := make(chan struct{}, depth)
				go func() {
					defer close(requests)
					for {
						if _, err := io.ReadFull(c, make([]byte, p.RequestSize)); err != nil {
							return
						}
						read = append(read, time.Since(began))
						requests <- struct{}{}
					}
				}()
				for range requests {
					time.Sleep(time.Millisecond) // so that there are depth of them most of the time
					left = append(left, time.Since(began))
					_, _ = c.Write(make([]byte, p.ResponseSize)) // an error ends the reader
				}
			})
			r := must.Get(loopback.RunClient(t.Context(), rr{n}, p))(t)
			<-done
			counted := int(r.Window.Messages)
			if counted < 4*depth {
				continue
			}
			end := time.Since(began)
			var least, most time.Duration
			for i := range counted {
				first, last := time.Duration(0), end
				if i >= depth {
					first = left[i-depth]
				}
				if i+depth < len(read) {
					last = read[i+depth]
				}
				least, most = least+left[i]-read[i], most+last-first
			}
			const within = 0.002 // twice the resolution of a distribution
			if got, of := meanOf(r.Window.RTT), float64(counted); got < least.Seconds()/of*(1-within) || got > most.Seconds()/of*(1+within) {
				t.Errorf("%s: a mean of %g s, the server saw %g to %g", n, got, least.Seconds()/of, most.Seconds()/of)
			}
			break
		}
	}
}

// meanOf is the mean of a distribution, of which each value is a quantile.
func meanOf(d *traffic.Distribution) (mean float64) {
	n := float64(d.Count())
	for k := range d.Count() {
		mean += d.Quantile(float64(k+1)/n) / n
	}
	return mean
}

// A client has as many requests in progress as it should before any is answered, and one more after each answer.
func TestPipelineDepth(t *testing.T) {
	t.Parallel()
	const depth, answers = 8, 50
	for _, n := range implementations() {
		var answered atomic.Int64
		p := loopback.Params("tcp_rr")
		p.Pipeline, p.RequestSize, p.ResponseSize, p.Duration = depth, 10, 20, time.Minute
		p.Address = fakeServer(t, p, func(c net.Conn) {
			defer c.Close()
			_, _ = io.ReadFull(c, make([]byte, (depth-1)*p.RequestSize))
			for ; answered.Load() < answers; answered.Add(1) { // each after the request that makes it depth again
				if _, err := io.ReadFull(c, make([]byte, p.RequestSize)); err != nil {
					return
				}
				if _, err := c.Write(make([]byte, p.ResponseSize)); err != nil {
					return
				}
			}
		})
		ctx, cancel := context.WithTimeoutCause(t.Context(), timelimit.Scaled(20*time.Second), errors.New("it waits for answers"))
		client := must.Get(rr{n}.dial(ctx, p))(t)
		must.FailFor(t, n, client.Drive(ctx, 0, time.Minute), "receive response: ")
		cancel()
		client.Close()
		must.EqualFor(t, n, int64(answers), answered.Load())
	}
}

// As rrSomeFail: a connection that fails leaves the others theirs.
func pipelineSomeFail(t *testing.T) {
	tests := map[string]func(*testing.T){}
	for _, n := range implementations() {
		tests[n.name] = func(t *testing.T) {
			p := loopback.Params("tcp_rr")
			p.Pipeline, p.Warmup, p.Slice, p.Rounds = 8, 10*time.Millisecond, 30*time.Millisecond, 8
			if got := twoFail(t, n, p, 20); got.Sent < got.Messages*int64(p.RequestSize) {
				t.Errorf("%d sent in %d exchanges", got.Sent, got.Messages)
			}
		}
	}
	loopback.AtOnce(t, tests)
}

// More than was asked for, in either direction, is an error.
func TestPipelineTooMuch(t *testing.T) {
	t.Parallel()
	for _, n := range implementations() {
		p := loopback.Params("tcp_rr")
		p.Pipeline, p.Duration = 4, time.Minute
		p.Address = fakeServer(t, p, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write(make([]byte, 100))
		})
		must.FailFor(t, n, must.Err(rr{n}.Dial(t.Context(), p, nil)), "unexpected data")
	}
	p := loopback.Params("tcp_rr")
	p.Pipeline, p.RequestSize, p.ResponseSize = 4, 10, 20
	var f toAnswer
	must.Do(t, f.receive(45, p)) // and a half
	must.Equal(t, []any{int64(1), 55}, []any{f.answered(25, p), f.owed})
	must.Do(t, f.receive(5, p))
	must.Fail(t, f.receive(10, p), "more than 4 at once")
	for want, change := range map[string]func(*traffic.Params){
		"use 1 to 1000": func(p *traffic.Params) { p.Pipeline = 1001 },
		"no schedule":   func(p *traffic.Params) { p.Pipeline, p.TransactionRate = 2, 10 },
	} {
		p := loopback.Params("tcp_rr")
		change(&p)
		must.FailFor(t, want, must.Err(rr{fastest()}.Listen(p)), want)
	}
}
