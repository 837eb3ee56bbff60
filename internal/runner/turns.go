package runner

import (
	"context"
	"math/rand/v2"

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
		l.side(ctx, func(p *pair) error { return p.trial.Open(ctx) })
	}
	first := lanes[0].Trial
	r.around(lanes, func() {
		for round := range first.Rounds() {
			rng := rand.New(rand.NewPCG(r.plan.Seed, uint64(first.Block)<<32|uint64(round)))
			for _, i := range rng.Perm(len(lanes)) {
				lanes[i].turn()
				lanes[i].side(ctx, func(p *pair) error { return p.trial.Slice(ctx, first.Workload.Slice.Std()) })
			}
		}
	})
	for _, l := range lanes {
		l.turn()
		l.finish(ctx, (*agent.Trial).Close)
		l.step(func() error { return l.prove(ctx) })
		l.release(ctx)
	}
}
