package exchange

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// PrepareDue lets a thread of its own wake up when it asks to: the kernel may delay others by 50 us.
func PrepareDue(p traffic.Params) {
	if p.CPU >= 0 || p.RealTime() { // else the thread does other things later
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // if it fails, sends are later, which the round trips show
	}
}

// PauseUntilDue is Pause with the precision of the kernel's timers: those of the Go scheduler may be late by a millisecond.
func PauseUntilDue(ctx context.Context, d time.Duration) error {
	for began := time.Now(); ; {
		left := d - time.Since(began)
		if left <= 0 {
			return nil
		}
		ts := unix.NsecToTimespec(int64(min(left, socket.PollTimeout)))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // an interruption shortens the sleep
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
