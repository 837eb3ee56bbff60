package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// eventOf is the event of a trial, nil for a workload without one.
func eventOf(tr *trialRun) (*driver.Event, error) {
	if tr.Workload.Event == "" {
		return nil, nil
	}
	e, err := tr.tested.path.EventNamed(tr.Workload.Event)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// runAgents runs the trial of a pair, with the event of the trial in its middle.
func (tr *trialRun) runAgents(t *agent.Trial, ctx context.Context) (client, server traffic.Report, err error) { //nolint:revive // as a method of t
	if tr.event == nil {
		return t.Run(ctx)
	}
	during, end := context.WithCancelCause(ctx)
	made := make(chan madeEvent, 1)
	go func() {
		m := tr.makeEvent(during, t)
		if m.err != nil {
			t.Abort(ctx)
		}
		made <- m
	}()
	client, server, err = t.Run(ctx)
	end(errTrialEnded)
	m := <-made
	failed := m.err
	if failed == nil && err == nil {
		failed = tr.proveEvent(ctx, m.before)
	}
	if failed == nil && err == nil && tr.standby != nil {
		failed = tr.proveReplaced(t)
	}
	if ended := m.successor.End(); ended != nil && ctx.Err() == nil {
		failed = errors.Join(failed, fmt.Errorf("end the server that has taken the place of another in the event %s: %w", tr.event.Name, ended))
	}
	if m.undo != nil {
		interrupted, limit := errors.Is(ctx.Err(), context.Canceled), driver.EventTimeout()
		if interrupted {
			limit = interruptedUndo
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		if undone := m.undo(within); undone != nil && !interrupted {
			failed = errors.Join(failed, fmt.Errorf("undo the event %s: %w", tr.event.Name, undone))
		}
	}
	if failed != nil && (err == nil || !errors.Is(failed, errTrialEnded)) { // an event that failed has ended the trial
		err = failed
	}
	return client, server, err
}

// interruptedUndo is how long an event may take to be undone in a run that was told to end: no trial follows, but what it made in a user's
// cluster has to be removed, and an engine that restarts is not waited for.
const interruptedUndo = 2 * time.Second

// errTrialEnded is why an event did not happen in a trial that had failed before.
var errTrialEnded = errors.New("the trial ended before it")

// madeEvent is an event that was made: the state before it, what undoes it, and why it failed.
type madeEvent struct {
	before    driver.Counters
	undo      func(context.Context) error
	successor *agent.Successor // nil without one
	err       error
}

// alsoUndo adds what undoes another step, which may be nil. The last step is undone first.
func (m *madeEvent) alsoUndo(last func(context.Context) error) {
	if earlier := m.undo; last != nil && earlier != nil {
		m.undo = func(ctx context.Context) error { return errors.Join(last(ctx), earlier(ctx)) }
	} else if last != nil {
		m.undo = last
	}
}

// makeEvent waits for the middle of the timed window and makes the event, which the client is told.
func (tr *trialRun) makeEvent(ctx context.Context, t *agent.Trial) (m madeEvent) {
	fail := func(doing string, err error) madeEvent {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		m.err = fmt.Errorf("%s the event %s: %w", doing, tr.event.Name, err)
		return m
	}
	select {
	case <-time.After(tr.Workload.Warmup.Std() + tr.Workload.Duration.Std()/2):
	case <-ctx.Done():
		return fail("wait for", ctx.Err())
	}
	whole := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, tr.eventLimit, fmt.Errorf("timed out after %s", tr.eventLimit))
	defer cancel()
	if tr.event.Prepare != nil {
		undo, err := tr.event.Prepare(ctx)
		m.alsoUndo(undo)
		if err != nil {
			return fail("prepare", err)
		}
	}
	before, err := tr.event.State(ctx)
	if err != nil {
		return fail("read the state before", err)
	}
	m.before = before
	late := tr.standby.succeeds()
	if late {
		m.successor = t.LaunchSuccessor(whole, tr.standby.end.Launcher, tr.run, tr.tested.mode.ID+"@"+tr.standby.end.Name, tr.standby.side)
	}
	if err := t.Event(ctx, false); err != nil {
		return fail("tell the client of", err)
	}
	if late {
		if err := t.Replace(ctx); err != nil {
			return fail("end the server for", err)
		}
	}
	undo, err := tr.event.Do(ctx)
	m.alsoUndo(undo)
	switch {
	case err != nil:
	case late:
		err = m.successor.Await(ctx)
	case tr.standby != nil:
		err = t.Replace(ctx)
	}
	if err != nil {
		if errors.Is(err, driver.ErrNoEvent) {
			m.err = &voidError{fmt.Errorf("the event %s: %w", tr.event.Name, err)}
			return m
		}
		return fail("make", err)
	}
	if err := t.Event(ctx, true); err != nil {
		return fail("tell the client of the end of", err)
	}
	return m
}

// proveEvent checks by the system's own state that the event happened.
func (tr *trialRun) proveEvent(ctx context.Context, before driver.Counters) error {
	after, err := tr.event.State(ctx)
	if err != nil {
		return fmt.Errorf("read the state after the event %s: %w", tr.event.Name, err)
	}
	if err := tr.event.Happened(before, after); err != nil {
		return &voidError{fmt.Errorf("the event %s %w: %w", tr.event.Name, driver.ErrNoEvent, err)}
	}
	tr.elsewhere = driver.Counters{}
	for from, to := range tr.event.Elsewhere {
		tr.elsewhere[to] += after[from] - before[from]
	}
	tr.out.Event = &result.Event{Name: tr.event.Name, Title: tr.event.Title, Changed: map[string]uint64{}}
	for name, is := range after {
		if was := before[name]; is > was {
			tr.out.Event.Changed[name] = is - was
		}
	}
	return nil
}

// recordEvent records what the client of a trial saw of its event.
func (tr *trialRun) recordEvent() {
	seen, e := tr.client.Window.Event, tr.out.Event
	if seen == nil || e == nil {
		return
	}
	e.Began, e.Ended, e.Due, e.Failed = seen.Began, seen.Ended, seen.Due, seen.Failed
	if seen.Recovery == nil {
		tr.out.Notes = append(tr.out.Notes, warning.NewNote(warning.NotRecovered,
			"the old rate was not back %.3g s after the event, when the trial ended: the time until then is unknown", warning.Said(tr.out.Window-seen.Began)))
	}
}
