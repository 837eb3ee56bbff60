package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/runner/reachability"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
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
	removed, had := s.clock, s.clock.Steps()
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
	tr.setUp, tr.out.SetupSteps = &took, steps(had, removed.Steps(), probe.Clock.Steps())
	return r.proveSetUp(ctx, tr, probe)
}

// proveSetUp proves the path by the connection that was answered first or, where the driver has found that out, by one after it.
func (r *measurement) proveSetUp(ctx context.Context, tr *trialRun, probe *reachability.Probe) (err error) {
	path := tr.tested.path
	if tr.before, err = path.Snapshot(ctx); err != nil {
		return err
	}
	exchange := probe.Exchange
	if probe.ByDriver() {
		exchange = func(ctx context.Context) (traffic.Report, traffic.Report, error) { return r.exchange(ctx, tr) }
	}
	client, server, err := exchange(ctx)
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

// exchange lets the agents of the first pair exchange messages for a moment.
func (r *measurement) exchange(ctx context.Context, tr *trialRun) (client, server traffic.Report, err error) {
	rr, err := workloads.Named("tcp_rr")
	if err != nil {
		return client, server, err
	}
	w := rr.Spec().Defaults
	w.Kind, w.Family, w.Congestion, w.RequestSize, w.ResponseSize = "tcp_rr", tr.Workload.Family, "", 4<<10, 4<<10
	w.Warmup, w.Duration = quantity.WaitOf(0), quantity.Duration(200*time.Millisecond)
	p, err := r.pair(traffic.ParamsOf(w), tr.tested.path.Pairs[0], tr.limit, anyCPU, anyCPU)
	if err != nil {
		return client, server, err
	}
	at := tr.tested.agents[0]
	t, err := agent.Begin(ctx, at.client, at.server, p.clientSide, p.serverSide)
	if err != nil {
		return client, server, err
	}
	return t.Run(ctx)
}

// steps are the steps of a set-up in seconds, with those by which the one before was removed: what its clock has now and had not.
func steps(had, has, setUp map[string]time.Duration) map[string]float64 {
	var out map[string]float64
	add := func(name string, took time.Duration) {
		if out == nil {
			out = map[string]float64{}
		}
		out[name] = took.Seconds()
	}
	for name, took := range has {
		if _, of := had[name]; !of {
			add(name, took)
		}
	}
	for name, took := range setUp {
		add(name, took)
	}
	return out
}

// setUpMetrics are the metrics of a set-up.
func setUpMetrics(t reachability.Times) map[string]float64 {
	return map[string]float64{
		result.SetupSandbox: t.Sandbox, result.SetupConnect: t.Connect, result.SetupFirstByte: t.FirstByte, result.SetupFirst200: t.First200, result.SetupOwn: t.Own,
	}
}
