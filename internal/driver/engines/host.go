//go:build linux

package engines

import (
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
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
		p.MustBeIdle(s.Place, pathspec.Device{Name: lo})
		if s.podman == nil {
			p.MustBeIdle(s.Place, pathspec.Device{Name: docker0})
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

// device returns the step for a device of a host.
func (s *side) device(name string) pathspec.Step {
	return pathspec.DeviceStep(s.Place, pathspec.Device{Name: name})
}
