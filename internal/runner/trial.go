package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
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
	stage          *stage
	work           traffic.Workload
	clientSide     traffic.Params
	serverSide     traffic.Params
	before         driver.Counters
	out            result.Trial
	served         chan served
	limit          time.Duration // for all trials that take turns with this one
	busy           time.Duration // spent on this trial, without the turns of others
	client, server traffic.Report
	err            error
}

// served is the answer of a trial's server.
type served struct {
	report traffic.Report
	err    error
}

// voidError is a path that was not proven.
type voidError struct{ error }

func (r *run) lanes(trials []plan.Trial, attempt int) []*lane {
	var limit time.Duration
	for _, t := range trials {
		limit += t.Traffic() + r.drain(t)
	}
	limit += trialGrace
	var lanes []*lane
	for _, t := range trials {
		l := &lane{Trial: t, stage: r.stage(t.Mode), limit: limit}
		l.out = result.Trial{Schema: result.TrialSchema, Block: t.Block, Mode: t.Mode, Workload: t.Workload.ID, Attempt: attempt}
		if l.work, l.err = traffic.Named(t.Workload.Kind); l.err == nil {
			l.clientSide, l.serverSide, l.err = r.params(l.stage, t, limit)
		}
		lanes = append(lanes, l)
	}
	return lanes
}

// inFlight is more than a lab's connections have under way at once: both
// buffers, doubled by the kernel, and the queue of the rate limit.
const inFlight = 8 << 20

// drain is what a trial may take on a slow underlay for what is still under way
// when its windows end.
func (r *run) drain(t plan.Trial) time.Duration {
	rate := r.cfg.Study.Lab.Rate
	if rate == 0 {
		return 0
	}
	once := min(time.Duration(float64(inFlight*8)/float64(rate)*float64(time.Second)), traffic.DrainWait)
	if t.Sliced() {
		return time.Duration(t.Rounds()+1) * once
	}
	return once
}

// settleDown waits before a group of trials. The wait is booked to the first.
func (r *run) settleDown(ctx context.Context, lanes []*lane) error {
	began := time.Now()
	select {
	case <-time.After(r.plan.Settle):
	case <-ctx.Done():
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
	session := r.watch.Start()
	l.step(func() (err error) {
		l.client, err = l.stage.client.Dial(ctx, l.clientSide)
		return err
	})
	l.step(l.awaitServer)
	figures, missing := session.Stop()
	for _, u := range missing {
		r.warn("not_observed", "run", "%s", u)
	}
	if l.err == nil {
		l.out.Machine = figures
	}
	l.step(func() error { return l.prove(ctx) })
	l.release(ctx)
}

// begin reads the path's counters and opens the server's port.
func (r *run) begin(ctx context.Context, l *lane) (err error) {
	l.out.Started = time.Now().UTC()
	if err := l.stage.agents(ctx, r.cfg.Claim.ID); err != nil {
		return err
	}
	if l.before, err = l.stage.path.Snapshot(ctx); err != nil {
		return err
	}
	port, err := l.stage.server.Listen(ctx, l.serverSide)
	if err != nil {
		return err
	}
	if l.clientSide.Address, err = withPort(l.clientSide.Address, port); err != nil {
		return err
	}
	l.served = make(chan served, 1)
	server := l.stage.server
	go func() {
		rep, err := server.Report(ctx)
		l.served <- served{rep, err}
	}()
	return nil
}

// awaitServer takes the server's report, which begin has asked for with a deadline.
func (l *lane) awaitServer() error {
	s := <-l.served
	l.served = nil
	l.server = s.report
	return s.err
}

// release lets go of the server of a trial that failed: it would wait for its
// own time limit.
func (l *lane) release(ctx context.Context) {
	if l.err == nil || l.served == nil {
		return
	}
	_ = l.stage.server.Abort(ctx) // if it cannot be told, it is ended by force
	if s := <-l.served; s.err != nil && l.stage.server.Gone() != nil {
		l.err = s.err // the server's end is what the client ran into
	}
}

// prove reads the counters again and holds the path to what was carried.
func (l *lane) prove(ctx context.Context) error {
	after, err := l.stage.path.Snapshot(ctx)
	if err != nil {
		return err
	}
	l.out.Client, l.out.Server = end(l.client), end(l.server)
	l.out.Traffic = max(l.client.Traffic, l.server.Traffic)
	if l.Sliced() {
		l.out.Traffic = l.client.Traffic // the server's clock runs on in the turns of others
	}
	if moved, err := l.before.Moved(after); err == nil {
		l.out.Counters = moved
	}
	if err := l.stage.path.Prove(ctx, l.before, after, driver.CarriedBy(l.client, l.server)); err != nil {
		return &voidError{err}
	}
	return nil
}

// conclude makes the record of a trial that has ended.
func (l *lane) conclude(seq int) result.Trial {
	l.out.Seq, l.out.Elapsed = seq, l.busy.Seconds()
	if l.err == nil {
		l.out.Status = result.TrialOK
		l.out.Metrics, l.out.Series = l.work.Metrics(l.clientSide, l.client, l.server)
		return l.out
	}
	l.out.Status, l.out.Reason = result.TrialFailed, l.err.Error()
	if l.out.Void = errors.As(l.err, new(*voidError)); !l.out.Void {
		// Whatever state the agents are in, the next attempt gets new ones.
		_ = l.stage.dismiss()
	}
	return l.out
}

// end is what a trial's record keeps of a report.
func end(rep traffic.Report) *result.End {
	e := &result.End{
		Congestion: rep.TCP.Congestion, SendBuffer: rep.SendBuffer, ReceiveBuffer: rep.ReceiveBuffer, MSS: rep.TCP.MSS,
		BytesSent: rep.Sent, BytesReceived: rep.Received, Retransmits: rep.Window.Retransmits,
	}
	if rep.CPU >= 0 {
		e.CPU = &rep.CPU
	}
	if rep.TCP.RTT > 0 {
		e.RTT = &rep.TCP.RTT
	}
	return e
}
