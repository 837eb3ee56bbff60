package engines

import (
	"cmp"
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

// network: containers on an existing network.
func (p *path) network(ctx context.Context) error {
	name := containers.Parameter(p.Mode)
	on, err := p.a.engine.Network(ctx, name)
	if err != nil {
		return err
	}
	if err := checkJoinable(on); err != nil {
		return err
	}
	if on.Scope == engine.ScopeSwarm { // a worker knows it only while it has a container on it
		// An engine would retry for 20 seconds. Each engine takes an address too.
		if err := p.checkFreeAddresses(on, on, 2*p.PairCount+len(p.sides())); err != nil {
			return err
		}
		return p.onNetworks(ctx, on, on, func(string, int) []netip.Addr { return nil })
	}
	far, err := p.b.engine.Network(ctx, name)
	if err != nil {
		return err
	}
	if far.Driver != on.Driver {
		return fmt.Errorf("join network %s: its driver is %s on engine a and %s on engine b; create it with the same driver on both", name, on.Driver, far.Driver)
	}
	free, shared := containers.FreeAddresses(on, far, 2*p.PairCount)
	if !shared { // whether they can communicate depends on the driver
		return p.onNetworks(ctx, on, far, func(string, int) []netip.Addr { return nil })
	}
	if err := p.checkFreeAddresses(on, far, 2*p.PairCount); err != nil {
		return err
	}
	return p.onNetworks(ctx, on, far, func(role string, pair int) []netip.Addr {
		if role == containers.Client {
			return free[2*pair-2 : 2*pair-1]
		}
		return free[2*pair-1 : 2*pair]
	})
}

// checkJoinable returns why no container can be measured on a network.
func checkJoinable(on engine.Network) error {
	switch {
	case on.Driver == "host" || on.Driver == "null":
		return fmt.Errorf("join network %s: its driver %s gives containers no network interface; choose a network that connects containers", on.Name, on.Driver)
	case on.Scope == engine.ScopeSwarm && !on.Attachable:
		return fmt.Errorf("join network %s: it is a Swarm network that only services may join; create it with docker network create --attachable", on.Name)
	}
	return nil
}

// checkFreeAddresses returns an error if a network, which may be the same one on both
// engines, has too few free addresses.
func (p *path) checkFreeAddresses(a, b engine.Network, wanted int) error {
	if free, known := containers.FreeAddresses(a, b, wanted); known && len(free) < wanted {
		return fmt.Errorf("join network %s: %d addresses are required and %d are free; remove containers from it, or create it with a larger subnet", a.Name, wanted, len(free))
	}
	return nil
}

// networkWithDriver: containers on a network created with the requested driver and options. It is
// removed with the engines.
func (p *path) networkWithDriver(ctx context.Context) error {
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
		return p.onNetworks(ctx, on, on, func(string, int) []netip.Addr { return nil })
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
		return fmt.Errorf("create a network with driver %s: subnet %s is too small for %d containers; use a larger one", spec.Driver, from, 2*p.PairCount)
	}
	return p.onNetworks(ctx, on, far, func(role string, pair int) []netip.Addr {
		number := 2 * pair // the first one is the gateway's by default
		if role == containers.Server {
			number++
		}
		return []netip.Addr{containers.NthAddress(from, number)}
	})
}

// onNetworks connects the endpoints to one network, or to two that their driver joins, and adds
// the rules that apply to any network: what the containers' own interfaces must show, and
// that the hosts of a lab have one link between them.
func (p *path) onNetworks(ctx context.Context, near, far engine.Network, fixed func(role string, pair int) []netip.Addr) error {
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
		if err := cmp.Or(p.onlyDevice(c.from, pathspec.Transmits), p.onlyDevice(c.to, pathspec.Receives)); err != nil {
			return err
		}
		p.AddPair(c.from.end(), c.to.end(), c.to.listens(), c.to.listens(), pathspec.ServerChoosesPort)
		if i == 0 {
			p.SetSteps(c.from.process(), c.from.ethStep(), driverStep(p.a, near), p.a.device(eth),
				p.b.device(eth), driverStep(p.b, far), c.to.ethStep(), c.to.process())
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

// onlyDevice requires that a container's traffic uses the device with its address on the network
// and no other.
func (p *path) onlyDevice(b *box, forward pathspec.Direction) error {
	if err := b.findDevice(); err != nil {
		return err
	}
	p.MustCarry(b.pair, b.Place, b.eth(), forward)
	return p.mustBypassOthers(b, b.device)
}

// driverStep returns the step for what a network's driver has created on a host, which is
// unknown.
func driverStep(s *side, n engine.Network) pathspec.Step {
	facts := []result.Fact{{Name: "driver", Value: n.Driver}, {Name: "scope", Value: n.Scope}}
	for _, name := range slices.Sorted(maps.Keys(n.Options)) {
		facts = append(facts, result.Fact{Name: "option " + name, Value: n.Options[name]})
	}
	return pathspec.RuleStep(s.Place, "network", "network "+n.Driver, facts...)
}
