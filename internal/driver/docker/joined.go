//go:build linux

package docker

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
)

// network: containers on a network that is there already, whatever made it.
func (p *path) network(ctx context.Context) error {
	name := containers.Parameter(p.Mode)
	on, err := p.a.engine.Network(ctx, name)
	if err != nil {
		return err
	}
	if err := joinable(on); err != nil {
		return err
	}
	if on.Scope == engine.ScopeSwarm { // a worker knows it only while one of its containers is on it
		// An engine would try for 20 seconds. Each takes an address of its own as well.
		if err := p.checkFreeAddresses(on, on, 2*p.PairCount+len(p.sides())); err != nil {
			return err
		}
		return p.joined(ctx, on, on, func(string, int) []netip.Addr { return nil })
	}
	far, err := p.b.engine.Network(ctx, name)
	if err != nil {
		return err
	}
	if far.Driver != on.Driver {
		return fmt.Errorf("join network %s: the driver of it is %s on engine a and %s on engine b; make it alike on both", name, on.Driver, far.Driver)
	}
	free, shared := containers.FreeAddresses(on, far, 2*p.PairCount)
	if !shared { // whether they can meet all the same is the driver's affair
		return p.joined(ctx, on, far, func(string, int) []netip.Addr { return nil })
	}
	if err := p.checkFreeAddresses(on, far, 2*p.PairCount); err != nil {
		return err
	}
	return p.joined(ctx, on, far, func(role string, pair int) []netip.Addr {
		if role == containers.Client {
			return free[2*pair-2 : 2*pair-1]
		}
		return free[2*pair-1 : 2*pair]
	})
}

// joinable says why no container can be measured on a network.
func joinable(on engine.Network) error {
	switch {
	case on.Driver == "host" || on.Driver == "null":
		return fmt.Errorf("join network %s: its driver is %s, which gives a container no interface of its own; name a network that containers share", on.Name, on.Driver)
	case on.Scope == engine.ScopeSwarm && !on.Attachable:
		return fmt.Errorf("join network %s: it belongs to a Swarm and lets only services join; make it with docker network create --attachable", on.Name)
	}
	return nil
}

// checkFreeAddresses says when a network, which may be two, has too few addresses left.
func (p *path) checkFreeAddresses(a, b engine.Network, wanted int) error {
	if free, known := containers.FreeAddresses(a, b, wanted); known && len(free) < wanted {
		return fmt.Errorf("join network %s: %d addresses are wanted and %d are free; remove what has them, or make it with a larger subnet", a.Name, wanted, len(free))
	}
	return nil
}

// driven: containers on a network that is made with the driver and the options that
// were asked for. It goes with the engines.
func (p *path) driven(ctx context.Context) error {
	spec := engine.NetworkSpec{Run: p.lab.Spec.Claim.ID, Driver: containers.Parameter(p.Mode), Options: maps.Clone(p.order.Options)}
	spec.Name = engine.Name(spec.Run, "driver")
	if err := containers.ExtractIPAM(&spec); err != nil {
		return err
	}
	if !spec.Subnet.IsValid() {
		spec.Subnet, _ = containers.SplitFamilies(p.lab.Addresses(lab.NetOverlay, 0))
	}
	on, err := p.a.engine.CreateNetwork(ctx, spec)
	if err != nil && strings.Contains(err.Error(), "not a swarm manager") {
		// Networks of this driver belong to a Swarm.
		if err := private.Swarm(ctx, p.lab, p.a.engine, p.b.engine); err != nil {
			return err
		}
		spec.Attachable = true
		on, err = p.a.engine.CreateNetwork(ctx, spec)
	}
	if err != nil {
		return err
	}
	if on.Scope == engine.ScopeSwarm {
		return p.joined(ctx, on, on, func(string, int) []netip.Addr { return nil })
	}
	far, err := p.b.engine.CreateNetwork(ctx, spec)
	if err != nil {
		return err
	}
	from := spec.Subnet
	if spec.Range.IsValid() {
		from = spec.Range
	}
	if at := containers.NthAddress(from, 2*p.PairCount+1); !from.Contains(at) || at == containers.LastAddress(from) {
		return fmt.Errorf("make a network with driver %s: %s has no room for %d containers; give it a larger one", spec.Driver, from, 2*p.PairCount)
	}
	return p.joined(ctx, on, far, func(role string, pair int) []netip.Addr {
		number := 2 * pair // the first is the gateway's, unless that is said to be elsewhere
		if role == containers.Server {
			number++
		}
		return []netip.Addr{containers.NthAddress(from, number)}
	})
}

// joined puts the ends on one network, or on two that their driver makes one, and
// declares what is known of any: what the containers' own interfaces must show, and
// that the hosts of a lab have one wire between them.
func (p *path) joined(ctx context.Context, near, far engine.Network, fixed func(role string, pair int) []netip.Addr) error {
	start := func() ([]containerPair, error) {
		return p.containerPairs(ctx, p.a, p.b, func(role string, pair int) engine.ContainerSpec {
			on := near
			if role == containers.Server {
				on = far
			}
			return engine.ContainerSpec{Network: on.Name, Addresses: fixed(role, pair)}
		})
	}
	if near.Scope == engine.ScopeSwarm {
		start = func() ([]containerPair, error) { return p.onSwarm(ctx, near, containers.GossipTimeout) }
	}
	all, err := start()
	if err != nil {
		return err
	}
	for i, c := range all {
		from, err := p.only(i+1, c.from, pathspec.Transmits)
		if err != nil {
			return err
		}
		to, err := p.only(i+1, c.to, pathspec.Receives)
		if err != nil {
			return err
		}
		at, err := c.to.addr()
		if err != nil {
			return err
		}
		p.AddPair(c.from.end(), c.to.end(), []netip.Addr{at}, []netip.Addr{at}, pathspec.ServerChoosesPort)
		if i == 0 {
			p.SetSteps(c.from.process(), pathspec.PerPair(pathspec.DeviceStep(c.from.Place, from)), drawn(p.a, near), p.a.device(eth),
				p.b.device(eth), drawn(p.b, far), pathspec.PerPair(pathspec.DeviceStep(c.to.Place, to)), c.to.process())
		}
	}
	if near.Scope == engine.ScopeSwarm {
		p.sharedUnderlay()
	} else {
		p.underlay()
	}
	p.facts = append(p.facts, result.Fact{Name: "network driver", Value: near.Driver}, result.Fact{Name: "network scope", Value: near.Scope})
	return nil
}

// only declares that a container's traffic goes by the device with its address on
// the network and by no other.
func (p *path) only(pair int, b *box, forward pathspec.Direction) (pathspec.Device, error) {
	addr, err := b.addr()
	if err != nil {
		return pathspec.Device{}, err
	}
	name, err := b.ns.DeviceWith(addr)
	if err != nil {
		return pathspec.Device{}, err
	}
	device := pathspec.Device{Name: name}
	p.MustCarry(pair, b.Place, device, forward)
	return device, p.aside(b, name)
}

// drawn is what a network's driver has made on a host, which only it knows.
func drawn(s *side, n engine.Network) pathspec.Step {
	facts := []result.Fact{{Name: "driver", Value: n.Driver}, {Name: "scope", Value: n.Scope}}
	for _, name := range slices.Sorted(maps.Keys(n.Options)) {
		facts = append(facts, result.Fact{Name: "option " + name, Value: n.Options[name]})
	}
	return pathspec.RuleStep(s.Place, "network", "network "+n.Driver, facts...)
}
