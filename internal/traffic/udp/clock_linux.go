package udp

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic finds what CLOCK_MONOTONIC showed at a moment of the runtime's own
// clock, which runs at the same pace. The tightest of some readings is taken:
// it is off by less than a microsecond.
func monotonic() (base time.Time, at int64, ok bool) {
	best := time.Duration(-1)
	for range 16 {
		var ts unix.Timespec
		before := time.Now()
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
			return before, 0, false
		}
		if took := time.Since(before); best < 0 || took < best {
			best, base, at = took, before, ts.Nano()-int64(took/2)
		}
	}
	return base, at, true
}
