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

// linkNetwork: a network of the macvlan or ipvlan driver on an interface of each host.
func (p *path) linkNetwork(ctx context.Context) error {
	kind := strings.TrimPrefix(p.Mode, "docker/")
	if p.order.Options["parent"] == "" {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"tare cannot guess which host interface and which free addresses to use; measure docker/driver:%s with the options parent, %s and %s", kind, containers.OptionSubnet, containers.OptionRange)}
	}
	return p.makeNetwork(ctx, kind)
}

// withDriver: a network created with a driver that the engines have.
func (p *path) withDriver(ctx context.Context) error {
	return p.makeNetwork(ctx, containers.Parameter(p.Mode))
}

// makeNetwork creates a network with a driver on the engines of both endpoints, or once for a
// Swarm, and connects both endpoints to it.
func (p *path) makeNetwork(ctx context.Context, kind string) error {
	spec := engine.NetworkSpec{Run: p.session.Run, Name: p.networkName(), Driver: kind, Options: maps.Clone(p.order.Options)}
	if err := containers.ExtractIPAM(&spec); err != nil {
		return fmt.Errorf("mode %s: %w", p.Mode, err)
	}
	n, err := p.create(ctx, p.a, spec)
	if err != nil {
		return err
	}
	p.onSwarm = n.Scope == engine.ScopeSwarm
	if p.a != p.b && !p.onSwarm {
		if !spec.Range.IsValid() {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
				"each engine assigns addresses of a %s network independently, so both would assign the same ones; name free addresses with the options %s and %s", kind, containers.OptionSubnet, containers.OptionRange)}
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
		return []netip.Addr{containers.NthAddress(spec.Range, number+1)} // the first address of a range may be reserved
	})
}

// networkName returns a name that is valid on every engine and unique among the paths of
// the run. A Swarm requires a valid DNS label, which a mode's name is not.
func (p *path) networkName() string {
	return engine.Name(p.session.Run, "network"+strconv.Itoa(p.session.NextNumber()))
}

func (p *path) create(ctx context.Context, s *host, spec engine.NetworkSpec) (engine.Network, error) {
	n, err := s.engine.CreateNetwork(ctx, spec)
	if err != nil {
		if strings.Contains(err.Error(), "operation not supported") {
			return n, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the kernel of host %s does not support driver %s: %v", s.At, spec.Driver, err)}
		}
		return n, err
	}
	p.networks = append(p.networks, madeNetwork{s.engine, n.ID})
	return n, nil
}

// overlay: an attachable overlay of the Swarm to which both engines belong.
func (p *path) overlay(ctx context.Context) error {
	if strings.HasSuffix(p.Mode, "-encrypted") {
		return &driver.Unsupported{Mode: p.Mode, Reason: "an engine's API cannot show that packets were encrypted; measure this mode in a lab (--engine lab)"}
	}
	manager, err := p.inSwarm(ctx)
	if err != nil {
		return err
	}
	p.onSwarm = true
	spec := engine.NetworkSpec{Run: p.session.Run, Name: p.networkName(), Driver: "overlay", Attachable: true}
	if _, err := p.create(ctx, manager, spec); err != nil {
		return err
	}
	return p.onNetwork(ctx, spec.Name, remote.OneConnection)
}

// inSwarm finds a manager of the Swarm to which both engines belong. If there is none, it
// creates a Swarm for the run, if allowed. A marker on each engine makes sure that it is
// removed with the last path of the run.
func (p *path) inSwarm(ctx context.Context) (manager *host, err error) {
	err = p.driver.sessions.Exclusive(func() error {
		manager, err = swarm{p.a, p.b, p.session.Run, p.Mode}.manager(ctx, p.driver.swarm)
		return err
	})
	return manager, err
}

// swarm is that of the engines of two hosts, for a mode of a run.
type swarm struct {
	a, b      *host
	run, mode string
}

// manager returns a manager of the Swarm, which is created if there is none and that is allowed.
func (p swarm) manager(ctx context.Context, create bool) (*host, error) {
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
		return nil, p.lacking(p.a, "both engines are Swarm workers, and only a manager can create networks", "use a manager as one of the two hosts")
	case a.Active() || b.Active():
		other, in := p.a, p.b
		if a.Active() {
			other, in = p.b, p.a
		}
		return nil, p.lacking(other, "the Swarm of host "+in.At+" does not include this engine", "run docker swarm join-token worker on a manager, and the command that it prints on this host")
	case !create:
		return nil, p.lacking(p.a, "Swarm is not active", fmt.Sprintf("run docker swarm init --advertise-addr %s there and the command that it prints on host %s, or use --yes to let tare create a Swarm and remove it again", p.a.Address, p.b.At))
	}
	for _, s := range []*host{p.a, p.b} {
		if err := s.engine.RecordSwarmIntent(ctx, p.run); err != nil {
			return nil, err
		}
	}
	node := func(s *host) engine.SwarmNode {
		return engine.SwarmNode{Engine: s.engine, Addr: s.Address, Joined: func(ctx context.Context) error { return s.engine.RecordSwarmID(ctx, p.run) }}
	}
	return p.a, engine.NewSwarm(ctx, engine.Pool{}, node(p.a), node(p.b))
}

func (p swarm) lacking(s *host, why, fix string) error {
	u := &engine.Unavailable{Engine: s.engine.Name, Tried: "its Swarm, for an overlay network", Reason: why, Fix: fix}
	return &driver.Unsupported{Mode: p.mode, Reason: u.Error()}
}

// awaitGossip waits until the endpoints of a pair on an existing Swarm's network reach each
// other, and returns them, because either may have been recreated.
func (p *path) awaitGossip(ctx context.Context, network string, from, to *endpoint, boxed func(role string) (*endpoint, error)) (*endpoint, *endpoint, error) {
	watch := p.read.Watch(ctx, remote.Exchange{Client: &from.Endpoint, Server: &to.Endpoint})
	meet := func(ctx context.Context, wait time.Duration) error {
		at := netip.AddrPortFrom(to.Addr, pathspec.FirstPort)
		return remote.CheckReachable(ctx, from.Agent, to.Agent, from.At, to.At, at, at, wait)
	}
	end := func(role string) **endpoint {
		if role == containers.Client {
			return &from
		}
		return &to
	}
	discard := func(ctx context.Context, role string) error { return p.discard(ctx, *end(role)) }
	start := func(_ context.Context, role string) (err error) {
		*end(role), err = boxed(role)
		return err
	}
	again := containers.Rejoin(network, p.a.engine, p.b.engine, discard, start)
	times, err := containers.AwaitGossip(ctx, containers.GossipTimeout, meet, again)
	p.AddFacts(containers.RejoinFacts(times)...)
	if remote.IsUnreachable(err) {
		err = fmt.Errorf("%s: %w", remote.UnreachableText, driver.WithCause(err, watch.Cause(ctx, 0)))
	}
	return from, to, err
}
