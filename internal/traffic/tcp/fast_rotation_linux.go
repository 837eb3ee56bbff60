package tcp

import (
	"time"

	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// rotation is a window whose flows one thread serves: it gives them the slots of the schedule in turn.
type rotation struct {
	*rrWindow
	clock       preciseClock
	next, limit uint64 // the next slot to check, the first slot after the window
}

// sendDue lets begin start the requests that are due, and returns how long the thread may wait. Begin may be called for a flow
// that is busy, or has nothing due.
func (r *rotation) sendDue(begin func(flow int, at time.Duration) error) (wait time.Duration, err error) {
	if !r.open() {
		return socket.PollTimeout, nil
	}
	wait = socket.PollTimeout
	if at := r.clock.since(); at <= r.lastSend() {
		behind, n := min(r.schedule.first(at+1), r.limit), uint64(r.p.Streams)
		if behind > r.next+n { // each flow knows its own next slot, so one check of each is enough
			r.next = behind - n
		}
		for ; r.next < behind; r.next++ {
			if err := begin(int(r.next%n), at); err != nil {
				return 0, err
			}
		}
		if r.next < r.limit {
			wait = max(min(wait, r.schedule.due(r.next)-r.clock.since()), 0)
		}
	}
	if r.p.Spins() {
		wait = 0
	}
	if wait == 0 {
		thread.Yield() // the server may share the CPU
	}
	return wait, nil
}

// take returns when a flow's next slot is due and moves it on, if that is at at or before.
func (r *rotation) take(slot *uint64, at time.Duration) (due time.Duration, ok bool) {
	if *slot >= r.limit {
		return 0, false
	}
	if due = r.schedule.due(*slot); due > at {
		return 0, false
	}
	*slot += uint64(r.p.Streams)
	return due, true
}
