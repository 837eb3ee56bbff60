package udp

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	trafficclock "tare/internal/traffic/clock"
)

// monotonic returns the reading of CLOCK_MONOTONIC that corresponds to a reading of the Go
// runtime's clock, which runs at the same rate. It takes the tightest of several readings, with an
// error below a microsecond.
func monotonic() (base trafficclock.Instant, at int64, ok bool) {
	best := time.Duration(-1)
	for range 16 {
		var ts unix.Timespec
		before := trafficclock.Now()
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
			return before, 0, false
		}
		if took := before.Since(); best < 0 || took < best {
			best, base, at = took, before, ts.Nano()-int64(took/2)
		}
	}
	return base, at, true
}

// machineClock identifies the kernel's monotonic clock, 0 if it cannot.
func machineClock() uint64 {
	return clockID("/proc/sys/kernel/random/boot_id", "/proc/self/timens_offsets")
}

// clockID identifies the kernel's monotonic clock by boot and time namespace. 0 is unknown. A
// kernel without time namespaces has no offsets.
func clockID(boot, offsets string) uint64 {
	id, err := os.ReadFile(boot)
	if err != nil {
		return 0
	}
	shift, err := os.ReadFile(offsets)
	if err != nil && !os.IsNotExist(err) {
		return 0
	}
	return hashed(append(append(id, '|'), shift...))
}
