package udp

import (
	"crypto/sha256"
	"encoding/binary"

	trafficclock "tare/internal/traffic/clock"
)

// clock reads the time that datagrams carry, in ns. Two endpoints whose clocks have the same id,
// other than 0, read the same clock.
type clock struct {
	base trafficclock.Instant
	at   int64 // reading of the clock at base
	id   uint64
}

func newClock() clock {
	base, at, ok := monotonic()
	c := clock{base: base, at: at}
	if ok {
		c.id = machineClock()
	}
	return c
}

// now reads the clock, on most systems without a system call.
func (c clock) now() int64 { return c.at + int64(c.base.Since()) }

// hashed returns the id of a clock by what identifies it.
func hashed(identity []byte) uint64 {
	sum := sha256.Sum256(identity)
	return binary.LittleEndian.Uint64(sum[:])
}
