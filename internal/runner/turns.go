package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tare/internal/agent"
)

// inTurns drives the trials of one workload and block in slices, one mode after
// the other, in a fresh random order each round. A machine whose speed wavers
// within seconds, as a virtual one does beside busy neighbours, then wavers for
// all of them alike; one after the other, each trial would meet its own weather.
// At any moment only one mode has traffic; all pairs of that mode have it at once.
func (r *run) inTurns(ctx context.Context, lanes []*lane) {
	ctx, cancel := bounded(ctx, lanes[0])
	defer cancel()
	for _, l := range lanes {
		l.step(func() error { return r.begin(ctx, l) })
		l.seen.Spent = l.seen.Meter(ctx, func() {
			l.through(ctx, "the warm-up", l.Workload.Warmup.Std(), func(ctx context.Context, p *pair) error { return p.trial.Open(ctx) })
		})
	}
	first := lanes[0].Trial
	r.observer.Around(seen(lanes), func() {
		for round := range first.Rounds() {
			rng := rand.New(rand.NewPCG(r.schedule.Plan.Seed, uint64(first.Block)<<32|uint64(round)))
			for _, i := range rng.Perm(len(lanes)) {
				r.turn(ctx, lanes[i])
			}
		}
	})
	for _, l := range lanes {
		l.seen.TakeTurn()
		l.finish(ctx, (*agent.Trial).Close)
		l.step(func() error { return l.prove(ctx) })
		l.release(ctx)
	}
}

// turn gives a lane its slice. What the machine works in it is the lane's, and so it
// ends when what was sent has been worked off: else the next would pay for it.
func (r *run) turn(ctx context.Context, l *lane) {
	if l.err != nil {
		return // and the turns of a long trial that was given up are many
	}
	l.seen.TakeTurn()
	s := l.seen.Meter(ctx, func() {
		slice := l.Workload.Slice.Std()
		l.through(ctx, "a slice", slice, func(ctx context.Context, p *pair) error { return p.trial.Slice(ctx, slice) })
		if l.err == nil && l.Workload.PayloadSize > 0 {
			time.Sleep(afterglow)
		}
	})
	l.seen.Spent = l.seen.Spent.Plus(s)
}

// through does a part of a lane's trial that has traffic for so long. One that is not
// through long after is given up by itself: the trials that it takes turns with go on, and
// nothing of it is left under way in their slices.
func (l *lane) through(ctx context.Context, what string, long time.Duration, do func(context.Context, *pair) error) {
	most := long + l.drain + trialGrace
	within, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%s of %s was not through after %s", what, long, most))
	defer cancel()
	l.side(within, func(p *pair) error { return do(within, p) })
	if l.err != nil {
		l.release(ctx)
	}
}

// afterglow is how long a receiver of datagrams works on after the last was sent. A
// slice of TCP or of exchanges ends with what was sent, but of datagrams nobody hears
// at once that they have come: a buffer of 4 MiB holds 1800, which take a receiver 3 ms,
// and it looks out for more for 5 ms.
const afterglow = 5 * time.Millisecond
