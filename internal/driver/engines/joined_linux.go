package engines

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
)

// networkPath is a path over a network of the engines: one that both share, or two that their driver joins.
type networkPath struct {
	*path
	near, far engine.Network
	// fixed returns the addresses of a container; nil for those that the engines choose.
	fixed func(role string, pair int) []netip.Addr
}

func (existingNetwork) build(ctx context.Context, on *path) error {
	p := &networkPath{path: on}
	name := containers.Parameter(p.Mode)
	var err error
	if p.near, err = p.a.engine.Network(ctx, name); err != nil {
		return err
	}
	if err := checkJoinable(p.near); err != nil {
		return err
	}
	if p.near.Scope == engine.ScopeSwarm { // a worker knows it only while it has a container on it
		// An engine would retry for 20 seconds. Each engine takes an address too.
		p.far = p.near
		if err := p.checkFree(2*p.PairCount + len(p.sides())); err != nil {
			return err
		}
		return p.join(ctx)
	}
	if p.far, err = p.b.engine.Network(ctx, name); err != nil {
		return err
	}
	if p.far.Driver != p.near.Driver {
		return fmt.Errorf("join network %s: its driver is %s on engine a and %s on engine b; create it with the same driver on both", name, p.near.Driver, p.far.Driver)
	}
	free, shared := containers.FreeAddresses(p.near, p.far, 2*p.PairCount)
	if !shared { // whether they can communicate depends on the driver
		return p.join(ctx)
	}
	if err := p.checkFree(2 * p.PairCount); err != nil {
		return err
	}
	p.fixed = func(role string, pair int) []netip.Addr {
		if role == containers.Client {
			return free[2*pair-2 : 2*pair-1]
		}
		return free[2*pair-1 : 2*pair]
	}
	return p.join(ctx)
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

// checkFree returns an error if the network has too few free addresses.
func (p *networkPath) checkFree(wanted int) error {
	if free, known := containers.FreeAddresses(p.near, p.far, wanted); known && len(free) < wanted {
		return fmt.Errorf("join network %s: %d addresses are required and %d are free; remove containers from it, or create it with a larger subnet", p.near.Name, wanted, len(free))
	}
	return nil
}

func (createdNetwork) build(ctx context.Context, on *path) error {
	p := &networkPath{path: on}
	spec := engine.NetworkSpec{Run: p.lab.Spec.Claim.ID, Driver: containers.Parameter(p.Mode), Options: maps.Clone(p.order.Options)}
	spec.Name = engine.Name(spec.Run, "driver")
	if err := containers.ExtractIPAM(&spec); err != nil {
		return err
	}
	if !spec.Subnet.IsValid() {
		spec.Subnet, _ = containers.SplitFamilies(p.lab.Addresses(lab.NetOverlay, 0))
	}
	var err error
	p.near, err = p.a.engine.CreateNetwork(ctx, spec)
	if err != nil && strings.Contains(err.Error(), "not a swarm manager") {
		// Networks of this driver belong to a Swarm.
		if err := private.Swarm(ctx, p.lab, p.a.engine, p.b.engine); err != nil {
			return err
		}
		spec.Attachable = true
		p.near, err = p.a.engine.CreateNetwork(ctx, spec)
	}
	if err != nil {
		return err
	}
	if p.near.Scope == engine.ScopeSwarm {
		p.far = p.near
		return p.join(ctx)
	}
	if p.far, err = p.b.engine.CreateNetwork(ctx, spec); err != nil {
		return err
	}
	from := spec.Subnet
	if spec.Range.IsValid() {
		from = spec.Range
	}
	if at := containers.NthAddress(from, 2*p.PairCount+1); !from.Contains(at) || at == containers.LastAddress(from) {
		return fmt.Errorf("create a network with driver %s: subnet %s is too small for %d containers; use a larger one", spec.Driver, from, 2*p.PairCount)
	}
	p.fixed = func(role string, pair int) []netip.Addr {
		number := 2 * pair // the first one is the gateway's by default
		if role == containers.Server {
			number++
		}
		return []netip.Addr{containers.NthAddress(from, number)}
	}
	return p.join(ctx)
}

// join connects the endpoints, and adds the rules that apply to any network: what the containers' own
// interfaces must show, and that the hosts of a lab have one link between them.
func (p *networkPath) join(ctx context.Context) error {
	all, err := p.start(ctx, containers.GossipTimeout)
	if err != nil {
		return err
	}
	for i, c := range all {
		if err := cmp.Or(p.onlyDevice(c.from, pathspec.Transmits), p.onlyDevice(c.to, pathspec.Receives)); err != nil {
			return err
		}
		p.AddPair(c.from.end(), c.to.end(), c.to.listens(), c.to.listens(), pathspec.ServerChoosesPort)
		if i == 0 {
			p.SetSteps(c.from.process(), c.from.ethStep(), driverStep(p.a, p.near), p.a.device(eth),
				p.b.device(eth), driverStep(p.b, p.far), c.to.ethStep(), c.to.process())
		}
	}
	if p.near.Scope == engine.ScopeSwarm {
		p.sharedUnderlay()
	} else {
		p.underlay()
	}
	p.AddFacts(result.Fact{Name: "network driver", Value: p.near.Driver}, result.Fact{Name: "network scope", Value: p.near.Scope})
	return nil
}

// container returns the specification of a container on the network.
func (p *networkPath) container(role string, pair int) (spec engine.ContainerSpec) {
	spec.Network = p.near.Name
	if role == containers.Server {
		spec.Network = p.far.Name
	}
	if p.fixed != nil {
		spec.Addresses = p.fixed(role, pair)
	}
	return spec
}

// start starts the containers of all pairs. On a Swarm's network it waits until the engines have told each
// other about them.
func (p *networkPath) start(ctx context.Context, within time.Duration) ([]containerPair, error) {
	all, err := p.boxes.pairs(ctx, p.container)
	if err != nil || p.near.Scope != engine.ScopeSwarm {
		return all, err
	}
	meet := func(ctx context.Context, wait time.Duration) error {
		pairs, err := pairsOf(all)
		if err != nil {
			return err
		}
		return p.reach.pairs(ctx, pairs, wait)
	}
	discard := func(ctx context.Context, role string) error {
		for i := range all {
			if err := p.boxes.discard(ctx, *all[i].end(role)); err != nil {
				return err
			}
		}
		return nil
	}
	start := func(ctx context.Context, role string) error { return p.boxes.startRole(ctx, role, all, p.container) }
	again := containers.Rejoin(p.near.ID, p.a.engine.Engine, p.b.engine.Engine, discard, start)
	times, err := containers.AwaitGossip(ctx, within, meet, again)
	p.AddFacts(containers.RejoinFacts(times)...)
	p.reach.done = err == nil
	return all, err
}

// onlyDevice requires that a container's traffic uses the device with its address on the network
// and no other.
func (p *networkPath) onlyDevice(b *box, forward pathspec.Direction) error {
	if err := b.findDevice(); err != nil {
		return err
	}
	p.MustCarry(b.pair, b.Place, b.eth(), forward)
	return p.bypassOthers(b, b.device)
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
