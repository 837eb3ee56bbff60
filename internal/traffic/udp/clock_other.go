//go:build !linux

package udp

import "time"

// monotonic returns a clock of this process, which no other endpoint shares.
func monotonic() (base time.Time, at int64, ok bool) { return time.Now(), 0, false }
