package observe

import (
	"fmt"
	"math"
	"time"
)

// Clock is the collector "clock": whether the clock of the day was set while the
// other one, which only runs forward, went on. Its figures are seconds:
//
//	elapsed  length of the window, by the clock that only runs forward
//	step     how far the clock of the day was set, to either side
//
// A clock that is only slewed, as by NTP, gains or loses up to 0.5 ms a second
// (adjtimex(2)): what may be that is a step of 0. A machine that slept is seen as a
// step, for the forward clock stands still meanwhile.
type Clock struct{ now func() time.Time }

// NewClock makes the collector. now is nil for the system's clocks.
func NewClock(now func() time.Time) Clock {
	if now == nil {
		now = time.Now
	}
	return Clock{now}
}

// Name is "clock".
func (Clock) Name() string { return "clock" }

// Read takes a sample. It does not fail.
func (c Clock) Read() (Sample, error) {
	now := c.now()
	return clockSample{forward: now, day: now.Round(0)}, nil
}

// clockSample is one moment by two clocks: forward has the reading of the clock
// that only runs forward, and day has not.
type clockSample struct{ forward, day time.Time }

const (
	// slew is the most that the kernel lets a clock drift to be corrected.
	slew = 500e-6
	// maxReadGap is what may lie between the readings of the two clocks: a thread
	// that is interrupted between them loses the time that another program has.
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
