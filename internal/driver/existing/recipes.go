package existing

import (
	"context"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/result"
)

// hosts: processes on the two hosts, or on one host through its own address.
func (p *path) hosts(ctx context.Context) error {
	at, err := p.read.ServerAddress(ctx)
	if err != nil {
		return err
	}
	return p.eachPair(ctx, p.hostEndpoint, p.hostEndpoint, func(pair int, from, to *endpoint) error {
		if pair == 1 {
			if err := p.read.AddUnderlay(ctx, []pathspec.Step{from.process()}, []pathspec.Step{to.process()}); err != nil {
				return err
			}
		}
		return p.addPair(ctx, from, to, netip.AddrPortFrom(p.b.ListenAddress(ctx, at), pathspec.ServerChoosesPort), netip.AddrPortFrom(at, pathspec.ServerChoosesPort), remote.OneConnection)
	})
}

// published: a process on the client's host, and a port of the server's host that its
// engine translates to a container.
func (p *path) published(ctx context.Context) error { return p.behindPort(ctx, p.hostEndpoint) }

// bridge: the same from a container behind masquerading.
func (p *path) bridge(ctx context.Context) error { return p.behindPort(ctx, p.onBridge) }

func (p *path) behindPort(ctx context.Context, begin starter) error {
	at, err := p.read.ServerAddress(ctx)
	if err != nil {
		return err
	}
	publish := func(ctx context.Context, s *host, role string, pair int) (*endpoint, error) {
		to, err := p.publishAt(at)(ctx, s, role, pair)
		if err != nil && !p.b.HasAddress(ctx, at) {
			// The host is reached at an address of another machine that forwards to it, so
			// the port must be published on all addresses.
			to, err = p.publishAt(netip.IPv4Unspecified())(ctx, s, role, pair)
			if err == nil {
				to.published = netip.AddrPortFrom(at, to.published.Port())
			}
		}
		return to, err
	}
	return p.eachPair(ctx, begin, publish, func(pair int, from, to *endpoint) error {
		var left []pathspec.Step
		if from.Sandboxed {
			plug, err := p.read.MustCarry(ctx, &from.Endpoint, pair, false)
			if err != nil {
				return err
			}
			left = append(from.steps(plug), pathspec.RuleStep(p.a.Place, "nat", "masquerade"))
		} else {
			left = []pathspec.Step{from.process()}
		}
		plug, err := p.read.MustCarry(ctx, &to.Endpoint, pair, false)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.port(to.published)
			right := append([]pathspec.Step{p.read.ConnectionStep("nat", "DNAT")}, pathspec.Reversed(to.steps(plug))...)
			if p.a == p.b {
				p.SetSteps(append(left, right...)...)
			} else if err := p.read.AddUnderlay(ctx, left, right); err != nil {
				return err
			}
		}
		return p.addPair(ctx, from, to, netip.AddrPortFrom(to.Addr, pathspec.FirstPort), to.published, remote.OneConnection)
	})
}

// port records which port was published, because others may have been in use.
func (p *path) port(at netip.AddrPort) {
	p.AddFacts(result.Fact{Name: "published port", Value: at.String()})
}

// colocated: two containers on the default bridge of the first host.
func (p *path) colocated(ctx context.Context) error {
	return p.onNetwork(ctx, "", remote.OneConnection)
}

// toHost: a container on the default bridge to a process on its host.
func (p *path) toHost(ctx context.Context) error {
	at, err := p.read.ServerAddress(ctx)
	if err != nil {
		return err
	}
	return p.eachPair(ctx, p.onBridge, p.hostEndpoint, func(pair int, from, to *endpoint) error {
		plug, err := p.read.MustCarry(ctx, &from.Endpoint, pair, false)
		if err != nil {
			return err
		}
		if plug.Bridge.Name != "" && pair == 1 {
			p.read.MustMoveAtLeast(pathspec.AllPairs, p.a.Place, plug.Bridge, driver.ReverseAtLeast, driver.ForwardAtLeast)
		}
		if pair == 1 {
			p.SetSteps(append(from.steps(plug), to.process())...)
		}
		return p.addPair(ctx, from, to, netip.AddrPortFrom(at, pathspec.ServerChoosesPort), netip.AddrPortFrom(at, pathspec.ServerChoosesPort), remote.OneConnection)
	})
}

// userlandProxy: a process on the host to a port published on loopback, which the engine's
// rules leave to docker-proxy.
func (p *path) userlandProxy(ctx context.Context) error {
	return p.eachPair(ctx, p.hostEndpoint, p.publishAt(loopback()), func(pair int, from, to *endpoint) error {
		plug, err := p.read.MustCarry(ctx, &to.Endpoint, pair, true)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.port(to.published)
			right := append([]pathspec.Step{p.read.ConnectionStep("process", "docker-proxy")}, pathspec.Reversed(to.steps(plug))...)
			if err := p.read.AddUnderlay(ctx, []pathspec.Step{from.process()}, right); err != nil {
				return err
			}
		}
		return p.addPair(ctx, from, to, netip.AddrPortFrom(to.Addr, pathspec.FirstPort), to.published, remote.TwoConnections)
	})
}

// network: both endpoints on an existing network of the engines.
func (p *path) network(ctx context.Context) error {
	name := containers.Parameter(p.Mode)
	for _, s := range []*host{p.a, p.b} {
		n, err := usableNetwork(ctx, s.engine, name, s.At)
		if err != nil {
			return err
		}
		p.onSwarm = p.onSwarm || n.Scope == engine.ScopeSwarm
	}
	return p.onNetwork(ctx, name, remote.AnyConnectivity)
}

// onNetwork: both endpoints in containers on a network; the client dials the server's
// address there.
func (p *path) onNetwork(ctx context.Context, name string, want remote.Connectivity) error {
	return p.onNetworkAt(ctx, name, want, func(string, int) []netip.Addr { return nil })
}

// onNetworkAt is onNetwork with addresses that tare chooses instead of the engines.
func (p *path) onNetworkAt(ctx context.Context, name string, want remote.Connectivity, at func(role string, pair int) []netip.Addr) error {
	return p.ForEachPair(func(pair int) error {
		boxed := func(role string) (*endpoint, error) {
			s := p.a
			if role == containers.Server {
				s = p.b
			}
			return p.containerEndpoint(ctx, s, role, pair, engine.ContainerSpec{Network: name, Addresses: at(role, pair)})
		}
		from, err := boxed(containers.Client)
		if err != nil {
			return err
		}
		to, err := boxed(containers.Server)
		if err == nil && p.onSwarm && p.a != p.b {
			from, to, err = p.awaitGossip(ctx, name, from, to, boxed)
		}
		if err != nil {
			return err
		}
		near, err := p.read.MustCarry(ctx, &from.Endpoint, pair, false)
		if err != nil {
			return err
		}
		far, err := p.read.MustCarry(ctx, &to.Endpoint, pair, false)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.drawBetween(from, to, near, far)
			if p.a != p.b {
				p.read.MustLeaveHost(p.a.Host, driver.ForwardAtLeast)
				p.read.MustLeaveHost(p.b.Host, driver.ReverseAtLeast)
			}
		}
		at := netip.AddrPortFrom(to.Addr, pathspec.FirstPort)
		return p.addPair(ctx, from, to, at, at, want)
	})
}

func (p *path) drawBetween(from, to *endpoint, near, far remote.Attachment) {
	left, right := from.steps(near), pathspec.Reversed(to.steps(far))
	if p.a == p.b && near.Bridge == far.Bridge && near.Bridge.Name != "" {
		right = right[1:] // both are on the same bridge
	}
	if p.a != p.b {
		left, right = append(left, p.a.DevicesStep()), append([]pathspec.Step{p.b.DevicesStep()}, right...)
	}
	p.SetSteps(append(left, right...)...)
}
