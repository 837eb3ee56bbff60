package engines

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// Probe builds the mode once, including Podmans, and removes it again.
func (d Podman) Probe(ctx context.Context, o labdriver.Order) error {
	m, err := modeFor("podman", podmanModes(), o.Order)
	if err == nil {
		_, err = podmanFor(ctx, m, o)
	}
	if err != nil {
		return err
	}
	o.Lab.Pin = true
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode with its own lab and Podmans, with 1 to MaxPairs pairs.
func (Podman) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	m, err := modeFor("podman", podmanModes(), o.Order)
	if err == nil {
		err = cmp.Or(o.CheckPairs(), checkLimitable(m, o))
	}
	if err != nil {
		return nil, err
	}
	c, err := podmanFor(ctx, m, o)
	if err != nil {
		return nil, err
	}
	p := &path{parallel: parallelExchanges, patience: joinWait()}
	return p.provision(ctx, m, o, func() error { return p.startPodmans(ctx, m.engines, c) })
}

// checkLimitable rejects limits on an endpoint that is not in a container, or whose container an
// ordinary user's Podman cannot limit.
func checkLimitable(m mode, o labdriver.Order) error {
	none := study.Limit{}
	if o.Limits.Client != none && (m.raw.Client || m.rootless) || o.Limits.Server != none && (m.raw.Server || m.rootless) {
		return &driver.Unsupported{Mode: o.Mode, Reason: "limits are applied by Podman to containers, for root only; leave them out for host processes and for an ordinary user's containers"}
	}
	return nil
}

// podmanFor returns the Podman for a mode.
func podmanFor(ctx context.Context, m mode, o labdriver.Order) (private.Podman, error) {
	for key := range o.Options {
		if key != optionBackend || !m.options {
			return private.Podman{}, fmt.Errorf("provision %s: unknown option %s; the modes podman/bridge and podman/published have the option %s", o.Mode, key, optionBackend)
		}
	}
	lacking := func(reason string) error { return &driver.Unsupported{Mode: o.Mode, Reason: reason} }
	c, err := private.FindPodman(ctx, o.Options[optionBackend], m.programs...)
	if ctx.Err() != nil {
		return c, ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err != nil {
		return c, lacking(err.Error())
	}
	if c.Backend == private.BackendCNI && o.Lab.MTU != 0 && o.Lab.MTU != lab.DefaultMTU {
		return c, lacking(fmt.Sprintf("the default network of the backend cni has an MTU of %d; leave out the option or the MTU of the lab", lab.DefaultMTU))
	}
	if !m.rootless {
		return c, nil
	}
	c.User = private.OrdinaryUser
	if slices.Contains(m.programs, pastaProgram) && !c.AtLeast(4, 4) {
		return c, lacking(fmt.Sprintf("Podman %s (%s) has no network pasta; install 4.4 or newer", c.Version, c.Path))
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return c, lacking(err.Error())
	}
	return c, nil
}

// startPodmans starts Podmans.
func (p *path) startPodmans(ctx context.Context, need hostSet, c private.Podman) error {
	return p.start(ctx, need, func(ctx context.Context, s *side) error {
		engine, info, err := c.Start(ctx, p.lab, s.host)
		s.engine, s.podman, s.bridge = engine, &info, info.BridgeName()
		return err
	})
}

// parallelExchanges is the maximum number of pairs whose agents start at the same time: Podman starts
// several programs for each agent, and with more of them agents would exceed the time limits of their
// start.
const parallelExchanges = 8
