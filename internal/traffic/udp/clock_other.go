//go:build !linux && !windows

package udp

import trafficclock "tare/internal/traffic/clock"

// monotonic returns a clock of this process, which no other endpoint shares.
func monotonic() (base trafficclock.Instant, at int64, ok bool) { return trafficclock.Now(), 0, false }

func machineClock() uint64 { return 0 }
