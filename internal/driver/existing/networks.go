//go:build linux

package existing

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/engine"
)

// onLink: a network of the macvlan or ipvlan driver on a link of each host.
func (p *path) onLink(ctx context.Context) error {
	kind := strings.TrimPrefix(p.Mode, "docker/")
	if p.order.Options["parent"] == "" {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"which link of your hosts to use, and with which free addresses, nobody can guess: weigh docker/driver:%s with the options parent, %s and %s", kind, containers.OptionSubnet, containers.OptionRange)}
	}
	return p.made(ctx, kind)
}

// withDriver: a network made with a driver that the engines have.
func (p *path) withDriver(ctx context.Context) error {
	return p.made(ctx, containers.Parameter(p.Mode))
}

// made makes a network with a driver on the engines of both ends, or once where it
// is a Swarm's, and joins both ends to it.
func (p *path) made(ctx context.Context, kind string) error {
	spec := engine.NetworkSpec{Run: p.session.Run, Name: p.networkName(), Driver: kind, Options: maps.Clone(p.order.Options)}
	if err := containers.ExtractIPAM(&spec); err != nil {
		return fmt.Errorf("mode %s: %w", p.Mode, err)
	}
	n, err := p.create(ctx, p.a, spec)
	if err != nil {
		return err
	}
	p.gossips = n.Scope == engine.ScopeSwarm
	if p.a != p.b && !p.gossips {
		if !spec.Range.IsValid() {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
				"each engine gives out addresses of a %s network by itself, and so the same twice: name free ones with the options %s and %s", kind, containers.OptionSubnet, containers.OptionRange)}
		}
		if _, err := p.create(ctx, p.b, spec); err != nil {
			return err
		}
	}
	return p.onNetworkAt(ctx, spec.Name, remote.OneConnection, func(role string, pair int) []netip.Addr {
		if p.a == p.b || !spec.Range.IsValid() {
			return nil
		}
		number := 2 * (pair - 1)
		if role == containers.Server {
			number++
		}
		return []netip.Addr{containers.NthAddress(spec.Range, number+1)} // the first of a range may be the network's own
	})
}

// networkName is a name that every engine allows and no other path of the run has.
// A Swarm's must be a component of a name in DNS, which a mode's is not.
func (p *path) networkName() string {
	return engine.Name(p.session.Run, "network"+strconv.Itoa(p.session.NextNumber()))
}

func (p *path) create(ctx context.Context, s *host, spec engine.NetworkSpec) (engine.Network, error) {
	n, err := s.engine.CreateNetwork(ctx, spec)
	if err != nil {
		if strings.Contains(err.Error(), "operation not supported") {
			return n, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the kernel of host %s lacks what the driver %s needs: %v", s.At, spec.Driver, err)}
		}
		return n, err
	}
	p.networks = append(p.networks, madeNetwork{s.engine, n.ID})
	return n, nil
}

// overlay: an attachable overlay of the Swarm that both engines are in.
func (p *path) overlay(ctx context.Context) error {
	if strings.HasSuffix(p.Mode, "-encrypted") {
		return &driver.Unsupported{Mode: p.Mode, Reason: "whether packets were encrypted cannot be proven through an engine's API; weigh it on a lab (--engine lab)"}
	}
	manager, err := p.inSwarm(ctx)
	if err != nil {
		return err
	}
	p.gossips = true
	spec := engine.NetworkSpec{Run: p.session.Run, Name: p.networkName(), Driver: "overlay", Attachable: true}
	if _, err := p.create(ctx, manager, spec); err != nil {
		return err
	}
	return p.onNetwork(ctx, spec.Name, remote.OneConnection)
}

// inSwarm finds the manager of the Swarm that both engines are in. Where they are
// in none, one is made for the run if that is allowed; it goes with the last path of
// the run, by the note that is left on each engine.
func (p *path) inSwarm(ctx context.Context) (manager *host, err error) {
	err = p.driver.sessions.Exclusive(func() error {
		manager, err = p.swarm(ctx)
		return err
	})
	return manager, err
}

func (p *path) swarm(ctx context.Context) (*host, error) {
	states := map[*host]engine.SwarmState{}
	for _, s := range []*host{p.a, p.b} {
		state, err := s.engine.Swarm(ctx)
		if err != nil {
			return nil, err
		}
		states[s] = state
	}
	switch a, b := states[p.a], states[p.b]; {
	case a.Active() && b.Active() && (a.Manager || b.Manager):
		if a.Manager {
			return p.a, nil
		}
		return p.b, nil
	case a.Active() && b.Active():
		return nil, p.noSwarm(p.a, "both engines are workers of a Swarm, and only a manager makes networks", "name a manager of it as one of the two hosts")
	case a.Active() || b.Active():
		other, in := p.a, p.b
		if a.Active() {
			other, in = p.b, p.a
		}
		return nil, p.noSwarm(other, "the Swarm of host "+in.At+" does not have this engine in it", "on a manager: docker swarm join-token worker, and run there what it says")
	case !p.driver.swarm:
		return nil, p.noSwarm(p.a, "Swarm is not active", fmt.Sprintf("docker swarm init --advertise-addr %s there and what it prints on host %s, or let tare make one and leave it again: --yes", p.a.Address, p.b.At))
	}
	both := []*host{p.a, p.b}
	for _, s := range both {
		if err := s.engine.RecordSwarmIntent(ctx, p.session.Run); err != nil {
			return nil, err
		}
	}
	err := engine.NewSwarm(ctx, engine.Pool{}, engine.SwarmNode{Engine: p.a.engine, Addr: p.a.Address}, engine.SwarmNode{Engine: p.b.engine, Addr: p.b.Address})
	if err != nil {
		return nil, err
	}
	for _, s := range both {
		if err := s.engine.RecordSwarmID(ctx, p.session.Run); err != nil {
			return nil, err
		}
	}
	return p.a, nil
}

func (p *path) noSwarm(s *host, why, mend string) error {
	u := &engine.Unavailable{Engine: s.engine.Name, Tried: "its Swarm, for an overlay network", Reason: why, Fix: mend}
	return &driver.Unsupported{Mode: p.Mode, Reason: u.Error()}
}

// acquainted waits until the ends of a pair on a Swarm's network of the user's
// engines reach each other, and returns them: either may have been made again.
func (p *path) acquainted(ctx context.Context, network string, from, to *endpoint, boxed func(role string) (*endpoint, error)) (*endpoint, *endpoint, error) {
	meet := func(ctx context.Context, wait time.Duration) error {
		at := netip.AddrPortFrom(to.Addr, pathspec.FirstPort)
		return remote.CheckReachable(ctx, from.Agent, to.Agent, from.At, to.At, at, at, wait)
	}
	again := func(ctx context.Context) error {
		e, err := containers.EngineNotHeard(ctx, network, p.a.engine, p.b.engine)
		if err != nil {
			return err
		}
		end := &from
		if e == p.b.engine {
			end = &to
		}
		role := (*end).role
		if err := p.discard(ctx, *end); err != nil {
			return err
		}
		if err := e.LeaveNetwork(ctx, network); err != nil {
			return err
		}
		*end, err = boxed(role)
		return err
	}
	times, err := containers.AwaitGossip(ctx, containers.GossipTimeout, meet, again)
	p.facts = append(p.facts, containers.RejoinFacts(times)...)
	if remote.IsUnreachable(err) {
		err = fmt.Errorf("%s: %w", remote.UnreachableText, err)
	}
	return from, to, err
}
