package tcp

import (
	"math"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// The time between two readings of the kernel is divided among the causes, and the parts add up.
func TestLimitsOf(t *testing.T) {
	t.Parallel()
	at := func(busy, window, buffer int) socket.Chronograph {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		return socket.Chronograph{Known: true, Busy: ms(busy), ReceiveWindow: ms(window), SendBuffer: ms(buffer)}
	}
	for what, c := range map[string]struct {
		before, after socket.Chronograph
		want          traffic.Limits
	}{
		"some of each":          {at(100, 10, 20), at(700, 110, 220), limits(1, 0.4, 0.1, 0.2, 0.3)},
		"idle":                  {at(100, 10, 20), at(100, 10, 20), limits(1, 1, 0, 0, 0)},
		"the network alone":     {at(0, 0, 0), at(1000, 0, 0), limits(1, 0, 0, 0, 1)},
		"ticks beyond the time": {at(0, 0, 0), at(1004, 1004, 4), limits(1, 0, 1, 0, 0)},
	} {
		got, ok := limitTimes(c.before, c.after, time.Second)
		must.True(t, ok && near(got, c.want), "%s: %+v, %t, want %+v", what, got, ok, c.want)
		sum := got.Plus(&got).Plus(nil)
		must.True(t, near(*sum, limits(2*c.want.Seconds, 2*c.want.Application, 2*c.want.ReceiveWindow, 2*c.want.SendBuffer, 2*c.want.Network)), "%s twice: %+v", what, sum)
	}
	for what, c := range map[string]struct {
		before, after socket.Chronograph
		elapsed       time.Duration
	}{
		"unknown before": {socket.Chronograph{}, at(1, 0, 0), time.Second},
		"unknown after":  {at(1, 0, 0), socket.Chronograph{}, time.Second},
		"no time":        {at(0, 0, 0), at(1, 0, 0), 0},
	} {
		if got, ok := limitTimes(c.before, c.after, c.elapsed); ok {
			t.Errorf("%s: %+v", what, got)
		}
	}
	must.True(t, (*traffic.Limits)(nil).Plus(nil) == nil, "unknown and unknown is known")
}

func near(a, b traffic.Limits) bool {
	for _, d := range []float64{a.Seconds - b.Seconds, a.Application - b.Application, a.ReceiveWindow - b.ReceiveWindow, a.SendBuffer - b.SendBuffer, a.Network - b.Network} {
		if math.Abs(d) > 1e-9 {
			return false
		}
	}
	return true
}

func limits(seconds, application, receiveWindow, sendBuffer, network float64) traffic.Limits {
	return traffic.Limits{Seconds: seconds, Application: application, ReceiveWindow: receiveWindow, SendBuffer: sendBuffer, Network: network}
}
