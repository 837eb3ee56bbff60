//go:build linux

package docker

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver/notes"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
)

// scopeSwarm is that of a network which is one on all engines of a Swarm. Any other
// is its engine's alone, as far as that knows.
const scopeSwarm = "swarm"

// network: containers on a network that is there already, whatever made it.
func (p *path) network(ctx context.Context) error {
	name := parameter(p.Mode)
	on, err := p.a.engine.Network(ctx, name)
	if err != nil {
		return err
	}
	if err := joinable(on); err != nil {
		return err
	}
	if on.Scope == scopeSwarm { // a worker knows it only while one of its containers is on it
		// An engine would try for 20 seconds. Each takes an address of its own as well.
		if err := p.roomy(on, on, 2*p.Count+len(p.sides())); err != nil {
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
	free, shared := freeAddresses(on, far, 2*p.Count)
	if !shared { // whether they can meet all the same is the driver's affair
		return p.joined(ctx, on, far, func(string, int) []netip.Addr { return nil })
	}
	if err := p.roomy(on, far, 2*p.Count); err != nil {
		return err
	}
	return p.joined(ctx, on, far, func(role string, pair int) []netip.Addr {
		if role == client {
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
	case on.Scope == scopeSwarm && !on.Attachable:
		return fmt.Errorf("join network %s: it belongs to a Swarm and lets only services join; make it with docker network create --attachable", on.Name)
	}
	return nil
}

// roomy says when a network, which may be two, has too few addresses left.
func (p *path) roomy(a, b engine.Network, wanted int) error {
	if free, known := freeAddresses(a, b, wanted); known && len(free) < wanted {
		return fmt.Errorf("join network %s: %d addresses are wanted and %d are free; remove what has them, or make it with a larger subnet", a.Name, wanted, len(free))
	}
	return nil
}

// freeAddresses finds up to count addresses, from the end of the subnet that two
// networks share, which nobody has on either: two engines that do not know of each
// other would give out the same ones. shared is false where they share no subnet.
func freeAddresses(a, b engine.Network, count int) (free []netip.Addr, shared bool) {
	subnet, _ := families(a.Subnets)
	if other, _ := families(b.Subnets); subnet != other || !subnet.IsValid() {
		return nil, false
	}
	taken := map[netip.Addr]bool{}
	for _, n := range []engine.Network{a, b} {
		if len(n.Gateways) == 0 {
			taken[nth(subnet, 1)] = true // the engine's choice, of which it says nothing
		}
		for _, addr := range slices.Concat(n.Gateways, slices.Collect(maps.Values(n.Joined))) {
			taken[addr] = true
		}
	}
	for at := last(subnet).Prev(); len(free) < count && at.IsValid() && subnet.Contains(at) && at != subnet.Addr(); at = at.Prev() {
		if !taken[at] {
			free = append(free, at)
		}
	}
	return free, true
}

// last is the last address of an IPv4 subnet, which is its broadcast address.
func last(subnet netip.Prefix) netip.Addr {
	raw := subnet.Masked().Addr().As4()
	for bit := subnet.Bits(); bit < 32; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(raw)
}

// driven: containers on a network that is made with the driver and the options that
// were asked for. It goes with the engines.
func (p *path) driven(ctx context.Context) error {
	spec := engine.NetworkSpec{Run: p.lab.Spec.Claim.ID, Driver: parameter(p.Mode), Options: maps.Clone(p.order.Options)}
	spec.Name = engine.Name(spec.Run, "driver")
	if err := addressing(&spec); err != nil {
		return err
	}
	if !spec.Subnet.IsValid() {
		spec.Subnet, _ = families(p.lab.Addresses(lab.NetOverlay, 0))
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
	if on.Scope == scopeSwarm {
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
	if at := nth(from, 2*p.Count+1); !from.Contains(at) || at == last(from) {
		return fmt.Errorf("make a network with driver %s: %s has no room for %d containers; give it a larger one", spec.Driver, from, 2*p.Count)
	}
	return p.joined(ctx, on, far, func(role string, pair int) []netip.Addr {
		number := 2 * pair // the first is the gateway's, unless that is said to be elsewhere
		if role == server {
			number++
		}
		return []netip.Addr{nth(from, number)}
	})
}

// nth is a subnet's address number n, of which 0 is its own.
func nth(subnet netip.Prefix, n int) netip.Addr {
	at := subnet.Masked().Addr()
	for range n {
		at = at.Next()
	}
	return at
}

// joined puts the ends on one network, or on two that their driver makes one, and
// declares what is known of any: what the containers' own interfaces must show, and
// that the hosts of a lab have one wire between them.
func (p *path) joined(ctx context.Context, near, far engine.Network, fixed func(role string, pair int) []netip.Addr) error {
	start := func() ([]couple, error) {
		return p.couples(ctx, p.a, p.b, func(role string, pair int) engine.ContainerSpec {
			on := near
			if role == server {
				on = far
			}
			return engine.ContainerSpec{Network: on.Name, Addresses: fixed(role, pair)}
		})
	}
	if near.Scope == scopeSwarm {
		start = func() ([]couple, error) { return p.onSwarm(ctx, near, gossipWait) }
	}
	all, err := start()
	if err != nil {
		return err
	}
	for i, c := range all {
		from, err := p.only(i+1, c.from, notes.Transmits)
		if err != nil {
			return err
		}
		to, err := p.only(i+1, c.to, notes.Receives)
		if err != nil {
			return err
		}
		at, err := c.to.addr()
		if err != nil {
			return err
		}
		p.Ends(c.from.end(), c.to.end(), []netip.Addr{at}, []netip.Addr{at}, notes.AnyPort)
		if i == 0 {
			p.Draw(c.from.process(), notes.Own(notes.DeviceAt(c.from.Place, from)), drawn(p.a, near), p.a.device(eth),
				p.b.device(eth), drawn(p.b, far), notes.Own(notes.DeviceAt(c.to.Place, to)), c.to.process())
		}
	}
	if near.Scope == scopeSwarm {
		p.sharedUnderlay()
	} else {
		p.underlay()
	}
	p.facts = append(p.facts, result.Fact{Name: "network driver", Value: near.Driver}, result.Fact{Name: "network scope", Value: near.Scope})
	return nil
}

// only declares that a container's traffic goes by the device with its address on
// the network and by no other.
func (p *path) only(pair int, b *box, forward notes.Direction) (notes.Device, error) {
	addr, err := b.addr()
	if err != nil {
		return notes.Device{}, err
	}
	name, err := b.ns.DeviceWith(addr)
	if err != nil {
		return notes.Device{}, err
	}
	device := notes.Device{Name: name}
	p.Carries(pair, b.Place, device, forward)
	return device, p.aside(b, name)
}

// drawn is what a network's driver has made on a host, which only it knows.
func drawn(s *side, n engine.Network) notes.Step {
	facts := []result.Fact{{Name: "driver", Value: n.Driver}, {Name: "scope", Value: n.Scope}}
	for _, name := range slices.Sorted(maps.Keys(n.Options)) {
		facts = append(facts, result.Fact{Name: "option " + name, Value: n.Options[name]})
	}
	return notes.Rule(s.Place, "network", "network "+n.Driver, facts...)
}
