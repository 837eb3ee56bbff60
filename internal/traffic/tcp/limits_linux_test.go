package tcp

import (
	"testing"
	"time"

	"tare/internal/traffic"
)

// The limiting cause is the one that the test sets: a receiver with a tiny buffer, or a sender with
// little to send. Slices add up, warm-ups do not count, and a receiver reports nothing. The test
// uses Reno, which sends as soon as it may; a congestion control with pacing, such as BBR, waits,
// and the kernel counts that as network.
func TestLimits(t *testing.T) {
	for i, c := range []struct {
		what   string
		change func(*traffic.Params)
		share  func(traffic.Limits) float64
	}{
		{"a tiny receive buffer", func(p *traffic.Params) { p.ReceiveBuffer, p.SendBuffer, p.WriteSize = 2048, 1<<20, 128<<10 }, func(l traffic.Limits) float64 { return l.ReceiveWindow }},
		{"little to send", func(p *traffic.Params) { p.Rate, p.WriteSize = 2e6, 10_000 }, func(l traffic.Limits) float64 { return l.Application }},
	} {
		for row, on := range append(covering(i), covering(i + 1)[0]) {
			sliced := row == 2 // does not depend on the implementation
			p := params("tcp_stream")
			p.Streams, p.Warmup, p.Duration, p.Congestion = 1, 50*time.Millisecond, 300*time.Millisecond, "reno"
			c.change(&p)
			if sliced {
				p.Slice, p.Rounds = 150*time.Millisecond, 2
			}
			limited := false
			for n := 0; n < attempts && !limited; n++ {
				limited = limitedAs(t, c.what, on, p, c.share)
			}
			if !limited {
				t.Errorf("%s, %s, sliced %t: in none of %d trials was it the main limit", on, c.what, sliced, attempts)
			}
		}
	}
}

// attempts is how often a trial may be limited by something else: a segment that finds the tiny
// buffer full is dropped and retransmitted, which the kernel counts as network, and a thread that
// is late for the timed window has little of it left.
const attempts = 10

// limitedAs runs one trial and reports whether it was limited as expected for most of the time. The
// shares must always add up.
func limitedAs(t *testing.T, what string, on pairing, p traffic.Params, share func(traffic.Limits) float64) bool {
	t.Helper()
	client, server, err := pair(t, on, p)
	if err != nil {
		t.Fatalf("%s, %s: %v", on, what, err)
	}
	l := client.Window.Limits
	if l == nil || server.Window.Limits != nil {
		t.Fatalf("%s, %s: %+v, and of the receiver %+v", on, what, l, server.Window.Limits)
	}
	if sum := l.Application + l.ReceiveWindow + l.SendBuffer + l.Network; sum < 0.999*l.Seconds || sum > 1.001*l.Seconds {
		t.Errorf("%s, %s: the shares do not add up: %+v", on, what, *l)
	}
	return l.Seconds > 0 && share(*l) > 0.6*l.Seconds
}
