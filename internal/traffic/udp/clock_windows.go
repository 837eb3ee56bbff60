package udp

import (
	"tare/internal/observe/netstack"
	trafficclock "tare/internal/traffic/clock"
)

// monotonic returns the performance counter, on which all processes of the machine agree.
func monotonic() (base trafficclock.Instant, at int64, ok bool) {
	base = trafficclock.Now()
	return base, base.Nanoseconds(), true
}

// machineClock identifies the performance counter by the machine and its last start, 0 if it cannot.
func machineClock() uint64 {
	boot := netstack.Boot("")
	if boot == "" {
		return 0
	}
	return hashed([]byte(boot))
}
