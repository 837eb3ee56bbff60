// Package idle reads exactly how long each CPU has been idle.
//
// /proc/stat has idle time in steps of 10 ms. Where CPUs become idle through the kernel's cpuidle,
// its states have counters in microseconds (kernel, Documentation/admin-guide/pm/cpuidle.rst). A
// counter is brought up to date only when its CPU stops being idle. So a thread on each CPU
// reads that CPU's own counters: its wake-up ends the idle period.
package idle

import (
	"errors"
	"time"
)

// Reading is the idle time of one CPU. It is of every moment between From and To, because the CPU
// was busy with the reading itself.
type Reading struct {
	CPU      int
	Idle     time.Duration // since the machine started, in steps of 1 us for each state of cpuidle
	From, To time.Time
}

// ErrNone is the reason why idle time cannot be read exactly.
var ErrNone = errors.New("the kernel has no states of cpuidle whose time can be read")

const (
	// patience is how long Read waits for CPUs. One that is busy with other programs for longer is
	// left out.
	patience = 2 * time.Millisecond
	// maxSpan is how far From and To may be apart: between them, a thread that does not run leaves
	// the CPU to others, or idle.
	maxSpan = time.Millisecond
	// maxCPUs is the number of CPUs beyond which waking all of them would disturb what is
	// measured.
	maxCPUs = 64
)
