package traffic

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Who limits is who was made to: a receiver with next to no buffer, or a sender
// that is told to send little. Slices add up, warm-ups count for nothing, and a
// receiver has nothing to say.
func TestLimits(t *testing.T) {
	for _, on := range pathways() {
		for what, c := range map[string]struct {
			change func(*Params)
			most   func(Limits) float64
		}{
			"a tiny receive buffer": {func(p *Params) { p.ReceiveBuffer, p.SendBuffer, p.WriteSize = 2048, 1<<20, 128<<10 }, func(l Limits) float64 { return l.ReceiveWindow }},
			"little to send":        {func(p *Params) { p.Rate, p.WriteSize = 2e6, 10_000 }, func(l Limits) float64 { return l.Application }},
		} {
			for _, sliced := range []bool{false, true} {
				if sliced && on.server != on.client {
					continue // slices are no matter of the network
				}
				p := params("tcp_stream")
				p.Streams, p.Warmup, p.Duration = 2, 50*time.Millisecond, 400*time.Millisecond
				c.change(&p)
				if sliced {
					p.Slice, p.Rounds = 200*time.Millisecond, 2
				}
				client, server, err := pair(t, on, p)
				if err != nil {
					t.Fatalf("%s, %s: %v", on, what, err)
				}
				l := client.Window.Limits
				if l == nil || server.Window.Limits != nil {
					t.Fatalf("%s, %s: %+v, and of the receiver %+v", on, what, l, server.Window.Limits)
				}
				least := 2 * 0.2 // of two streams, if their threads come late
				sum := l.Application + l.ReceiveWindow + l.SendBuffer + l.Network
				if share := c.most(*l) / l.Seconds; share < 0.6 || l.Seconds < least || sum < 0.999*l.Seconds || sum > 1.001*l.Seconds {
					t.Errorf("%s, %s, sliced %t: %+v", on, what, sliced, *l)
				}
			}
		}
	}
}

// A kernel that knows less of a connection leaves its times unknown.
func TestOlderTCPInfo(t *testing.T) {
	info := unix.TCPInfo{Busy_time: 3000, Rwnd_limited: 2000, Sndbuf_limited: 1000}
	whole := unsafe.Offsetof(info.Delivered)
	want := chronograph{known: true, busy: 3 * time.Millisecond, receiveWindow: 2 * time.Millisecond, sendBuffer: time.Millisecond}
	if got := chronographOf(&info, whole); got != want {
		t.Errorf("whole: %+v, want %+v", got, want)
	}
	if got := chronographOf(&info, whole-1); got != (chronograph{}) {
		t.Errorf("cut: %+v", got)
	}
}
