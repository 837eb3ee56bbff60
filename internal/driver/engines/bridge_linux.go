package engines

import (
	"context"
	"errors"
	"net/netip"

	"tare/internal/agent/transport"
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

// published: process on a, underlay, DNAT on b, docker0, container on b.
func (p *path) published(ctx context.Context) error {
	servers, err := p.behindPorts(ctx, p.b)
	if err != nil {
		return err
	}
	for _, s := range servers {
		p.AddPair(p.a.end(), s.end(), s.listens(), p.dialled(s), s.port)
	}
	if err := p.intoBridge(ctx, servers); err != nil {
		return err
	}
	s := servers[0]
	p.SetSteps(p.steps([]pathspec.Step{pathspec.ProcessStep(p.a.Place), p.a.device(eth), p.b.device(eth)}, partDNAT, s.dnatStep(),
		p.b.bridgeStep(), s.vethStep(), s.ethStep(), s.process())...)
	return nil
}

// intoBridge adds what published and bridge have in common: from the underlay to the servers on
// host b.
func (p *path) intoBridge(ctx context.Context, servers []*box) error {
	if err := p.byDNAT(ctx, p.b, servers); err != nil {
		return err
	}
	if p.order.Without(partDNAT) {
		if err := p.a.ns.Routes().Route(p.lab.Addresses(p.b.bridgeNet(), 0)[0].Masked(), p.b.host.Addr[0], ""); err != nil {
			return err
		}
	}
	p.underlay()
	return errors.Join(p.withoutChains(ctx, p.b), p.withoutConntrack(p.b, receives(eth, driver.Forward), receives(docker0, driver.Reverse)))
}

// dialled returns the address at which a server on host b is dialled: the published one, or its own
// without address translation.
func (p *path) dialled(s *box) []netip.Addr {
	if p.order.Without(partDNAT) {
		return s.listens()
	}
	return p.b.address()
}

// steps returns the steps up to a rule, the rule unless it was left out, and the steps after it.
func (p *path) steps(before []pathspec.Step, part string, rule pathspec.Step, after ...pathspec.Step) []pathspec.Step {
	if p.order.Without(part) {
		return append(before, after...)
	}
	return append(append(before, rule), after...)
}

// bridge: as published, with the clients in containers behind the masquerading
// bridge of a.
func (p *path) bridge(ctx context.Context) error {
	servers, err := p.behindPorts(ctx, p.b)
	if err != nil {
		return err
	}
	var clients []*box
	err = p.ForEachPair(func(pair int) error {
		c, err := p.onBridge(ctx, p.a, containers.Client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		clients = append(clients, c)
		s := servers[pair-1]
		p.AddPair(c.end(), s.end(), s.listens(), p.dialled(s), s.port)
		p.MustCarry(pair, p.a.Place, c.veth, pathspec.Receives)
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.byMasquerade(ctx, clients); err != nil {
		return err
	}
	if err := p.intoBridge(ctx, servers); err != nil {
		return err
	}
	first, s := clients[0], servers[0]
	out := p.steps([]pathspec.Step{first.process(), first.ethStep(), first.vethStep(), p.a.bridgeStep()}, partMasquerade, p.a.masqueradeStep(), p.a.device(eth))
	p.SetSteps(p.steps(append(out, p.b.device(eth)), partDNAT, s.dnatStep(), p.b.bridgeStep(), s.vethStep(), s.ethStep(), s.process())...)
	return nil
}

// byMasquerade requires that the clients' traffic leaves the bridge of host a through the engine's
// rules.
func (p *path) byMasquerade(ctx context.Context, clients []*box) error {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: p.a.bridge}, pathspec.Receives)
	p.idle(p.a.Place, lo)
	if err := errors.Join(p.withoutChains(ctx, p.a), p.withoutConntrack(p.a, receives(docker0, driver.Forward), receives(eth, driver.Reverse))); err != nil {
		return err
	}
	if p.order.Without(partMasquerade) {
		return p.withoutMasquerade(ctx, p.a, p.b)
	}
	p.AddRules(driver.Rule{Counter: masqueradeCounter(p.a), Expect: driver.Connections})
	return p.watchNAT(ctx, translation{side: p.a, masquerade: clients})
}

// colocated: two containers for each pair on docker0 of a.
func (p *path) colocated(ctx context.Context) error {
	if err := p.a.ns.Tuning().Segmentation(docker0, p.lab.Spec.Offload); err != nil {
		return err
	}
	return p.bothOn(ctx, p.a.bridgeStep(), engine.ContainerSpec{}, docker0, eth, lo)
}

// bothOn starts the containers of both endpoints on one bridge of a. Frames go from port to port; the
// bridge device itself, which is one of those that must be idle, sees them only if they are routed.
func (p *path) bothOn(ctx context.Context, bridge pathspec.Step, spec engine.ContainerSpec, idle ...string) error {
	err := p.ForEachPair(func(pair int) error {
		from, err := p.plugged(ctx, p.a, containers.Client, pair, spec)
		if err != nil {
			return err
		}
		to, err := p.plugged(ctx, p.a, containers.Server, pair, spec)
		if err != nil {
			return err
		}
		at := to.container.Addresses()
		p.AddPair(from.end(), to.end(), at, at, pathspec.ServerChoosesPort)
		p.MustCarry(pair, p.a.Place, from.veth, pathspec.Receives)
		p.MustCarry(pair, p.a.Place, to.veth, pathspec.Transmits)
		if pair == 1 {
			p.SetSteps(from.process(), from.ethStep(), from.vethStep(), bridge, to.vethStep(), to.ethStep(), to.process())
		}
		return nil
	})
	p.idle(p.a.Place, idle...)
	return err
}

// toHost: container on a to a process on a, at the underlay address of a.
func (p *path) toHost(ctx context.Context) error {
	err := p.ForEachPair(func(pair int) error {
		from, err := p.onBridge(ctx, p.a, containers.Client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		p.AddPair(from.end(), p.a.end(), p.a.address(), p.a.address(), pathspec.ServerChoosesPort)
		p.MustCarry(pair, p.a.Place, from.veth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(from.process(), from.ethStep(), from.vethStep(), p.a.bridgeStep(), pathspec.ProcessStep(p.a.Place))
		}
		return nil
	})
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Receives)
	p.idle(p.a.Place, eth, lo)
	if err != nil {
		return err
	}
	return p.withoutConntrack(p.a, receives(docker0, driver.Forward), sends(docker0, driver.Reverse))
}

// userlandProxy: process on a to a published port of a at the loopback address, which no
// rule translates: docker-proxy accepts the connection and opens another one to the
// container.
func (p *path) userlandProxy(ctx context.Context) error {
	servers, err := p.behindPorts(ctx, p.a)
	if err != nil {
		return err
	}
	if p.config.NoProxy {
		return p.unproxied(ctx, servers)
	}
	t := translation{side: p.a}
	for _, s := range servers {
		p.AddPair(p.a.end(), s.end(), s.listens(), loopback(), s.port)
		p.MustCarryAtLeast(s.pair, p.a.Place, s.veth, pathspec.Transmits)
		p.AddRules(driver.Rule{Counter: runTimeCounter(p.a, s.port), Expect: driver.ProcessBusy, Pair: s.pair},
			driver.Rule{Counter: dnatCounter(p.a, s.port), Expect: driver.NoMatch})
		t.ports = append(t.ports, s.publishedPort())
	}
	if err := p.watchNAT(ctx, t); err != nil {
		return err
	}
	p.MustCarryBothAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: lo})
	p.MustCarryAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Transmits)
	p.idle(p.a.Place, eth)
	s := servers[0]
	p.SetSteps(pathspec.ProcessStep(p.a.Place), p.a.device(lo), s.proxyStep(), p.a.bridgeStep(),
		s.vethStep(), s.ethStep(), s.process())
	return p.withoutConntrack(p.a, sends(lo, driver.BothAtLeast), receives(lo, driver.BothAtLeast),
		sends(docker0, driver.ForwardAtLeast), receives(docker0, driver.ReverseAtLeast))
}

// unproxied: the same on an engine without docker-proxy, whose rules translate the loopback address
// instead. Without these too, the client dials the container's own address.
func (p *path) unproxied(ctx context.Context, servers []*box) error {
	dial := func(*box) []netip.Addr { return loopback() }
	if p.order.Without(partDNAT) {
		dial = func(s *box) []netip.Addr { return s.listens() }
	}
	for _, s := range servers {
		p.AddPair(p.a.end(), s.end(), s.listens(), dial(s), s.port)
	}
	p.idle(p.a.Place, eth)
	if err := p.byDNAT(ctx, p.a, servers); err != nil {
		return err
	}
	s := servers[0]
	p.SetSteps(p.steps([]pathspec.Step{pathspec.ProcessStep(p.a.Place)}, partDNAT, s.dnatStep(), p.a.bridgeStep(), s.vethStep(), s.ethStep(), s.process())...)
	return p.withoutConntrack(p.a, sends(docker0, driver.Forward), receives(docker0, driver.Reverse))
}

func loopback() []netip.Addr { return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})} }

// onBridge starts a container on the default bridge.
func (p *path) onBridge(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*box, error) {
	b, err := p.plugged(ctx, s, role, pair, spec)
	if err != nil {
		return nil, err
	}
	if b.address, err = b.addr(); err != nil {
		return nil, err
	}
	// The engine created the bridge when it started, without offload settings.
	return b, s.ns.Tuning().Segmentation(s.bridge, p.lab.Spec.Offload)
}

// portOf returns the published port of a pair's server.
func portOf(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) }

// publish publishes a port of a container at the same port of all of its host's addresses.
func publish(port uint16) []engine.Publish {
	return []engine.Publish{{Host: netip.AddrPortFrom(netip.IPv4Unspecified(), port), Port: port}}
}

// behindPorts starts the servers on a host's default bridge, each with its own published
// port, and finds the processes that listen there.
func (p *path) behindPorts(ctx context.Context, s *side) (servers []*box, err error) {
	err = p.ForEachPair(func(pair int) error {
		port := portOf(pair)
		b, err := p.onBridge(ctx, s, containers.Server, pair, engine.ContainerSpec{Publish: publish(port)})
		if err != nil {
			return err
		}
		b.port = port
		servers = append(servers, b)
		switch {
		case s.podman != nil:
			return nil
		case p.config.NoProxy:
			return p.withoutProxies(s, port)
		}
		return p.watchProxies(s, port)
	})
	return servers, err
}

// byDNAT requires that the published ports of a host are reached through its rules and not
// through its proxies.
func (p *path) byDNAT(ctx context.Context, s *side, servers []*box) error {
	t := translation{side: s}
	for _, to := range servers {
		p.MustCarry(to.pair, s.Place, to.veth, pathspec.Transmits)
		if s.podman == nil && !p.config.NoProxy {
			p.AddRules(driver.Rule{Counter: runTimeCounter(s, to.port), Expect: driver.ProcessIdle})
		}
		if !p.order.Without(partDNAT) {
			p.AddRules(driver.Rule{Counter: dnatCounter(s, to.port), Expect: driver.Connections, Pair: to.pair})
		}
		t.ports = append(t.ports, to.publishedPort())
	}
	p.MustCarry(pathspec.AllPairs, s.Place, pathspec.Device{Name: s.bridge}, pathspec.Transmits)
	p.idle(s.Place, lo)
	if p.order.Without(partDNAT) {
		return p.withoutDNAT(ctx, s, servers)
	}
	return p.watchNAT(ctx, t)
}

func (b *box) publishedPort() publishedPort { return publishedPort{b.port, b.address} }

// end returns the endpoint of a host process.
func (s *side) end() pathspec.Endpoint {
	return pathspec.Endpoint{Place: s.Place, Launcher: transport.Local{Start: s.ns.Start}}
}

// address returns the host's underlay address: IPv4 only, like the default bridge.
func (s *side) address() []netip.Addr { return s.host.Addr[:1] }

func (b *box) dnatStep() pathspec.Step {
	return pathspec.PerPair(proven(b.side.Place, "nat", "DNAT", dnatCounter(b.side, b.port)))
}

// masqueradeStep is the rule that masquerades a container's address.
func (s *side) masqueradeStep() pathspec.Step {
	return proven(s.Place, "nat", "masquerade", masqueradeCounter(s))
}

// proxyStep is the process that forwards a published port's traffic.
func (b *box) proxyStep() pathspec.Step {
	return pathspec.PerPair(proven(b.side.Place, "process", proxyProgram, runTimeCounter(b.side, b.port)))
}

// bridgeStep returns the step for the default bridge, of Docker with whether the packet filter sees
// bridged frames.
func (s *side) bridgeStep() pathspec.Step {
	step := s.device(s.bridge)
	if s.podman != nil {
		return step
	}
	const name = "bridge-nf-call-iptables"
	if v, err := s.ns.ReadSysctl("net/bridge/" + name); err == nil {
		step = pathspec.WithFacts(step, result.Fact{Name: name, Value: v})
	}
	return step
}
