package tcp

import (
	"testing"
	"time"

	"tare/internal/traffic"
)

// Who limits is who was made to: a receiver with next to no buffer, or a sender
// that is told to send little. Slices add up, warm-ups count for nothing, and a
// receiver has nothing to say. Reno sends as soon as it may: a congestion control that
// paces, as BBR, waits by itself, and the kernel books that to the network.
func TestLimits(t *testing.T) {
	for i, c := range []struct {
		what   string
		change func(*traffic.Params)
		most   func(traffic.Limits) float64
	}{
		{"a tiny receive buffer", func(p *traffic.Params) { p.ReceiveBuffer, p.SendBuffer, p.WriteSize = 2048, 1<<20, 128<<10 }, func(l traffic.Limits) float64 { return l.ReceiveWindow }},
		{"little to send", func(p *traffic.Params) { p.Rate, p.WriteSize = 2e6, 10_000 }, func(l traffic.Limits) float64 { return l.Application }},
	} {
		for row, on := range append(covering(i), covering(i + 1)[0]) {
			sliced := row == 2 // no matter of the network
			p := params("tcp_stream")
			p.Streams, p.Warmup, p.Duration, p.Congestion = 1, 50*time.Millisecond, 300*time.Millisecond, "reno"
			c.change(&p)
			if sliced {
				p.Slice, p.Rounds = 150*time.Millisecond, 2
			}
			shown := false
			for n := 0; n < attempts && !shown; n++ {
				shown = limitedAs(t, c.what, on, p, c.most)
			}
			if !shown {
				t.Errorf("%s, %s, sliced %t: in none of %d trials was it mostly that", on, c.what, sliced, attempts)
			}
		}
	}
}

// attempts is how often a trial may be limited by something else: a segment that finds
// the tiny buffer full is dropped and sent again, and the kernel books that wait to the
// network; a thread that comes late to the timed window finds little of it.
const attempts = 10

// limitedAs drives one trial and says whether it was limited as it should be for most of
// the time. Whatever limits it, the shares add up.
func limitedAs(t *testing.T, what string, on way, p traffic.Params, most func(traffic.Limits) float64) bool {
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
	return l.Seconds > 0 && most(*l) > 0.6*l.Seconds
}
