package udp

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the reading of CLOCK_MONOTONIC that corresponds to a reading of the Go
// runtime's clock, which runs at the same rate. It takes the tightest of several readings, with an
// error below a microsecond.
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
