package observe

import (
	"fmt"
	"math"
	"time"
)

// Clock is the collector "clock": whether the wall clock was set while the monotonic clock
// went on. Its metrics are seconds:
//
//	elapsed  length of the window, by the monotonic clock
//	step     how far the wall clock was set, in either direction
//
// A clock that is slewed, as by NTP, gains or loses up to 0.5 ms a second (adjtimex(2)); a
// difference within that is a step of 0. A suspended machine shows a step, because the
// monotonic clock stops.
type Clock struct{ now func() time.Time }

// NewClock creates the collector. now is nil for the system's clocks.
func NewClock(now func() time.Time) Clock {
	if now == nil {
		now = time.Now
	}
	return Clock{now}
}

// Name returns "clock".
func (Clock) Name() string { return "clock" }

// Read takes a sample. It does not fail.
func (c Clock) Read() (Sample, error) {
	now := c.now()
	return clockSample{forward: now, day: now.Round(0)}, nil
}

// clockSample is one moment by two clocks: forward has a monotonic reading, day does not.
type clockSample struct{ forward, day time.Time }

const (
	// slew is the maximum rate at which the kernel slews a clock.
	slew = 500e-6
	// maxReadGap is the maximum time between the readings of the two clocks: a thread may be
	// preempted between them.
	maxReadGap = 50 * time.Millisecond
)

// Since implements [Sample].
func (s clockSample) Since(earlier Sample) (map[string]float64, []Gap) {
	from, ok := earlier.(clockSample)
	if !ok {
		return nil, []Gap{{Reason: fmt.Sprintf("earlier sample is a %T, not one of clocks", earlier)}}
	}
	elapsed := s.forward.Sub(from.forward)
	step := math.Abs((s.day.Sub(from.day) - elapsed).Seconds())
	if step <= slew*elapsed.Seconds()+maxReadGap.Seconds() {
		step = 0
	}
	return map[string]float64{"elapsed": elapsed.Seconds(), "step": step}, nil
}
