package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/observe"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/runner/reachability"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// trialRun is the state of one trial while it runs.
type trialRun struct {
	plan.Trial
	tested        *modeUnderTest
	work          traffic.Workload
	pairs         []*pair
	load          *pair          // beside pairs; nil for a workload without a load
	event         *driver.Event  // in the middle of the timed window; nil for a workload without one
	run           string         // the run's id
	eventLimit    time.Duration  // maximum time that the event takes
	standby       *standby       // the server that takes the place of that of the first pair in the event; nil for none
	client        traffic.Report // totals of all pairs, after they have ended
	server        traffic.Report
	before        driver.Counters
	elsewhere     driver.Counters // what the event has led past counters of the path
	out           result.Trial
	budget        time.Duration       // maximum time of this trial, without the slices of others
	limit         time.Duration       // for all trials interleaved with this one: the sum of their budgets
	drain         time.Duration       // time for data in flight at the end of a window; see measurement.drainLimit
	elapsed       time.Duration       // time of this trial, without the slices of others
	search        *search             // nil for other workloads
	setUp         *reachability.Times // of a trial that sets the mode up, nil for any other
	err           error
	invalidReason string          // why a rule makes the trial invalid; empty: it is valid
	progress      *progressRate   // nil if the run does not report progress
	flaps         []string        // devices of the path whose carrier changed
	beside        int64           // connections and datagrams of others at the ports of the path's own checks
	observed      *evidence.Trial // what was read around it
	shown         *result.Proof   // its proof, nil if the path could not be checked

	underlay study.Lab // link between its hosts, zero if unknown
}

// errNoRate prevents a trial of the cost pass from running without a rate limit.
var errNoRate = errors.New("the cost pass has no rate yet (a bug: the run must skip it)")

// voidError means that the path was not proven.
type voidError struct{ error }

// measurement runs groups of trials.
type measurement struct {
	testbed
	patience time.Duration // how much longer the run waits, in all, for a quieter machine
}

func (r *measurement) trialRuns(trials []plan.Trial, attempt int) []*trialRun {
	limit := r.groupLimit(trials)
	var group []*trialRun
	for _, t := range trials {
		tr := &trialRun{Trial: t, tested: r.underTest(t.Mode), run: r.cfg.RunID, budget: r.budget(t), limit: limit, drain: r.drainLimit(t), eventLimit: cmp.Or(r.cfg.eventLimit, driver.EventTimeout())}
		tr.observed = r.observer.Trial(t, tr.tested, &tr.out, func() bool { return tr.err != nil })
		tr.underlay = tr.tested.underlay()
		tr.out = r.emptyRecord(t, attempt)
		if t.InCostPass() && tr.out.Rate == 0 {
			tr.err = errNoRate
			group = append(group, tr)
			continue
		}
		if tr.pairs, tr.err = r.pairs(tr.tested, t, limit); tr.err == nil {
			tr.work, tr.err = workload(tr.pairs[0].clientSide)
		}
		if tr.err == nil {
			tr.load, tr.err = r.loadBeside(tr, limit)
		}
		if tr.err == nil {
			tr.event, tr.err = eventOf(tr)
		}
		if tr.err == nil {
			tr.standby, tr.err = standbyOf(tr)
		}
		group = append(group, tr)
	}
	return group
}

// emptyRecord is the record of a trial that has not run.
func (r *measurement) emptyRecord(t plan.Trial, attempt int) result.Trial {
	return result.Trial{
		Schema: result.TrialSchema, Block: t.Block, Mode: t.Mode, Workload: t.Workload.ID, Attempt: attempt, Setup: r.underTest(t.Mode).setups, Requeued: t.Requeued,
		Pilot: t.Pilot(), Paces: t.Paces, Profiled: t.Profiled, TailRate: t.TailRate(), Paced: !t.Aside() && r.out.PaceOf(t.Workload.ID) != nil,
		Held: t.Held.Seconds(), Rate: plan.Offered(t.Workload), Warmup: t.Workload.Warmup.Std().Seconds(), Window: t.Workload.Duration.Std().Seconds(),
	}
}

// observedTrials returns the observations of the trials of a group.
func observedTrials(group []*trialRun) []*evidence.Trial {
	var out []*evidence.Trial
	for _, tr := range group {
		out = append(out, tr.observed)
	}
	return out
}

// endpointAddresses are the addresses of the endpoints of pairs.
func endpointAddresses(pairs ...*pair) (ends []netip.AddrPort) {
	for _, p := range pairs {
		ends = append(ends, p.trial.Endpoints()...)
	}
	return ends
}

// waitBeforeGroup waits before a group of trials and records the wait with the first
// trial. The CPU use during the wait is the idle baseline: all modes are set up and none
// has traffic.
func (r *measurement) waitBeforeGroup(ctx context.Context, group []*trialRun) error {
	began := time.Now()
	for _, tr := range group {
		if !r.cfg.Machines.Local() && tr.err == nil {
			// Missing agents would otherwise start after the wait. A failure is reported
			// then.
			_ = tr.tested.start(ctx, r.cfg.RunID, tr.Workload.Endpoints(), tr.Workload.Servers())
		}
	}
	idleFor := func(long time.Duration) observe.Window {
		return r.observer.ObserveIdle(ctx, observedTrials(group), func() {
			select {
			case <-time.After(long):
			case <-ctx.Done():
			}
		})
	}
	r.awaitQuiet(ctx, group, idleFor(r.observer.SettleTime(r.schedule.Plan.Settle)), func() observe.Window { return idleFor(quietWindow) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	group[0].out.Settle = time.Since(began).Seconds()
	return nil
}

// unlessFailed runs a part of the trial unless an earlier part failed, and adds its
// duration.
func (tr *trialRun) unlessFailed(do func() error) {
	if tr.err != nil {
		return
	}
	began := time.Now()
	tr.err = do()
	tr.elapsed += time.Since(began)
}

// runWhole runs one trial without slices.
func (r *measurement) runWhole(ctx context.Context, tr *trialRun) {
	ctx, cancel := bounded(ctx, tr)
	defer cancel()
	tr.unlessFailed(func() error { return r.begin(ctx, tr) })
	alone := []*evidence.Trial{tr.observed}
	sampling := r.observer.Sampling(alone)
	r.observer.Observe(alone, func() {
		tr.observed.CPUTime = tr.observed.Meter(ctx, func() {
			sampling.Window(tr.observed, func() { tr.finish(ctx, tr.runAgents) })
		})
	})
	sampling.Record()
	tr.unlessFailed(func() error { return tr.prove(ctx) })
	tr.release(ctx)
}

// begin reads the path's counters and opens the servers' ports.
func (r *measurement) begin(ctx context.Context, tr *trialRun) (err error) {
	tr.out.Started = r.now()
	if err := tr.tested.start(ctx, r.cfg.RunID, tr.Workload.Endpoints(), tr.Workload.Servers()); err != nil {
		return err
	}
	if err := tr.tested.path.FlushConnections(ctx); err != nil {
		return err
	}
	if tr.before, err = tr.tested.path.Snapshot(ctx); err != nil {
		return err
	}
	tr.observed.ReadStacksBefore(ctx)
	for i, p := range tr.all() {
		at := tr.tested.agents[i]
		if p != tr.load {
			r.reportProgress(tr, i)
		}
		if tr.fansIn() {
			continue
		}
		if p.trial, err = agent.Begin(ctx, at.client, at.server, p.clientSide, p.serverSide); err != nil {
			return err
		}
	}
	if err := tr.beginFanIn(ctx); err != nil {
		return err
	}
	if err := tr.beginStandby(ctx); err != nil {
		return err
	}
	tr.observed.WatchEndpoints(endpointAddresses(tr.all()...))
	return nil
}

// prove reads the counters again and checks the path against what was carried.
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
	for i, p := range tr.all() {
		carried = append(carried, tr.carriedWithRetransmits(i, driver.CarriedBy(p.client, p.server)))
	}
	if s := tr.standby; s != nil && !s.succeeds() {
		carried = driver.CarriedInTurn(tr.pairs[0].client, s.before, s.after)
	}
	if tr.fansIn() {
		carried = driver.CarriedFanIn(tr.clients(), tr.pairs[0].server)
	}
	after = tr.lateCounters(ctx, after, carried)
	for name, n := range tr.elsewhere {
		after[name] += n
	}
	err = tr.proof(after, carried)
	tr.addPairs()
	tr.observed.AttributeLosses(tr.accounts())
	tr.senders()
	return tr.proofError(err)
}

// lateInterval is the time between two readings of counters that are updated late.
const lateInterval = 100 * time.Millisecond

// lateCounters returns counters that were read after a trial. Where they do not prove the path
// yet, and hardware on it updates its counters late, it reads them again.
func (tr *trialRun) lateCounters(ctx context.Context, after driver.Counters, carried []driver.Carried) driver.Counters {
	path := tr.tested.path
	for until := time.Now().Add(path.CountersLate); time.Now().Before(until); {
		if err := driver.Verify(path.Rules, tr.before, after, carried); err == nil || errors.Is(err, driver.ErrTooLittleTraffic) {
			break
		}
		select {
		case <-time.After(lateInterval):
		case <-ctx.Done():
			return after
		}
		again, err := path.Snapshot(ctx)
		if err != nil {
			break // the proof fails with what was read
		}
		after = again
	}
	return after
}

// proof checks the path against what was carried since tr.before, and keeps the findings.
func (tr *trialRun) proof(after driver.Counters, carried []driver.Carried) error {
	err := cmp.Or(tr.tested.path.Prove(tr.before, after, carried), tr.oneServer())
	if !errors.Is(err, driver.ErrTooLittleTraffic) {
		tr.shown = &result.Proof{Workload: tr.out.Workload, Holds: err == nil, Findings: tr.tested.path.Findings(tr.before, after, carried)}
	}
	return err
}

// proofError converts the result of a proof to the error of the trial.
func (tr *trialRun) proofError(err error) error {
	if err == nil || errors.Is(err, driver.ErrTooLittleTraffic) {
		return err // too little traffic proves nothing: the trial failed and is tried again
	}
	// The counters have what others sent, too. So they show nothing about the path: others must not
	// be able to make a mode void.
	if notes := tr.foreignTraffic(); len(notes) > 0 {
		return fmt.Errorf("%w. %s", err, notes[0].Text)
	}
	return &voidError{err}
}

// count records the increments of the path's counters, and which links flapped. It leaves
// out carrier counters that did not change.
func (tr *trialRun) count(moved driver.Counters) {
	if tr.event == nil || !tr.event.Flaps {
		tr.flaps = moved.Flaps()
	}
	maps.DeleteFunc(moved, func(name string, n uint64) bool { return n == 0 && strings.HasSuffix(name, "."+driver.CarrierChanges) })
	tr.out.Counters = moved
}

// evaluate computes the metrics of a trial that has succeeded so far.
func (tr *trialRun) evaluate() {
	if tr.err == nil {
		if tr.err = cmp.Or(tr.computeMetrics(), tr.checkLength()); tr.err != nil {
			tr.out.Metrics, tr.out.Series, tr.out.Distributions = nil, nil, nil
		}
	}
	tr.observed.NoteUnexplained()
	tr.observed.NoteLost()
	tr.observed.NoteCards()
	tr.observed.NoteThrottled()
}

// computeMetrics computes the metrics from the reports of a proven trial.
func (tr *trialRun) computeMetrics() error {
	if tr.setUp != nil {
		tr.out.Metrics = setUpMetrics(*tr.setUp)
		return nil
	}
	if tr.search != nil {
		if err := tr.search.judge(&tr.out); err != nil {
			return err
		}
		return checkSearchRate(tr.underlay, tr.out)
	}
	p := tr.pairs[0].clientSide
	metrics, series := tr.work.Metrics(p, tr.client, tr.server)
	for i, one := range tr.pairs {
		own, _ := tr.work.Metrics(one.clientSide, one.client, one.server)
		if tr.fansIn() {
			if err := checkClient(p, own, tr.elapsed, one.client, tr.server); err != nil {
				return fmt.Errorf("client %d: %w", i+1, err)
			}
			continue
		}
		if err := cmp.Or(checkMetrics(own, one.client, one.server), checkTraffic(p, own, one.client, one.server), checkElapsed(tr.elapsed, one.client, one.server)); err != nil {
			return tr.pairError(i, err)
		}
	}
	if err := cmp.Or(checkMetrics(metrics, tr.client, tr.server), checkRate(tr.underlay, len(tr.pairs), p, tr.out.Counters, tr.client, tr.server)); err != nil {
		return err
	}
	if err := tr.judgeLoad(metrics); err != nil {
		return err
	}
	if v, known := tr.out.Metrics[result.Memory]; known { // which was read when the traffic had ended
		metrics[result.Memory] = v
	}
	tr.out.Metrics, tr.out.Series = metrics, series
	tr.recordEvent()
	if tr.out.CarriedPace() {
		tr.out.Notes = slices.DeleteFunc(tr.out.Notes, func(n result.Note) bool { return n.Code == string(warning.GeneratorLimited) })
	}
	tr.out.Distributions = traffic.Distributions(p, tr.client, tr.server, metrics)
	return nil
}

// conclude creates the record of a trial that has ended.
func (tr *trialRun) conclude(seq int) result.Trial {
	tr.out.Seq, tr.out.Elapsed = seq, tr.elapsed.Seconds()
	switch {
	case tr.err == nil && tr.invalidReason == "":
		tr.out.Status = result.TrialOK
		return tr.out
	case tr.err == nil:
		tr.out.Status, tr.out.Reason = result.TrialInvalid, tr.invalidReason
		return tr.out
	}
	if lost := tr.tested.lost(); lost != nil && !strings.Contains(tr.err.Error(), lost.Error()) {
		tr.err = fmt.Errorf("%w (%w)", lost, tr.err)
	}
	tr.out.Status, tr.out.Reason = result.TrialFailed, oneLine(tr.err.Error())
	if tr.out.Attempts == nil {
		tr.out.Attempts = traffic.AttemptsOf(tr.err)
	}
	if tr.out.Void = errors.As(tr.err, new(*voidError)); !tr.out.Void {
		// The agents may be in any state; the next attempt starts new ones.
		_ = tr.tested.stopAgents()
	}
	return tr.out
}
