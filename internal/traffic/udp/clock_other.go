//go:build !linux

package udp

import "time"

// monotonic begins a clock of this end's own, which no other end shares.
func monotonic() (base time.Time, at int64, ok bool) { return time.Now(), 0, false }
