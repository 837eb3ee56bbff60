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
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// search is the state of a rate search: a trial with many steps.
type search struct {
	config  ratesearch.Config
	state   *ratesearch.Search
	payload float64 // bits of a datagram
	steps   []result.Step
	costs   []stepCost      // of each step
	last    driver.Counters // of the path, after the last step that succeeded
	carried *driver.Carried // since trialRun.before, nil for nothing
	moved   driver.Counters // of everything proven so far
	began   time.Time       // of the first step
	ended   bool
	broken  bool // a step failed: what it carried is unknown
}

// searches runs the searches of one workload and block, one step each in a new random
// order in each round, so that changes of the machine's speed affect all of them alike. A
// mode whose search has ended leaves the rounds.
//
// The path of each mode is checked against the total that its steps carried.
func (r *measurement) searches(ctx context.Context, group []*trialRun) {
	ctx, cancel := bounded(ctx, group[0])
	defer cancel()
	for _, tr := range group {
		tr.unlessFailed(func() error { return r.beginSearch(ctx, tr) })
	}
	var quiet time.Time // since when no step has sent
	for round := 0; ; round++ {
		active := false
		rng := rand.New(rand.NewPCG(r.schedule.Plan.Seed, uint64(group[0].Block)<<32|uint64(round)))
		for _, i := range rng.Perm(len(group)) {
			tr := group[i]
			if tr.err != nil || tr.search.ended {
				continue
			}
			req, more := tr.search.state.Next()
			if tr.search.ended = !more; !more {
				continue
			}
			active = true
			tr.unlessFailed(func() error { return pause(ctx, quiet.Add(tr.Workload.Pause.Std())) })
			tr.unlessFailed(func() error { return r.searchStep(ctx, tr, req, &quiet) })
		}
		if !active {
			break
		}
	}
	for _, tr := range group {
		if tr.search == nil {
			continue
		}
		tr.unlessFailed(func() error { return tr.endSearch(ctx) })
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

// beginSearch creates the search and reads the path's counters. The search starts near
// the result of an earlier search of this mode.
func (r *measurement) beginSearch(ctx context.Context, tr *trialRun) (err error) {
	tr.out.Started = r.now()
	w := tr.Workload
	s := &search{config: plan.Search(w), payload: plan.PayloadBits(w), moved: driver.Counters{}}
	s.config.Near = r.earlierBrackets(tr.Mode, w.ID)
	if s.state, err = ratesearch.New(s.config); err != nil {
		return err
	}
	tr.search = s
	if err := r.beginSegment(ctx, tr); err != nil {
		return err
	}
	tr.observed.ReadStacksBefore(ctx)
	return nil
}

// beginSegment begins a part of the search that is proven together: it starts missing
// agents and reads the counters.
func (r *measurement) beginSegment(ctx context.Context, tr *trialRun) (err error) {
	if err := tr.tested.start(ctx, r.cfg.RunID, len(tr.pairs), len(tr.pairs)); err != nil {
		return err
	}
	if tr.before, err = tr.tested.path.Snapshot(ctx); err != nil {
		return err
	}
	tr.search.last, tr.search.carried = tr.before, nil
	return nil
}

// earlierBrackets is the result of the last search of a mode that had one.
func (r *measurement) earlierBrackets(mode, workload string) []ratesearch.Bracket {
	last := r.schedule.LastSearch(mode, workload)
	if last == nil {
		return nil
	}
	var found []ratesearch.Outcome
	for _, g := range last.Goals {
		found = append(found, ratesearch.Outcome{Goal: ratesearch.Goal{Name: g.Metric}, Lower: g.Lower, Upper: g.Upper})
	}
	return ratesearch.Brackets(found)
}

// stepAttempts is how many times a step is tried before its search fails.
const stepAttempts = 2

// searchStep runs one step and adds the result to the search. What a failed step has
// carried is unknown: the steps before it are proven separately, and the step is repeated
// with new agents.
func (r *measurement) searchStep(ctx context.Context, tr *trialRun, req ratesearch.Request, quiet *time.Time) error {
	for attempt := 1; ; attempt++ {
		t, backlog, err := r.measureStep(ctx, tr, req, quiet)
		if err == nil {
			tr.search.note(t, backlog)
			return tr.search.state.Add(t)
		}
		if ctx.Err() != nil || attempt == stepAttempts {
			return fmt.Errorf("step of %.6g datagrams/s: %w", req.Load, err)
		}
		tr.search.broken = true
		if err := tr.proveSegment(); err != nil {
			return err
		}
		_ = tr.tested.stopAgents()
		if err := r.beginSegment(ctx, tr); err != nil {
			return err
		}
	}
}

// measureStep offers a load for the given time. It returns the result and how long the
// datagrams that were still queued took to arrive.
func (r *measurement) measureStep(ctx context.Context, tr *trialRun, req ratesearch.Request, quiet *time.Time) (t ratesearch.Trial, backlog float64, err error) {
	at := tr.Trial
	at.Workload.Duration = quantity.Duration(math.Round(req.Duration * float64(time.Second)))
	at.Workload.Rate = quantity.Load(math.Round(req.Load * tr.search.payload))
	long := at.Workload.Warmup.Std() + at.Workload.Duration.Std()
	pairs, err := r.pairs(tr.tested, at, long+r.drainLimit(at)+trialGrace())
	if err != nil {
		return t, 0, err
	}
	p, agents := pairs[0], tr.tested.agents[0]
	if err := tr.tested.path.FlushConnections(ctx); err != nil {
		return t, 0, err
	}
	r.reportProgress(tr, 0)
	if p.trial, err = agent.Begin(ctx, agents.client, agents.server, p.clientSide, p.serverSide); err != nil {
		return t, 0, err
	}
	tr.observed.WatchEndpoints(endpointAddresses(p))
	began := time.Now()
	if tr.search.began.IsZero() {
		tr.search.began = began
	}
	spent := tr.observed.Meter(ctx, func() { p.client, p.server, err = p.trial.Run(ctx) })
	*quiet = began.Add(long)
	if err == nil {
		err = checkReceived("server", p.client, p.server)
	}
	if err == nil {
		err = checkReceived("client", p.server, p.client)
	}
	if err != nil {
		return t, 0, err
	}
	if tr.search.last, err = tr.tested.path.Snapshot(ctx); err != nil {
		return t, 0, err
	}
	tr.search.costs = append(tr.search.costs, stepCost{
		load: req.Load, gbit: gbit(p.client, p.server), flowing: max(p.client.Traffic, p.server.Traffic), spent: spent,
	})
	tr.addStep(p)
	t, backlog = tr.search.trial(req, at.Workload, p)
	return t, backlog, nil
}

// addStep adds a step to what the search has carried.
func (tr *trialRun) addStep(p *pair) {
	one, s := driver.CarriedBy(p.client, p.server), tr.search
	if s.carried != nil {
		one = s.carried.Plus(one)
	}
	s.carried = &one
	all := tr.pairs[0]
	if len(s.steps) == 0 {
		all.clientSide, all.serverSide, all.client, all.server = p.clientSide, p.serverSide, p.client, p.server
		return
	}
	all.client, all.server = traffic.Concat(all.client, p.client), traffic.Concat(all.server, p.server)
}

// minBacklog is the minimum delay of a step's last datagrams that counts as a queue;
// shorter delays come from the scheduler.
const minBacklog = 10 * time.Millisecond

// trial is the result of a step. Datagrams that are still queued when the sender ends do
// arrive, but the path did not carry them at the offered rate: a queue of 50 ms would let
// a step of half a second carry a tenth too much. The delay of the last datagram minus
// that of the first is how much the queue grew; if it exceeds the precision of the
// search, the queued datagrams count as not received.
func (s *search) trial(req ratesearch.Request, w study.Workload, p *pair) (t ratesearch.Trial, backlog float64) {
	from, to := p.client, p.server
	if w.Direction == study.Reverse {
		from, to = to, from
	}
	sent, got := from.Datagrams.Total(), to.Datagrams.Total()
	t = ratesearch.Trial{Load: req.Load, Duration: req.Duration, Intended: from.Window.Slots, Sent: sent.SentCounted}
	t.Received = min(t.Sent, got.ReceivedCounted+traffic.Count(to.Datagrams.Late))
	grown := to.Traffic - from.Traffic
	if grown > max(minBacklog.Seconds(), w.Precision*req.Duration) && queued(to.Datagrams.Delay, grown) {
		backlog = grown
		t.Received = max(0, t.Received-int64(float64(got.Received)*grown/to.Traffic))
	}
	return t, backlog
}

// queued distinguishes a queue, in which delays grow over the whole step, from a receiver
// that was not scheduled at the end, where most datagrams arrived without delay. Unknown
// delays count as a queue.
func queued(delay *traffic.Distribution, grown float64) bool {
	return delay == nil || delay.Count() == 0 || delay.Quantile(0.5)-delay.Quantile(0.01) > grown/4
}

// note records a step.
func (s *search) note(t ratesearch.Trial, backlog float64) {
	s.steps = append(s.steps, result.Step{
		Load: t.Load, Duration: t.Duration, Sent: t.Sent, Received: t.Received, LossRatio: t.LossRatio(), Limited: t.Limited(), Backlog: backlog,
	})
}

// proveSegment checks the path against what the steps since tr.before carried.
func (tr *trialRun) proveSegment() error {
	s := tr.search
	if s.carried == nil {
		return nil
	}
	if moved, err := tr.before.Delta(s.last); err == nil {
		for name, n := range moved {
			s.moved[name] += n
		}
	}
	return tr.proofError(tr.proof(s.last, []driver.Carried{*s.carried}))
}

// endSearch proves the last segment and adds up the totals.
func (tr *trialRun) endSearch(ctx context.Context) error {
	s := tr.search
	if len(s.steps) == 0 {
		return fmt.Errorf("the rate search completed no step within %s", tr.Workload.MaxSearch)
	}
	if s.carried != nil {
		s.last = tr.lateCounters(ctx, s.last, []driver.Carried{*s.carried})
	}
	err := tr.proveSegment()
	tr.observed.ReadStacksAfter(ctx)
	tr.count(s.moved)
	tr.addPairs()
	tr.observed.AttributeLosses(tr.accounts())
	tr.observed.CPUTime = s.whole()
	tr.out.GeneratorLimited = nil // loads that could not be offered are recorded in the steps and in the results
	tr.out.Notes = slices.DeleteFunc(tr.out.Notes, func(n result.Note) bool { return n.Code == "generator_limited" })
	return err
}

// judge converts the results of a proven search to metrics: for each goal the conditional
// throughput in payload bit/s. A goal without a result has none.
func (s *search) judge(out *result.Trial) error {
	out.Metrics = map[string]float64{}
	out.Steps = s.steps
	out.Search = &result.Search{Payload: int(s.payload / 8), Seconds: s.state.Spent()}
	for _, o := range s.state.Outcomes() {
		out.Search.Goals = append(out.Search.Goals, result.SearchGoal{
			Metric: o.Name, LossGoal: o.LossRatio, ExceedRatio: o.ExceedRatio, Lower: o.Lower, Upper: o.Upper, Throughput: o.Throughput,
			Regular: o.Regular, AtLeast: o.AtLeast, Lossy: o.Lossy, Trials: o.Trials, LossyUpper: o.LossyUpper, Notes: o.Notes,
		})
		if code := noteCode(o); code != "" {
			for _, text := range o.Notes {
				out.Notes = append(out.Notes, result.Note{Code: string(code), Text: o.Name + ": " + text})
			}
		}
		if o.Throughput == nil {
			continue
		}
		v := *o.Throughput * s.payload
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("impossible values: %s is %g", o.Name, v)
		}
		out.Metrics[o.Name] = v
		if o.AtLeast {
			out.AtLeast = append(out.AtLeast, o.Name)
		}
	}
	return nil
}

// noteCode is the warning code for the notes of a result, empty if they only repeat a
// metric.
func noteCode(o ratesearch.Outcome) warning.Code {
	switch {
	case o.Throughput == nil:
		return warning.SearchNoResult
	case o.AtLeast:
		return warning.SearchAtLeast
	case !o.Regular:
		return warning.SearchUnfinished
	}
	return warning.LossInversion
}
