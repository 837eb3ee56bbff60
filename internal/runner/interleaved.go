package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tare/internal/agent"
	"tare/internal/runner/evidence"
)

// runInterleaved runs the trials of one workload and block in interleaved slices, one
// mode after the other, in a new random order in each round. If the speed of the machine
// changes within seconds, as that of a virtual machine with busy neighbours does, it
// changes for all modes alike; sequential trials would each see a different background
// load. Only one mode has traffic at a time, on all its pairs at once.
func (r *measurement) runInterleaved(ctx context.Context, group []*trialRun) {
	ctx, cancel := bounded(ctx, group[0])
	defer cancel()
	for _, tr := range group {
		tr.unlessFailed(func() error { return r.begin(ctx, tr) })
		tr.observed.CPUTime = tr.observed.Meter(ctx, func() {
			tr.timedPart(ctx, "the warm-up", tr.Workload.Warmup.Std(), func(ctx context.Context, p *pair) (err error) {
				p.held, err = p.trial.Open(ctx)
				return err
			})
		})
	}
	checkRoundTrips(group)
	for _, tr := range group {
		if tr.err != nil {
			tr.release(ctx)
		}
	}
	first, observed := group[0].Trial, observedTrials(group)
	sampling := r.observer.Sampling(observed)
	r.observer.Observe(observed, func() {
		for round := range first.Rounds() {
			rng := rand.New(rand.NewPCG(r.schedule.Plan.Seed, uint64(first.Block)<<32|uint64(round)))
			for _, i := range rng.Perm(len(group)) {
				r.runSlice(ctx, group[i], sampling)
			}
		}
	})
	for _, tr := range group {
		tr.observed.BeginSlice()
		tr.finish(ctx, (*agent.Trial).Close)
		tr.unlessFailed(func() error { return tr.prove(ctx) })
		tr.release(ctx)
	}
	sampling.Record()
}

// enough reports whether a trial of exchanges has used so much of its time that its remaining slices
// are left out. On a path that loses packets, a slice of 20 ms lasts as long as a retransmission, and
// the exchanges of the slices so far are its sample. Only the client knows the slices.
func (tr *trialRun) enough() bool { return tr.exchanges() && tr.elapsed > tr.budget/2 }

// runSlice runs one slice of a trial. The CPU time in it is attributed to the trial, so
// it ends only when all data in flight has been processed; otherwise the next mode would
// pay for it.
func (r *measurement) runSlice(ctx context.Context, tr *trialRun, sampling *evidence.Sampling) {
	if tr.err != nil || tr.enough() {
		return // a long trial that failed has many more slices
	}
	tr.observed.BeginSlice()
	s := tr.observed.Meter(ctx, func() {
		slice := tr.Workload.Slice.Std()
		sampling.Slice(tr.observed, func() {
			tr.timedPart(ctx, "a slice", slice, func(ctx context.Context, p *pair) (err error) {
				p.held, err = p.trial.Slice(ctx, slice)
				return err
			})
		})
		if tr.err == nil && tr.Workload.PayloadSize > 0 {
			time.Sleep(receiverPoll)
		}
	})
	tr.observed.CPUTime = tr.observed.CPUTime.Plus(s)
}

// timedPart runs a part of the trial that has traffic for the given time. On a timeout
// only this trial is cancelled: the trials interleaved with it continue, and none of its
// traffic remains in their slices.
func (tr *trialRun) timedPart(ctx context.Context, what string, long time.Duration, do func(context.Context, *pair) error) {
	most := long + tr.drain + trialGrace()
	why := fmt.Errorf("%s of %s timed out after %s", what, long, most)
	if left := tr.budget - tr.elapsed; left < most {
		most = left
		why = fmt.Errorf("the trial used up its %s, because its slices take long to end: data in flight arrives slowly. Use fewer streams or smaller buffers", tr.budget)
	}
	within, cancel := context.WithTimeoutCause(ctx, most, why)
	defer cancel()
	before := tr.elapsed
	tr.forEachPair(within, func(p *pair) error { return do(within, p) })
	if tr.err == nil {
		tr.err = tr.checkHeld(tr.elapsed - before)
	}
	if tr.err != nil {
		tr.release(ctx)
	}
}

// receiverPoll is how long a receiver of datagrams continues after the last was sent. A
// slice of TCP or of exchanges ends when all data has arrived, but the arrival of
// datagrams is not signalled: a buffer of 4 MiB holds 1800 of them, which a receiver
// processes in 3 ms, and it then polls for more for 5 ms.
const receiverPoll = 5 * time.Millisecond
