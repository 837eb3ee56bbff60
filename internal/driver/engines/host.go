//go:build linux

package engines

import (
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/result"
)

// host: containers in their host's network.
func (p *path) host(ctx context.Context) error {
	spec := engine.ContainerSpec{Network: engine.HostNetwork}
	err := p.ForEachPair(func(pair int) error {
		from, err := p.run(ctx, p.a, containers.Client, pair, spec)
		if err != nil {
			return err
		}
		to, err := p.run(ctx, p.b, containers.Server, pair, spec)
		if err != nil {
			return err
		}
		p.AddPair(from.end(), to.end(), p.b.host.Addr, p.b.host.Addr, pathspec.ServerChoosesPort)
		if pair == 1 {
			p.SetSteps(from.process(), p.a.device(eth), p.b.device(eth), to.process())
		}
		return nil
	})
	p.underlay()
	for _, s := range []*side{p.a, p.b} {
		p.idle(s.Place, lo)
		if s.podman == nil {
			p.idle(s.Place, docker0)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(
		p.withoutConntrack(p.a, sends(eth, driver.Forward), receives(eth, driver.Reverse)),
		p.withoutConntrack(p.b, receives(eth, driver.Forward), sends(eth, driver.Reverse)))
}

// underlay requires that the traffic of all pairs crosses the underlay.
func (p *path) underlay() {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: eth}, pathspec.Receives)
}

// sharedUnderlay is underlay without an upper bound, because a Swarm's managers communicate
// over it all the time.
func (p *path) sharedUnderlay() {
	p.MustCarryAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarryAtLeast(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: eth}, pathspec.Receives)
}

// idle requires that no traffic crosses devices.
func (p *path) idle(at pathspec.Place, devices ...string) {
	for _, d := range devices {
		p.MustBeIdle(at, pathspec.Device{Name: d})
	}
}

// proven returns the step for a rule or a process that a counter proves.
func proven(at pathspec.Place, kind, label, counter string) pathspec.Step {
	of, _ := result.Of(counter)
	return pathspec.ProvenBy(pathspec.RuleStep(at, kind, label), of)
}
