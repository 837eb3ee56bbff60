package traffic

import (
	"math"
	"testing"
	"time"
)

// What a kernel booked between two readings is shared out, and the parts add up.
func TestLimitsOf(t *testing.T) {
	at := func(busy, window, buffer int) chronograph {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		return chronograph{known: true, busy: ms(busy), receiveWindow: ms(window), sendBuffer: ms(buffer)}
	}
	for what, c := range map[string]struct {
		before, after chronograph
		want          Limits
	}{
		"some of each":          {at(100, 10, 20), at(700, 110, 220), Limits{1, 0.4, 0.1, 0.2, 0.3}},
		"idle":                  {at(100, 10, 20), at(100, 10, 20), Limits{1, 1, 0, 0, 0}},
		"the network alone":     {at(0, 0, 0), at(1000, 0, 0), Limits{1, 0, 0, 0, 1}},
		"ticks beyond the time": {at(0, 0, 0), at(1004, 1004, 4), Limits{1, 0, 1, 0, 0}},
	} {
		got, ok := limitsOf(c.before, c.after, time.Second)
		if !ok || !near(got, c.want) {
			t.Errorf("%s: %+v, %t, want %+v", what, got, ok, c.want)
		}
		sum := got.plus(&got).plus(nil)
		if !near(*sum, Limits{2 * c.want.Seconds, 2 * c.want.Application, 2 * c.want.ReceiveWindow, 2 * c.want.SendBuffer, 2 * c.want.Network}) {
			t.Errorf("%s twice: %+v", what, sum)
		}
	}
	for what, c := range map[string]struct {
		before, after chronograph
		elapsed       time.Duration
	}{
		"not told before": {chronograph{}, at(1, 0, 0), time.Second},
		"not told behind": {at(1, 0, 0), chronograph{}, time.Second},
		"no time":         {at(0, 0, 0), at(1, 0, 0), 0},
	} {
		if got, ok := limitsOf(c.before, c.after, c.elapsed); ok {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if (*Limits)(nil).plus(nil) != nil {
		t.Error("unknown and unknown is known")
	}
}

func near(a, b Limits) bool {
	for _, d := range []float64{a.Seconds - b.Seconds, a.Application - b.Application, a.ReceiveWindow - b.ReceiveWindow, a.SendBuffer - b.SendBuffer, a.Network - b.Network} {
		if math.Abs(d) > 1e-9 {
			return false
		}
	}
	return true
}
