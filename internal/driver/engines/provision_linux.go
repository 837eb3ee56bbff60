package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/engine/private"
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
		err = cmp.Or(o.CheckPairs(), checkLimits(m, o.Order), checkParts(m, o.Order), checkGatewayOptions(m, o.Order), checkLiveRestore(o.Order))
	}
	if err != nil {
		return nil, err
	}
	config, err := engineFor(ctx, m, o)
	if err != nil {
		return nil, err
	}
	p := newPath(o, config, 0, cmp.Or(d.join, joinWait()))
	p.renewable(m)
	return p.provision(ctx, m, o, func() error {
		err := errors.Join(p.forward(m.engines), p.defaultRoutes(m.engines), p.startDocker(ctx, m.engines))
		if err == nil && d.ready != nil {
			err = d.ready(ctx, p)
		}
		return err
	})
}

// checkLiveRestore rejects the setting where it would decide nothing.
func checkLiveRestore(o driver.Order) error {
	if _, has := o.With[settingLiveRestore]; has && !slices.Contains(o.Events, EngineRestart) {
		return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("%s decides what lives on in the event %s, which no workload has; leave it out", settingLiveRestore, EngineRestart)}
	}
	return nil
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
	if m.has(EngineRestart, o.Order, config) {
		config.LiveRestore, config.Restarts = !endsContainers(o.With), true
	}
	return config, checkRuntime(o.Order, config)
}
