package tcp

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

// The cause that the test sets limits the sender for a part of the time: a receiver with a tiny
// buffer, or a sender with little to send. The shares of all causes add up, also over slices, and a
// receiver reports nothing.
func TestLimits(t *testing.T) {
	t.Parallel()
	eachLimit(t, func(what string, share float64) {
		must.True(t, share > 0, "%s never limited the sender", what)
	})
}

// On a machine that does nothing else, that cause is the main one. A segment that finds the tiny
// buffer full is dropped and retransmitted, which the kernel counts as network.
func TestAloneLimits(t *testing.T) {
	t.Parallel()
	testneed.NotShort(t)
	eachLimit(t, func(what string, share float64) {
		fmt.Printf("%s: %.0f %% of the time\n", what, 100*share)
		must.True(t, share >= 0.5, "%s limited the sender for %.0f %% of the time only", what, 100*share)
	})
}

// eachLimit runs trials with either cause, and gives check the share of the time that it took. They
// use Reno, which sends as soon as it may; a congestion control with pacing, such as BBR, waits, and
// the kernel counts that as network.
func eachLimit(t *testing.T, check func(what string, share float64)) {
	for i, c := range []struct {
		what   string
		change func(*traffic.Params)
		of     func(traffic.Limits) float64
	}{
		{"a tiny receive buffer", func(p *traffic.Params) {
			p.ReceiveBuffer, p.SendBuffer, p.WriteSize = quantity.Buffer(2048), quantity.Buffer(1<<20), 128<<10
		}, func(l traffic.Limits) float64 { return l.ReceiveWindow }},
		{"little to send", func(p *traffic.Params) { p.Rate, p.WriteSize = 2e6, 10_000 }, func(l traffic.Limits) float64 { return l.Application }},
	} {
		for row, on := range append(covering(i), covering(i + 1)[0]) {
			p := loopback.Params("tcp_stream")
			p.Warmup, p.Duration, p.Congestion = 50*time.Millisecond, 300*time.Millisecond, "reno"
			c.change(&p)
			if row == 2 { // slices do not depend on the implementation
				p.Slice, p.Rounds = 150*time.Millisecond, 2
			}
			what := fmt.Sprintf("%s, %s, %d slices", c.what, on, p.Rounds)
			_, client, server, err := loopback.Grown(t.Context(), stream{on.Client}, stream{on.Server}, p)
			must.Do(must.Named(t, what), err)
			l := client.Window.Limits
			must.Require(t, l != nil && server.Window.Limits == nil && l.Seconds > 0, "%s: %+v, and of the receiver %+v", what, l, server.Window.Limits)
			if sum := l.Application + l.ReceiveWindow + l.SendBuffer + l.Network; sum < 0.999*l.Seconds || sum > 1.001*l.Seconds {
				t.Errorf("%s: the shares do not add up: %+v", what, *l)
			}
			check(what, c.of(*l)/l.Seconds)
		}
	}
}
