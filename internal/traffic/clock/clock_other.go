//go:build !windows

package clock

import "time"

// Instant is a reading of the clock.
type Instant struct{ t time.Time }

// Now reads the clock, on most systems without a system call.
func Now() Instant { return Instant{time.Now()} }

// Since returns the time that has passed since an instant.
func (i Instant) Since() time.Duration { return time.Since(i.t) }

// Add returns the instant that lies d after i.
func (i Instant) Add(d time.Duration) Instant { return Instant{i.t.Add(d)} }
