package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/study"
	"tare/internal/traffic"
)

// trialGrace is what a trial may take beyond its traffic before its agents give
// it up; the controller waits a little longer, because their reason knows more.
const (
	trialGrace      = 10 * time.Second
	controllerGrace = 5 * time.Second
)

// trialRun is one trial under way.
type trialRun struct {
	plan.Trial
	tested        *modeUnderTest
	work          traffic.Workload
	pairs         []*pair
	client        traffic.Report // of all pairs together, once they have ended
	server        traffic.Report
	before        driver.Counters
	out           result.Trial
	limit         time.Duration // for all trials that take turns with this one
	drain         time.Duration // what its windows may take for what is still under way; see run.drain
	busy          time.Duration // spent on this trial, without the turns of others
	search        *search       // of a rate search
	err           error
	invalidReason string          // why it is ruled out, by a rule fixed beforehand; empty: it counts
	pulse         *pulse          // nil where nobody looks
	flaps         []string        // devices of the path whose carrier came or went
	observed      *evidence.Trial // what is read around it
	shown         *result.Proof   // what its proof rests on, nil where its path does not tell

	underlay study.Lab // the link between its hosts, zero where nothing is known of it
}

// errNoRate keeps a trial of the pass from being driven as fast as it goes.
var errNoRate = errors.New("the pass has no rate yet: the run should have left it out")

// voidError is a path that was not proven.
type voidError struct{ error }

func (r *run) trialRuns(trials []plan.Trial, attempt int) []*trialRun {
	limit := trialGrace
	for _, t := range trials {
		limit += r.longest(t)
	}
	var group []*trialRun
	for _, t := range trials {
		tr := &trialRun{Trial: t, tested: r.underTest(t.Mode), limit: limit, drain: r.drain(t)}
		tr.observed = r.observer.Trial(t, tr.tested, &tr.out, func() bool { return tr.err != nil })
		tr.underlay = tr.tested.underlay()
		tr.out = result.Trial{Schema: result.TrialSchema, Block: t.Block, Mode: t.Mode, Workload: t.Workload.ID, Attempt: attempt, Requeued: t.Requeued,
			Pilot: t.Pilot(), Profiled: t.Profiled, Rate: plan.Offered(t.Workload), Warmup: t.Workload.Warmup.Std().Seconds(), Window: t.Workload.Duration.Std().Seconds()}
		if t.InCostPass() && tr.out.Rate == 0 {
			tr.err = errNoRate
			group = append(group, tr)
			continue
		}
		if tr.pairs, tr.err = r.pairs(tr.tested, t, limit); tr.err == nil {
			tr.work, tr.err = workload(tr.pairs[0].clientSide)
		}
		group = append(group, tr)
	}
	return group
}

// seen are what is read around the trials of a group.
func seen(group []*trialRun) []*evidence.Trial {
	var out []*evidence.Trial
	for _, tr := range group {
		out = append(out, tr.observed)
	}
	return out
}

// endsOf are the addresses between which the traffic of pairs is.
func endsOf(pairs ...*pair) (ends []netip.AddrPort) {
	for _, p := range pairs {
		ends = append(ends, p.trial.Endpoints()...)
	}
	return ends
}

// inFlight is more than one connection has under way at once where its buffers are not
// the study's: what the kernel lets it grow to, and the queue of the rate limit.
// drainTimeout bounds what a window is given for all of them.
const (
	inFlight  = 8 << 20
	drainMost = 2 * time.Minute
)

// stretch is how many times its planned length a trial in turns may take. What a slow
// path has under way at the end of a slice is waited for, and can take it longer than the
// slice. A trial that hangs is given up by its slice: see turn.
const stretch = 5

// longest is what a trial may take.
func (r *run) longest(t plan.Trial) time.Duration {
	once := r.drain(t)
	if t.Sliced() {
		return stretch*t.MaxTime() + time.Duration(t.Rounds()+1)*once
	}
	return t.MaxTime() + once
}

// drain is what a window may take on a slow underlay for what is still under way when it
// ends. Bulk transfers leave whole buffers, which the kernel makes twice as large as asked
// for, and those of fifty streams take seconds.
func (r *run) drain(t plan.Trial) time.Duration {
	rate := r.underTest(t.Mode).underlay().Rate
	if rate == 0 {
		return 0
	}
	each := float64(inFlight)
	if b := t.Workload.SendBuffer; !b.Auto {
		each = max(each/float64(max(1, t.Workload.Streams)), 2*float64(b.Bytes))
	}
	bytes := each * float64(max(1, t.Workload.Streams)*max(1, t.Workload.Pairs))
	return min(time.Duration(bytes*8/float64(rate)*float64(time.Second)), drainMost)
}

// waitBeforeGroup waits before a group of trials. The wait is booked to the first. What the
// machine works meanwhile is its idle baseline: all modes stand, and none has traffic.
func (r *run) waitBeforeGroup(ctx context.Context, group []*trialRun) error {
	began := time.Now()
	for _, tr := range group {
		if !r.cfg.Ground.Local() && tr.err == nil {
			// Agents that are not there yet would be started behind the wait. What keeps them
			// from it is told then.
			_ = tr.tested.start(ctx, r.cfg.RunID, len(tr.pairs))
		}
	}
	r.observer.ObserveIdle(ctx, seen(group), func() {
		select {
		case <-time.After(r.schedule.Plan.Settle):
		case <-ctx.Done():
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	group[0].out.Settle = time.Since(began).Seconds()
	return nil
}

// unlessFailed does a part of a trial's trial unless an earlier one failed, and books the
// time.
func (tr *trialRun) unlessFailed(do func() error) {
	if tr.err != nil {
		return
	}
	began := time.Now()
	tr.err = do()
	tr.busy += time.Since(began)
}

// bounded is the context of a group of trials.
func bounded(ctx context.Context, tr *trialRun) (context.Context, context.CancelFunc) {
	long := tr.limit + controllerGrace
	return context.WithTimeoutCause(ctx, long, fmt.Errorf("the trial was given up after %s", long))
}

// runWhole runs one trial in one piece.
func (r *run) runWhole(ctx context.Context, tr *trialRun) {
	ctx, cancel := bounded(ctx, tr)
	defer cancel()
	tr.unlessFailed(func() error { return r.begin(ctx, tr) })
	sampling := r.observer.Sampling(tr.observed)
	r.observer.Observe([]*evidence.Trial{tr.observed}, func() {
		tr.observed.CPUTime = tr.observed.Meter(ctx, func() {
			sampling.SampleDuring(func() { tr.finish(ctx, (*agent.Trial).Run) })
		})
	})
	r.observer.RecordSamples(tr.observed, sampling)
	tr.unlessFailed(func() error { return tr.prove(ctx) })
	tr.release(ctx)
}

// begin reads the path's counters and opens the servers' ports.
func (r *run) begin(ctx context.Context, tr *trialRun) (err error) {
	tr.out.Started = time.Now().UTC()
	if err := tr.tested.start(ctx, r.cfg.RunID, len(tr.pairs)); err != nil {
		return err
	}
	if err := tr.tested.path.FlushConnections(ctx); err != nil {
		return err
	}
	if tr.before, err = tr.tested.path.Snapshot(ctx); err != nil {
		return err
	}
	tr.observed.ReadStacksBefore(ctx)
	for i, p := range tr.pairs {
		at := tr.tested.agents[i]
		r.follow(tr, i)
		if p.trial, err = agent.Begin(ctx, at.client, at.server, p.clientSide, p.serverSide); err != nil {
			return err
		}
	}
	tr.observed.WatchEndpoints(endsOf(tr.pairs...))
	return nil
}

// prove reads the counters again and holds the path to what was carried.
func (tr *trialRun) prove(ctx context.Context) error {
	after, err := tr.tested.path.Snapshot(ctx)
	if err != nil {
		return err
	}
	if moved, err := tr.before.Delta(after); err == nil {
		tr.count(moved)
	}
	tr.observed.ReadStacksAfter(ctx)
	var carried []driver.Carried
	for i, p := range tr.pairs {
		carried = append(carried, tr.carriedWithRetransmits(i, driver.CarriedBy(p.client, p.server)))
	}
	err = tr.proof(after, carried)
	tr.sum()
	tr.observed.AttributeLosses(tr.accounts())
	tr.senders()
	return proven(err)
}

// proof holds the path to what was carried since tr.before, and keeps what it rests on.
func (tr *trialRun) proof(after driver.Counters, carried []driver.Carried) error {
	err := tr.tested.path.Prove(tr.before, after, carried)
	if !errors.Is(err, driver.ErrTooLittleTraffic) {
		tr.shown = &result.Proof{Workload: tr.out.Workload, Holds: err == nil, Findings: tr.tested.path.Findings(tr.before, after, carried)}
	}
	return err
}

// proven is what the outcome of a proof means for the trial.
func proven(err error) error {
	if err == nil || errors.Is(err, driver.ErrTooLittleTraffic) {
		return err // too little says nothing of the path: the trial failed, and is tried again
	}
	return &voidError{err}
}

// count records how far the path's counters moved, and which links flapped. Those
// of carriers are left out where nothing happened.
func (tr *trialRun) count(moved driver.Counters) {
	tr.flaps = moved.Flaps()
	maps.DeleteFunc(moved, func(name string, n uint64) bool { return n == 0 && strings.HasSuffix(name, "."+driver.CarrierChanges) })
	tr.out.Counters = moved
}

// evaluate judges a trial whose trial has ended well so far.
func (tr *trialRun) evaluate() {
	if tr.err == nil {
		tr.err = tr.computeMetrics()
	}
	tr.observed.NoteUnexplained()
}

// computeMetrics turns the reports of a proven trial into its figures.
func (tr *trialRun) computeMetrics() error {
	if tr.search != nil {
		if err := tr.search.judge(&tr.out); err != nil {
			return err
		}
		return tooMuch(tr.underlay, tr.out)
	}
	p := tr.pairs[0].clientSide
	metrics, series := tr.work.Metrics(p, tr.client, tr.server)
	for i, one := range tr.pairs {
		own, _ := tr.work.Metrics(one.clientSide, one.client, one.server)
		if err := cmp.Or(impossible(own, one.client, one.server), nothing(p, own, one.client, one.server), longer(tr.busy, one.client, one.server)); err != nil {
			return tr.pairError(i, err)
		}
	}
	if err := cmp.Or(impossible(metrics, tr.client, tr.server), tooFast(tr.underlay, len(tr.pairs), p, tr.out.Counters, tr.client, tr.server)); err != nil {
		return err
	}
	tr.out.Metrics, tr.out.Series = metrics, series
	tr.out.Distributions = traffic.Distributions(p, tr.client, tr.server, metrics)
	return nil
}

// conclude makes the record of a trial that has ended.
func (tr *trialRun) conclude(seq int) result.Trial {
	tr.out.Seq, tr.out.Elapsed = seq, tr.busy.Seconds()
	switch {
	case tr.err == nil && tr.invalidReason == "":
		tr.out.Status = result.TrialOK
		return tr.out
	case tr.err == nil:
		tr.out.Status, tr.out.Reason = result.TrialInvalid, tr.invalidReason
		return tr.out
	}
	tr.out.Status, tr.out.Reason = result.TrialFailed, tr.err.Error()
	if tr.out.Void = errors.As(tr.err, new(*voidError)); !tr.out.Void {
		// Whatever state the agents are in, the next attempt gets new ones.
		_ = tr.tested.stopAgents()
	}
	return tr.out
}

// runInterleaved drives the trials of one workload and block in slices, one mode after
// the other, in a fresh random order each round. A machine whose speed wavers
// within seconds, as a virtual one does beside busy neighbours, then wavers for
// all of them alike; one after the other, each trial would meet its own weather.
// At any moment only one mode has traffic; all pairs of that mode have it at once.
func (r *run) runInterleaved(ctx context.Context, group []*trialRun) {
	ctx, cancel := bounded(ctx, group[0])
	defer cancel()
	for _, tr := range group {
		tr.unlessFailed(func() error { return r.begin(ctx, tr) })
		tr.observed.CPUTime = tr.observed.Meter(ctx, func() {
			tr.timedPart(ctx, "the warm-up", tr.Workload.Warmup.Std(), func(ctx context.Context, p *pair) error { return p.trial.Open(ctx) })
		})
	}
	first := group[0].Trial
	r.observer.Observe(seen(group), func() {
		for round := range first.Rounds() {
			rng := rand.New(rand.NewPCG(r.schedule.Plan.Seed, uint64(first.Block)<<32|uint64(round)))
			for _, i := range rng.Perm(len(group)) {
				r.runSlice(ctx, group[i])
			}
		}
	})
	for _, tr := range group {
		tr.observed.BeginSlice()
		tr.finish(ctx, (*agent.Trial).Close)
		tr.unlessFailed(func() error { return tr.prove(ctx) })
		tr.release(ctx)
	}
}

// runSlice gives a trial its slice. What the machine works in it is the trial's, and so it
// ends when what was sent has been worked off: else the next would pay for it.
func (r *run) runSlice(ctx context.Context, tr *trialRun) {
	if tr.err != nil {
		return // and the turns of a long trial that was given up are many
	}
	tr.observed.BeginSlice()
	s := tr.observed.Meter(ctx, func() {
		slice := tr.Workload.Slice.Std()
		tr.timedPart(ctx, "a slice", slice, func(ctx context.Context, p *pair) error { return p.trial.Slice(ctx, slice) })
		if tr.err == nil && tr.Workload.PayloadSize > 0 {
			time.Sleep(receiverPoll)
		}
	})
	tr.observed.CPUTime = tr.observed.CPUTime.Plus(s)
}

// timedPart does a part of a trial's trial that has traffic for so long. One that is not
// through long after is given up by itself: the trials that it takes turns with go on, and
// nothing of it is left under way in their slices.
func (tr *trialRun) timedPart(ctx context.Context, what string, long time.Duration, do func(context.Context, *pair) error) {
	most := long + tr.drain + trialGrace
	within, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%s of %s was not through after %s", what, long, most))
	defer cancel()
	tr.forEachPair(within, func(p *pair) error { return do(within, p) })
	if tr.err != nil {
		tr.release(ctx)
	}
}

// receiverPoll is how long a receiver of datagrams works on after the last was sent. A
// slice of TCP or of exchanges ends with what was sent, but of datagrams nobody hears
// at once that they have come: a buffer of 4 MiB holds 1800, which take a receiver 3 ms,
// and it looks out for more for 5 ms.
const receiverPoll = 5 * time.Millisecond
