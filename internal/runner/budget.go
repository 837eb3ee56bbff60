package runner

import (
	"context"
	"fmt"
	"time"

	"tare/internal/plan"
	"tare/internal/timelimit"
)

// trialGrace is how much longer than its traffic a trial may take before its agents
// cancel it. controllerGrace is the additional time of the controller, because the agents
// report a more precise reason.
func trialGrace() time.Duration { return timelimit.Scaled(10 * time.Second) }

func controllerGrace() time.Duration { return timelimit.Scaled(5 * time.Second) }

// inFlight is an upper bound for the data in flight of one connection if the study does
// not set its buffers: the size to which the kernel lets a buffer grow, plus the queue of
// the rate limit. drainMost bounds the time that a window gets for all of it.
const (
	inFlight = 8 << 20
	maxDrain = 2 * time.Minute
)

// sliceTimeFactor is the factor by which an interleaved trial may exceed its planned
// length. On a slow path the data in flight at the end of a slice can take longer than
// the slice. A trial that hangs is cancelled in its slice; see runSlice.
const sliceTimeFactor = 5

// budget is the maximum time of a trial, its set-up and its proof included.
func (r *measurement) budget(t plan.Trial) time.Duration { return r.longest(t) + trialGrace() }

// groupLimit is the deadline that the trials of a group share: the sum of their budgets. A
// mode whose slices are slow exhausts its own budget, and no other mode loses time because
// of it.
func (r *measurement) groupLimit(trials []plan.Trial) (limit time.Duration) {
	for _, t := range trials {
		limit += r.budget(t)
	}
	return limit
}

// longest is the maximum time of a trial's traffic.
func (r *measurement) longest(t plan.Trial) time.Duration {
	once := r.drainLimit(t)
	if t.Sliced() {
		return sliceTimeFactor*t.MaxTime() + time.Duration(t.Rounds()+1)*once
	}
	return t.MaxTime() + once
}

// drainLimit is the extra time of a window on a slow underlay for data in flight at its
// end. Bulk transfers leave full buffers, which the kernel makes twice as large as
// requested, and those of fifty streams take seconds.
func (r *measurement) drainLimit(t plan.Trial) time.Duration {
	rate := r.underTest(t.Mode).underlay().Rate
	if rate == 0 {
		return min(2*t.Held, maxDrain)
	}
	each := float64(inFlight)
	if b := t.Workload.SendBuffer; !b.Auto {
		each = max(each/float64(max(1, t.Workload.Streams)), 2*float64(b.Bytes))
	}
	bytes := each * float64(max(1, t.Workload.Streams)*t.Workload.Clients())
	return min(time.Duration(bytes*8/float64(rate)*float64(time.Second)), maxDrain)
}

// bounded is the context of a group of trials, with its timeout.
func bounded(ctx context.Context, tr *trialRun) (context.Context, context.CancelFunc) {
	long := tr.limit + controllerGrace()
	return context.WithTimeoutCause(ctx, long, fmt.Errorf("the trial timed out after %s", long))
}
