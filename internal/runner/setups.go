package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/runner/reachability"
	"tare/internal/study"
)

// runSetUp recreates the mode of a trial and measures how long that takes. The path is proven by the connection that was
// answered first: what it carries after the set-up is counted, and no other is opened.
func (r *measurement) runSetUp(ctx context.Context, tr *trialRun) {
	tr.unlessFailed(func() error {
		tr.out.Started = r.now()
		return r.timeSetUp(ctx, tr)
	})
	if tr.err == nil || ctx.Err() != nil || errors.As(tr.err, new(*voidError)) {
		return
	}
	// The mode may be half set up, or not at all. One that cannot be set up again has failed.
	if err := r.recreate(ctx, tr.tested); err != nil {
		tr.err = errors.Join(tr.err, err)
	}
}

func (r *measurement) timeSetUp(ctx context.Context, tr *trialRun) error {
	s := tr.tested
	removed := s.clock
	if err := s.takeDown(); err != nil {
		return fmt.Errorf("cannot take the mode down to set it up again: %w", err)
	}
	probe := reachability.Begin(ctx, tr.Workload.Family == study.IPv6)
	defer probe.Close()
	probe.ServerLate(r.cfg.serverLate)
	if err := r.setUp(ctx, s, probe.Clock); err != nil {
		return err
	}
	s.setups++
	tr.out.Setup, tr.underlay = s.setups, s.underlay()
	took, err := probe.Wait(ctx)
	if err != nil {
		return err
	}
	tr.setUp, tr.out.SetupSteps = &took, steps(removed.Steps(), probe.Clock.Steps())
	return r.proveSetUp(ctx, tr, probe)
}

// proveSetUp proves the path by the connection that was answered first.
func (r *measurement) proveSetUp(ctx context.Context, tr *trialRun, probe *reachability.Probe) (err error) {
	path := tr.tested.path
	if tr.before, err = path.Snapshot(ctx); err != nil {
		return err
	}
	client, server, err := probe.Exchange(ctx)
	if err != nil {
		return err
	}
	after, err := path.Snapshot(ctx)
	if err != nil {
		return err
	}
	if moved, err := tr.before.Delta(after); err == nil {
		tr.count(moved)
	}
	carried := []driver.Carried{driver.CarriedBy(client, server)}
	return tr.proofError(tr.proof(tr.lateCounters(ctx, after, carried), carried))
}

// steps are the steps of a set-up with those by which the one before was removed, in seconds.
func steps(removed, setUp map[string]time.Duration) map[string]float64 {
	var out map[string]float64
	for _, of := range []map[string]time.Duration{removed, setUp} { // the newer replaces what both have
		for name, took := range of {
			if out == nil {
				out = map[string]float64{}
			}
			out[name] = took.Seconds()
		}
	}
	return out
}

// setUpMetrics are the metrics of a set-up.
func setUpMetrics(t reachability.Times) map[string]float64 {
	return map[string]float64{
		result.SetupSandbox: t.Sandbox, result.SetupConnect: t.Connect, result.SetupFirstByte: t.FirstByte, result.SetupFirst200: t.First200, result.SetupOwn: t.Own,
	}
}
