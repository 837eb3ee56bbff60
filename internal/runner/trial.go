package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

// lane is one trial under way.
type lane struct {
	plan.Trial
	stage  *stage
	work   traffic.Workload
	pairs  []*pair
	client traffic.Report // of all pairs together, once they have ended
	server traffic.Report
	before driver.Counters
	out    result.Trial
	limit  time.Duration // for all trials that take turns with this one
	drain  time.Duration // what its windows may take for what is still under way; see run.drain
	busy   time.Duration // spent on this trial, without the turns of others
	search *search       // of a rate search
	err    error
	ruled  string          // why it is ruled out, by a rule fixed beforehand; empty: it counts
	pulse  *pulse          // nil where nobody looks
	flaps  []string        // devices of the path whose carrier came or went
	seen   *evidence.Trial // what is read around it
	shown  *result.Proof   // what its proof rests on, nil where its path does not tell

	underlay study.Lab // the link between its hosts, zero where nothing is known of it
}

// errNoRate keeps a trial of the pass from being driven as fast as it goes.
var errNoRate = errors.New("the pass has no rate yet: the run should have left it out")

// voidError is a path that was not proven.
type voidError struct{ error }

func (r *run) lanes(trials []plan.Trial, attempt int) []*lane {
	limit := trialGrace
	for _, t := range trials {
		limit += r.longest(t)
	}
	var lanes []*lane
	for _, t := range trials {
		l := &lane{Trial: t, stage: r.stage(t.Mode), limit: limit, drain: r.drain(t)}
		l.seen = r.observer.Trial(t, l.stage, &l.out, func() bool { return l.err != nil })
		l.underlay = l.stage.underlay()
		l.out = result.Trial{Schema: result.TrialSchema, Block: t.Block, Mode: t.Mode, Workload: t.Workload.ID, Attempt: attempt, Requeued: t.Requeued,
			Pilot: t.Pilot(), Profiled: t.Profiled, Rate: plan.Offered(t.Workload), Warmup: t.Workload.Warmup.Std().Seconds(), Window: t.Workload.Duration.Std().Seconds()}
		if t.Costing() && l.out.Rate == 0 {
			l.err = errNoRate
			lanes = append(lanes, l)
			continue
		}
		if l.pairs, l.err = r.pairs(l.stage, t, limit); l.err == nil {
			l.work, l.err = workload(l.pairs[0].clientSide)
		}
		lanes = append(lanes, l)
	}
	return lanes
}

// seen are what is read around the trials of a group.
func seen(lanes []*lane) []*evidence.Trial {
	var out []*evidence.Trial
	for _, l := range lanes {
		out = append(out, l.seen)
	}
	return out
}

// endsOf are the addresses between which the traffic of pairs is.
func endsOf(pairs ...*pair) (ends []netip.AddrPort) {
	for _, p := range pairs {
		ends = append(ends, p.trial.Ends()...)
	}
	return ends
}

// inFlight is more than one connection has under way at once where its buffers are not
// the study's: what the kernel lets it grow to, and the queue of the rate limit.
// drainMost bounds what a window is given for all of them.
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
		return stretch*t.Most() + time.Duration(t.Rounds()+1)*once
	}
	return t.Most() + once
}

// drain is what a window may take on a slow underlay for what is still under way when it
// ends. Bulk transfers leave whole buffers, which the kernel makes twice as large as asked
// for, and those of fifty streams take seconds.
func (r *run) drain(t plan.Trial) time.Duration {
	rate := r.stage(t.Mode).underlay().Rate
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

// settleDown waits before a group of trials. The wait is booked to the first. What the
// machine works meanwhile is its idle baseline: all modes stand, and none has traffic.
func (r *run) settleDown(ctx context.Context, lanes []*lane) error {
	began := time.Now()
	for _, l := range lanes {
		if !r.cfg.Ground.Local() && l.err == nil {
			// Agents that are not there yet would be started behind the wait. What keeps them
			// from it is told then.
			_ = l.stage.start(ctx, r.cfg.RunID, len(l.pairs))
		}
	}
	r.observer.Idle(ctx, seen(lanes), func() {
		select {
		case <-time.After(r.schedule.Plan.Settle):
		case <-ctx.Done():
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lanes[0].out.Settle = time.Since(began).Seconds()
	return nil
}

// step does a part of a lane's trial unless an earlier one failed, and books the
// time.
func (l *lane) step(do func() error) {
	if l.err != nil {
		return
	}
	began := time.Now()
	l.err = do()
	l.busy += time.Since(began)
}

// bounded is the context of a group of trials.
func bounded(ctx context.Context, l *lane) (context.Context, context.CancelFunc) {
	long := l.limit + controllerGrace
	return context.WithTimeoutCause(ctx, long, fmt.Errorf("the trial was given up after %s", long))
}

// atOnce runs one trial in one piece.
func (r *run) atOnce(ctx context.Context, l *lane) {
	ctx, cancel := bounded(ctx, l)
	defer cancel()
	l.step(func() error { return r.begin(ctx, l) })
	sampling := r.observer.Sampling(l.seen)
	r.observer.Around([]*evidence.Trial{l.seen}, func() {
		l.seen.Spent = l.seen.Meter(ctx, func() {
			sampling.While(func() { l.finish(ctx, (*agent.Trial).Run) })
		})
	})
	r.observer.Keep(l.seen, sampling)
	l.step(func() error { return l.prove(ctx) })
	l.release(ctx)
}

// begin reads the path's counters and opens the servers' ports.
func (r *run) begin(ctx context.Context, l *lane) (err error) {
	l.out.Started = time.Now().UTC()
	if err := l.stage.start(ctx, r.cfg.RunID, len(l.pairs)); err != nil {
		return err
	}
	if err := l.stage.path.Forget(ctx); err != nil {
		return err
	}
	if l.before, err = l.stage.path.Snapshot(ctx); err != nil {
		return err
	}
	l.seen.ReadStacks(ctx)
	for i, p := range l.pairs {
		at := l.stage.agents[i]
		r.follow(l, i)
		if p.trial, err = agent.Begin(ctx, at.client, at.server, p.clientSide, p.serverSide); err != nil {
			return err
		}
	}
	l.seen.WatchEnds(endsOf(l.pairs...))
	return nil
}

// prove reads the counters again and holds the path to what was carried.
func (l *lane) prove(ctx context.Context) error {
	after, err := l.stage.path.Snapshot(ctx)
	if err != nil {
		return err
	}
	if moved, err := l.before.Moved(after); err == nil {
		l.count(moved)
	}
	l.seen.ReadAgain(ctx)
	var carried []driver.Carried
	for i, p := range l.pairs {
		carried = append(carried, l.held(i, driver.CarriedBy(p.client, p.server)))
	}
	err = l.proof(after, carried)
	l.sum()
	l.seen.BookLosses(l.accounts())
	l.senders()
	return proven(err)
}

// proof holds the path to what was carried since l.before, and keeps what it rests on.
func (l *lane) proof(after driver.Counters, carried []driver.Carried) error {
	err := l.stage.path.Prove(l.before, after, carried)
	if !errors.Is(err, driver.ErrTooLittle) {
		l.shown = &result.Proof{Workload: l.out.Workload, Holds: err == nil, Findings: l.stage.path.Findings(l.before, after, carried)}
	}
	return err
}

// proven is what the outcome of a proof means for the trial.
func proven(err error) error {
	if err == nil || errors.Is(err, driver.ErrTooLittle) {
		return err // too little says nothing of the path: the trial failed, and is tried again
	}
	return &voidError{err}
}

// count records how far the path's counters moved, and which links flapped. Those
// of carriers are left out where nothing happened.
func (l *lane) count(moved driver.Counters) {
	l.flaps = moved.Flaps()
	maps.DeleteFunc(moved, func(name string, n uint64) bool { return n == 0 && strings.HasSuffix(name, "."+driver.CarrierChanges) })
	l.out.Counters = moved
}

// figure judges a lane whose trial has ended well so far.
func (l *lane) figure() {
	if l.err == nil {
		l.err = l.judge()
	}
	l.seen.NoteUnexplained()
}

// judge turns the reports of a proven trial into its figures.
func (l *lane) judge() error {
	if l.search != nil {
		if err := l.search.judge(&l.out); err != nil {
			return err
		}
		return tooMuch(l.underlay, l.out)
	}
	p := l.pairs[0].clientSide
	metrics, series := l.work.Metrics(p, l.client, l.server)
	for i, one := range l.pairs {
		own, _ := l.work.Metrics(one.clientSide, one.client, one.server)
		if err := cmp.Or(impossible(own, one.client, one.server), nothing(p, own, one.client, one.server), longer(l.busy, one.client, one.server)); err != nil {
			return l.of(i, err)
		}
	}
	if err := cmp.Or(impossible(metrics, l.client, l.server), tooFast(l.underlay, len(l.pairs), p, l.out.Counters, l.client, l.server)); err != nil {
		return err
	}
	l.out.Metrics, l.out.Series = metrics, series
	l.out.Distributions = traffic.Distributions(p, l.client, l.server, metrics)
	return nil
}

// conclude makes the record of a trial that has ended.
func (l *lane) conclude(seq int) result.Trial {
	l.out.Seq, l.out.Elapsed = seq, l.busy.Seconds()
	switch {
	case l.err == nil && l.ruled == "":
		l.out.Status = result.TrialOK
		return l.out
	case l.err == nil:
		l.out.Status, l.out.Reason = result.TrialInvalid, l.ruled
		return l.out
	}
	l.out.Status, l.out.Reason = result.TrialFailed, l.err.Error()
	if l.out.Void = errors.As(l.err, new(*voidError)); !l.out.Void {
		// Whatever state the agents are in, the next attempt gets new ones.
		_ = l.stage.dismiss()
	}
	return l.out
}
