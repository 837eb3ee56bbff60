package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/traffic/clock"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// Rotation is a window whose flows one thread serves: it gives them the slots of the schedule in turn.
type Rotation struct {
	*Window
	Clock       Clock
	next, Limit uint64 // the next slot to check, the first slot after the window
}

// NewRotation starts the clock of a window.
func NewRotation(w *Window) Rotation {
	r := Rotation{Window: w, next: w.Schedule.First(0)}
	_, r.Limit = w.FirstSlot(0)
	r.Clock = NewClock(w)
	return r
}

// AllGiven reports whether the flows were given all slots of the window.
func (r *Rotation) AllGiven() bool { return r.next >= r.Limit }

// SendDue lets begin start the requests that are due, and returns how long the thread may wait. Begin may be called for a flow
// that is busy, or has nothing due.
func (r *Rotation) SendDue(begin func(flow int, at time.Duration) error) (wait time.Duration, err error) {
	if !r.Open() {
		return socket.PollTimeout, nil
	}
	wait = socket.PollTimeout
	if at := r.Clock.Since(); at <= r.LastSend() {
		behind, n := min(r.Schedule.First(at+1), r.Limit), uint64(r.Params.Streams)
		if behind > r.next+n { // each flow knows its own next slot, so one check of each is enough
			r.next = behind - n
		}
		for ; r.next < behind; r.next++ {
			if err := begin(int(r.next%n), at); err != nil {
				return 0, err
			}
		}
		next := r.Bins.End // when all were given, the window ends then
		if r.next < r.Limit {
			next = r.Schedule.Due(r.next)
		}
		if left := next - r.Clock.Since(); left > 0 || r.next < r.Limit {
			wait = max(min(wait, left), 0)
		}
	}
	if r.Params.Spins() {
		wait = 0
	}
	if wait == 0 {
		thread.Yield() // the server may share the CPU
	}
	return wait, nil
}

// Take returns when a flow's next slot is due and moves it on, if that is at at or before.
func (r *Rotation) Take(slot *uint64, at time.Duration) (due time.Duration, ok bool) {
	if *slot >= r.Limit {
		return 0, false
	}
	if due = r.Schedule.Due(*slot); due > at {
		return 0, false
	}
	*slot += uint64(r.Params.Streams)
	return due, true
}

// ErrCancelled is returned by an endpoint whose context has ended; WithCause adds the cause.
var ErrCancelled = errors.New("cancelled")

// WithCause adds why the context ended to the error of an endpoint that ended with it. The error need not be
// ErrCancelled: the peer may have been cancelled first, and then it has gone.
func WithCause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, context.Cause(ctx))
}

// Clock measures the time since its creation, with the clock that it also sleeps by.
type Clock struct {
	start clock.Instant
	mono  int64 // CLOCK_MONOTONIC at start, ns

	spin bool
}

// NewClock starts the clock of a window. If it is used to sleep, the thread gets the smallest
// timer slack: the default delays every wake-up by 50 us.
func NewClock(w *Window) Clock {
	if w.Open() {
		// If it fails, sends are later, which the round trips show.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // every Linux has it
	return Clock{w.Begin(), ts.Nano(), w.Params.Spins()}
}

// Since is the time since the clock was started.
func (c Clock) Since() time.Duration { return c.start.Since() }

// SleepUntil returns at or after a time. It polls the clock only if the trial asks for that: if both
// endpoints share a CPU, that takes time from the server.
func (c Clock) SleepUntil(at time.Duration, over *atomic.Bool) error {
	for {
		now := c.Since()
		if now >= at {
			return nil
		}
		if over.Load() {
			return ErrCancelled
		}
		if c.spin {
			thread.Yield()
			continue
		}
		// A raw call blocks the Go runtime, so it lasts no longer than PollTimeout.
		socket.SleepUntil(c.mono + int64(min(at, now+socket.PollTimeout)))
	}
}

// AcceptTimeout bounds one wait for a connection or its request. A silent foreign connection
// delays the others once, by no more than this.
const AcceptTimeout = 20 * time.Millisecond
