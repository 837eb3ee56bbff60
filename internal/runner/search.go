package runner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats/ratesearch"
	"tare/internal/study"
	"tare/internal/traffic"
)

// search is a rate search under way: a trial of many steps.
type search struct {
	config  ratesearch.Config
	state   *ratesearch.Search
	payload float64 // bits of a datagram
	steps   []result.Step
	costs   []stepCost      // what each of steps cost
	last    driver.Counters // of the path, behind the last step that went well
	carried *driver.Carried // since lane.before, nil for nothing
	moved   driver.Counters // over what has been proven
	began   time.Time       // of the first step
	ended   bool
	broken  bool // a step failed: what it carried nobody knows
}

// searches drives the searches of one workload and block, a step each in turn, in a
// fresh random order each round: a machine whose speed wavers then wavers for all of
// them alike. A mode whose search has ended leaves the round.
//
// The path of each is held to what all its steps carried together.
func (r *run) searches(ctx context.Context, lanes []*lane) {
	ctx, cancel := bounded(ctx, lanes[0])
	defer cancel()
	for _, l := range lanes {
		l.step(func() error { return r.beginSearch(ctx, l) })
	}
	var quiet time.Time // since when no step has sent
	for round := 0; ; round++ {
		active := false
		rng := rand.New(rand.NewPCG(r.schedule.Plan.Seed, uint64(lanes[0].Block)<<32|uint64(round)))
		for _, i := range rng.Perm(len(lanes)) {
			l := lanes[i]
			if l.err != nil || l.search.ended {
				continue
			}
			req, more := l.search.state.Next()
			if l.search.ended = !more; !more {
				continue
			}
			active = true
			l.step(func() error { return pause(ctx, quiet.Add(l.Workload.Pause.Std())) })
			l.step(func() error { return r.searchStep(ctx, l, req, &quiet) })
		}
		if !active {
			break
		}
	}
	for _, l := range lanes {
		if l.search == nil {
			continue
		}
		l.step(func() error { return l.endSearch(ctx) })
	}
}

// pause waits until the given moment.
func pause(ctx context.Context, until time.Time) error {
	select {
	case <-time.After(time.Until(until)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beginSearch makes the search, near where an earlier one of this mode ended, and
// reads the path's counters.
func (r *run) beginSearch(ctx context.Context, l *lane) (err error) {
	l.out.Started = time.Now().UTC()
	w := l.Workload
	s := &search{config: plan.Search(w), payload: plan.PayloadBits(w), moved: driver.Counters{}}
	s.config.Near = r.near(l.Mode, w.ID)
	if s.state, err = ratesearch.New(s.config); err != nil {
		return err
	}
	l.search = s
	if err := r.freshSegment(ctx, l); err != nil {
		return err
	}
	l.seen.ReadStacks(ctx)
	return nil
}

// freshSegment begins what is proven together: agents there, counters read.
func (r *run) freshSegment(ctx context.Context, l *lane) (err error) {
	if err := l.stage.start(ctx, r.cfg.RunID, len(l.pairs)); err != nil {
		return err
	}
	if l.before, err = l.stage.path.Snapshot(ctx); err != nil {
		return err
	}
	l.search.last, l.search.carried = l.before, nil
	return nil
}

// near is where the last search of a mode ended that had an answer.
func (r *run) near(mode, workload string) []ratesearch.Bracket {
	for _, t := range slices.Backward(r.schedule.Trials) {
		if t.Mode != mode || t.Workload != workload || t.Status != result.TrialOK || t.Search == nil {
			continue
		}
		var found []ratesearch.Outcome
		for _, g := range t.Search.Goals {
			found = append(found, ratesearch.Outcome{Goal: ratesearch.Goal{Name: g.Metric}, Lower: g.Lower, Upper: g.Upper})
		}
		return ratesearch.Brackets(found)
	}
	return nil
}

// stepAttempts is how often a step is tried before its search has failed.
const stepAttempts = 2

// searchStep makes one step and gives it to the search. What a step that failed has
// carried nobody knows: what went before it is proven by itself, and the step is made
// again with fresh agents.
func (r *run) searchStep(ctx context.Context, l *lane, req ratesearch.Request, quiet *time.Time) error {
	for attempt := 1; ; attempt++ {
		t, backlog, err := r.measure(ctx, l, req, quiet)
		if err == nil {
			l.search.note(t, backlog)
			return l.search.state.Add(t)
		}
		if ctx.Err() != nil || attempt == stepAttempts {
			return fmt.Errorf("step of %.6g datagrams/s: %w", req.Load, err)
		}
		l.search.broken = true
		if err := l.proveSegment(); err != nil {
			return err
		}
		_ = l.stage.dismiss()
		if err := r.freshSegment(ctx, l); err != nil {
			return err
		}
	}
}

// measure offers a load for a while and tells what came of it, and how long what was
// still queued took to arrive.
func (r *run) measure(ctx context.Context, l *lane, req ratesearch.Request, quiet *time.Time) (t ratesearch.Trial, backlog float64, err error) {
	at := l.Trial
	at.Workload.Duration = study.Duration(math.Round(req.Duration * float64(time.Second)))
	at.Workload.Rate = study.Load(math.Round(req.Load * l.search.payload))
	long := at.Workload.Warmup.Std() + at.Workload.Duration.Std()
	pairs, err := r.pairs(l.stage, at, long+r.drain(at)+trialGrace)
	if err != nil {
		return t, 0, err
	}
	p, agents := pairs[0], l.stage.agents[0]
	if err := l.stage.path.Forget(ctx); err != nil {
		return t, 0, err
	}
	r.follow(l, 0)
	if p.trial, err = agent.Begin(ctx, agents.client, agents.server, p.clientSide, p.serverSide); err != nil {
		return t, 0, err
	}
	l.seen.WatchEnds(endsOf(p))
	began := time.Now()
	if l.search.began.IsZero() {
		l.search.began = began
	}
	spent := l.seen.Meter(ctx, func() { p.client, p.server, err = p.trial.Run(ctx) })
	*quiet = began.Add(long)
	if err == nil {
		err = arrived("server", p.client, p.server)
	}
	if err == nil {
		err = arrived("client", p.server, p.client)
	}
	if err != nil {
		return t, 0, err
	}
	if l.search.last, err = l.stage.path.Snapshot(ctx); err != nil {
		return t, 0, err
	}
	l.search.costs = append(l.search.costs, stepCost{
		load: req.Load, gbit: gbit(p.client, p.server), flowing: max(p.client.Traffic, p.server.Traffic), spent: spent,
	})
	l.carry(p)
	t, backlog = l.search.trial(req, at.Workload, p)
	return t, backlog, nil
}

// carry adds a step to what the search has carried.
func (l *lane) carry(p *pair) {
	one, s := driver.CarriedBy(p.client, p.server), l.search
	if s.carried != nil {
		one = s.carried.Plus(one)
	}
	s.carried = &one
	all := l.pairs[0]
	if len(s.steps) == 0 {
		all.clientSide, all.serverSide, all.client, all.server = p.clientSide, p.serverSide, p.client, p.server
		return
	}
	all.client, all.server = traffic.Then(all.client, p.client), traffic.Then(all.server, p.server)
}

// backlogLeast is the least delay of a step's last datagrams that is taken for a
// queue rather than for a scheduler's whim.
const backlogLeast = 10 * time.Millisecond

// trial is what a step says of the path. Datagrams that are still queued when the
// sender has ended do arrive, but the path did not carry them at the rate offered: a
// queue of 50 ms would let a step of half a second carry a tenth more than there is.
// The last datagram's delay beyond the first one's tells how long the queue had
// grown; above the precision of the search, what was queued counts as not received.
func (s *search) trial(req ratesearch.Request, w study.Workload, p *pair) (t ratesearch.Trial, backlog float64) {
	from, to := p.client, p.server
	if w.Direction == study.Reverse {
		from, to = to, from
	}
	sent, got := flows(from.Datagrams), flows(to.Datagrams)
	t = ratesearch.Trial{Load: req.Load, Duration: req.Duration, Intended: from.Window.Slots, Sent: sent.SentCounted}
	t.Received = min(t.Sent, got.ReceivedCounted+to.Datagrams.Late)
	grown := to.Traffic - from.Traffic
	if grown > max(backlogLeast.Seconds(), w.Precision*req.Duration) && queued(to.Datagrams.Delay, grown) {
		backlog = grown
		t.Received = max(0, t.Received-int64(float64(got.Received)*grown/to.Traffic))
	}
	return t, backlog
}

// queued tells a queue, in which delays grow all along, from a receiver that slept at
// the end, where most datagrams have come at once. Where delays are unknown it is taken
// for a queue.
func queued(delay *traffic.Distribution, grown float64) bool {
	return delay == nil || delay.Count() == 0 || delay.Quantile(0.5)-delay.Quantile(0.01) > grown/4
}

// note records a step.
func (s *search) note(t ratesearch.Trial, backlog float64) {
	s.steps = append(s.steps, result.Step{
		Load: t.Load, Duration: t.Duration, Sent: t.Sent, Received: t.Received, LossRatio: t.LossRatio(), Limited: t.Limited(), Backlog: backlog,
	})
}

// proveSegment holds the path to what the steps since l.before carried.
func (l *lane) proveSegment() error {
	s := l.search
	if s.carried == nil {
		return nil
	}
	if moved, err := l.before.Moved(s.last); err == nil {
		for name, n := range moved {
			s.moved[name] += n
		}
	}
	return proven(l.proof(s.last, []driver.Carried{*s.carried}))
}

// endSearch proves the rest of it and sums up.
func (l *lane) endSearch(ctx context.Context) error {
	s := l.search
	if len(s.steps) == 0 {
		return fmt.Errorf("the search for a rate made no step within %s", l.Workload.MaxSearch)
	}
	err := l.proveSegment()
	l.seen.ReadAgain(ctx)
	l.count(s.moved)
	l.sum()
	l.seen.BookLosses(l.accounts())
	l.seen.Spent = s.whole()
	l.out.GeneratorLimited = nil // what could not be offered is in the steps, and in the answers
	l.out.Notes = slices.DeleteFunc(l.out.Notes, func(n result.Note) bool { return n.Code == "generator_limited" })
	return err
}
