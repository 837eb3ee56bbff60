package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/setting"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/study"
)

// Probe builds the mode once, including engines, and removes it again.
func (d Docker) Probe(ctx context.Context, o labdriver.Order) error {
	m, err := modeFor("docker", dockerModes(), o.Order)
	if err == nil {
		_, err = engineFor(ctx, m, o)
	}
	if err != nil {
		return err
	}
	o.Lab.Pin = true
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode with its own lab and engines, with 1 to MaxPairs pairs.
func (d Docker) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	m, err := modeFor("docker", dockerModes(), o.Order)
	if err == nil {
		err = cmp.Or(o.CheckPairs(), checkLimits(m, o.Order), checkParts(m, o.Order), checkGatewayOptions(m, o.Order))
	}
	if err != nil {
		return nil, err
	}
	config, err := engineFor(ctx, m, o)
	if err != nil {
		return nil, err
	}
	p := &path{config: config, patience: cmp.Or(d.join, joinWait())}
	return p.provision(ctx, m, o, func() error {
		err := errors.Join(p.forward(m.engines), p.defaultRoutes(m.engines), p.startDocker(ctx, m.engines))
		if err == nil && d.ready != nil {
			err = d.ready(ctx, p)
		}
		return err
	})
}

// provision builds the mode in a lab of its own on the engines that start starts. On error nothing of it
// is left.
func (p *path) provision(ctx context.Context, m mode, o labdriver.Order, start func() error) (_ *driver.Path, err error) {
	if p.lab, err = lab.Up(o.Lab); err != nil {
		return nil, err
	}
	p.Path, p.order = pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, o.Order
	p.a, p.b = hostOf(p.lab.A), hostOf(p.lab.B)
	if err = start(); err == nil {
		err = m.build(p, ctx)
	}
	if err == nil {
		err = errors.Join(p.proveSandboxes(), p.withoutResolver(ctx), p.unconfined(), setting.Apply(&p.Path, o.With))
	}
	if err == nil && !p.reached {
		err = p.reachable(ctx, p.Pairs(), p.patience)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explainError(ctx, err)), p.close(context.WithoutCancel(ctx)))
	}
	return p.DriverPath(driver.Path{
		Hosts: labdriver.Hosts(), Underlay: labdriver.Underlay(o.Lab), Facts: append(p.versionFacts(), p.runtimeFacts(ctx)...), Processes: p.processes,
		Checks: p.checks, Snapshot: p.snapshot, FlushConnections: p.flushConnections, Close: p.close, Internal: p,
	}), nil
}

// checkLimits rejects limits on an endpoint that is not in a container.
func checkLimits(m mode, o driver.Order) error {
	for _, end := range []struct {
		name  string
		raw   bool
		limit study.Limit
	}{{"client", m.raw.Client, o.Limits.Client}, {"server", m.raw.Server, o.Limits.Server}} {
		if end.raw && end.limit != (study.Limit{}) {
			return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("limits are applied by a container engine, and the %s of this mode is a host process", end.name)}
		}
	}
	return nil
}

// forward makes the hosts of engines with the nftables backend routers: these require that, where
// others do it themselves.
func (p *path) forward(need hostSet) error {
	if p.config.Firewall != study.FirewallNftables {
		return nil
	}
	var errs []error
	for _, s := range p.on(need) {
		errs = append(errs, p.lab.EnableForwarding(s.ns))
	}
	return errors.Join(errs...)
}

// on returns some hosts of the lab.
func (p *path) on(need hostSet) (on []*side) {
	if need.a {
		on = append(on, p.a)
	}
	if need.b {
		on = append(on, p.b)
	}
	return on
}

// startDocker starts Docker Engines.
func (p *path) startDocker(ctx context.Context, need hostSet) error {
	return p.start(ctx, need, func(ctx context.Context, s *side) (err error) {
		s.engine, err = p.config.Start(ctx, p.lab, s.host)
		return err
	})
}

// start starts the required engines in parallel, each with one, and loads the containers' image into
// them, so that no container waits for it.
func (p *path) start(ctx context.Context, need hostSet, one func(context.Context, *side) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var errs [2]error
	var wg sync.WaitGroup
	for i, s := range p.on(need) {
		wg.Go(func() {
			if errs[i] = one(ctx, s); errs[i] == nil {
				_, errs[i] = s.engine.Image(ctx, p.lab.Spec.Claim.ID)
			}
			if errs[i] != nil {
				cancel() // the other is of no use alone
			}
		})
	}
	wg.Wait()
	if errs[1] != nil && errors.Is(errs[0], context.Canceled) {
		return errs[1] // one was cancelled because the other failed
	}
	return cmp.Or(errs[0], errs[1])
}

// engineFor returns the configuration of a mode's engines.
func engineFor(ctx context.Context, m mode, o labdriver.Order) (private.Config, error) {
	config, err := private.ConfigOf(o.Engine)
	if err == nil {
		err = rootlessConfig(&config, m, o)
	}
	if err == nil {
		err = config.MissingRequirements(ctx)
	}
	if ctx.Err() != nil { // the programs were asked in vain
		return config, context.Cause(ctx)
	}
	if err != nil {
		return config, &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
	}
	if config.Firewall == study.FirewallNftables && m.swarm {
		return config, &driver.Unsupported{Mode: o.Mode, Reason: "an engine with the firewall backend nftables cannot form a Swarm; leave out firewall: nftables"}
	}
	config.NoProxy = config.NoProxy || o.Without(partProxy)
	return config, checkRuntime(o.Order, config)
}
