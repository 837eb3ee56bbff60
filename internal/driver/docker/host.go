//go:build linux

package docker

import (
	"context"

	"tare/internal/driver/containers"
	"tare/internal/driver/notes"
	"tare/internal/engine"
)

// host: containers that have their host's network for their own.
func (p *path) host(ctx context.Context) error {
	spec := engine.ContainerSpec{Network: engine.HostNetwork}
	err := p.Each(func(pair int) error {
		from, err := p.run(ctx, p.a, containers.Client, pair, spec)
		if err != nil {
			return err
		}
		to, err := p.run(ctx, p.b, containers.Server, pair, spec)
		if err != nil {
			return err
		}
		p.Ends(from.end(), to.end(), p.b.host.Addr, p.b.host.Addr, notes.AnyPort)
		if pair == 1 {
			p.Draw(from.process(), p.a.device(eth), p.b.device(eth), to.process())
		}
		return nil
	})
	p.underlay()
	for _, s := range []*side{p.a, p.b} {
		p.Rests(s.Place, notes.Device{Name: lo})
		p.Rests(s.Place, notes.Device{Name: docker0})
	}
	return err
}

// underlay declares that the traffic of all pairs must cross the underlay.
func (p *path) underlay() {
	p.Carries(notes.All, p.a.Place, notes.Device{Name: eth}, notes.Transmits)
	p.Carries(notes.All, p.b.Place, notes.Device{Name: eth}, notes.Receives)
}

// sharedUnderlay is underlay where a Swarm's managers talk over it as well: as long
// as they stand, and so without a most.
func (p *path) sharedUnderlay() {
	p.CarriesAtLeast(notes.All, p.a.Place, notes.Device{Name: eth}, notes.Transmits)
	p.CarriesAtLeast(notes.All, p.b.Place, notes.Device{Name: eth}, notes.Receives)
}

// device is a device of a host in a drawing.
func (s *side) device(name string) notes.Step {
	return notes.DeviceAt(s.Place, notes.Device{Name: name})
}
