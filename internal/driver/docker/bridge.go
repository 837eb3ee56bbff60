//go:build linux

package docker

import (
	"context"
	"net/netip"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/result"
)

// published: process on a, underlay, DNAT on b, docker0, container on b.
func (p *path) published(ctx context.Context) error {
	servers, err := p.behindPorts(ctx, p.b)
	if err != nil {
		return err
	}
	for _, s := range servers {
		p.AddPair(p.a.end(), s.end(), s.listens, p.b.address(), s.port)
	}
	if err := p.byDNAT(ctx, p.b, servers); err != nil {
		return err
	}
	p.underlay()
	s := servers[0]
	p.SetSteps(pathspec.ProcessStep(p.a.Place), p.a.device(eth), p.b.device(eth), s.dnatStep(), p.b.bridge(),
		s.vethStep(), s.ethStep(), s.process())
	return nil
}

// bridge: as published, with the clients in containers behind the masquerading
// bridge of a.
func (p *path) bridge(ctx context.Context) error {
	servers, err := p.behindPorts(ctx, p.b)
	if err != nil {
		return err
	}
	var first *bridged
	err = p.ForEachPair(func(pair int) error {
		c, err := p.onBridge(ctx, p.a, containers.Client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		if pair == 1 {
			first = c
		}
		s := servers[pair-1]
		p.AddPair(c.end(), s.end(), s.listens, p.b.address(), s.port)
		p.MustCarry(pair, p.a.Place, c.veth, pathspec.Receives)
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.byDNAT(ctx, p.b, servers); err != nil {
		return err
	}
	if err := p.translated(ctx, translation{side: p.a, masquerade: true}); err != nil {
		return err
	}
	p.AddRules(driver.Rule{Counter: masqueraded(p.a), Expect: driver.Connections})
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Receives)
	p.MustBeIdle(p.a.Place, pathspec.Device{Name: lo})
	p.underlay()
	s := servers[0]
	p.SetSteps(first.process(), first.ethStep(), first.vethStep(), p.a.bridge(), p.a.masqueradeStep(), p.a.device(eth),
		p.b.device(eth), s.dnatStep(), p.b.bridge(), s.vethStep(), s.ethStep(), s.process())
	return nil
}

// colocated: two containers a pair on docker0 of a. Frames go from port to port; the
// bridge's own device sees none of them unless they are routed.
func (p *path) colocated(ctx context.Context) error {
	err := p.ForEachPair(func(pair int) error {
		from, err := p.onBridge(ctx, p.a, containers.Client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		to, err := p.onBridge(ctx, p.a, containers.Server, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		p.AddPair(from.end(), to.end(), to.listens, to.listens, pathspec.ServerChoosesPort)
		p.MustCarry(pair, p.a.Place, from.veth, pathspec.Receives)
		p.MustCarry(pair, p.a.Place, to.veth, pathspec.Transmits)
		if pair == 1 {
			p.SetSteps(from.process(), from.ethStep(), from.vethStep(), p.a.bridge(), to.vethStep(), to.ethStep(), to.process())
		}
		return nil
	})
	for _, d := range []string{docker0, eth, lo} {
		p.MustBeIdle(p.a.Place, pathspec.Device{Name: d})
	}
	return err
}

// toHost: container on a to a process on a, at a's own address on the underlay.
func (p *path) toHost(ctx context.Context) error {
	err := p.ForEachPair(func(pair int) error {
		from, err := p.onBridge(ctx, p.a, containers.Client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		p.AddPair(from.end(), p.a.end(), p.a.address(), p.a.address(), pathspec.ServerChoosesPort)
		p.MustCarry(pair, p.a.Place, from.veth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(from.process(), from.ethStep(), from.vethStep(), p.a.bridge(), pathspec.ProcessStep(p.a.Place))
		}
		return nil
	})
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Receives)
	for _, d := range []string{eth, lo} {
		p.MustBeIdle(p.a.Place, pathspec.Device{Name: d})
	}
	return err
}

// userlandProxy: process on a, to a published port of a at the loopback address,
// where no rule translates it: docker-proxy takes the connection and makes another
// to the container.
func (p *path) userlandProxy(ctx context.Context) error {
	servers, err := p.behindPorts(ctx, p.a)
	if err != nil {
		return err
	}
	t := translation{side: p.a}
	loopback := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	for _, s := range servers {
		p.AddPair(p.a.end(), s.end(), s.listens, loopback, s.port)
		p.MustCarryAtLeast(s.pair, p.a.Place, s.veth, pathspec.Transmits)
		p.AddRules(driver.Rule{Counter: ran(p.a, s.port), Expect: driver.ProcessBusy, Pair: s.pair},
			driver.Rule{Counter: dnat(p.a, s.port), Expect: driver.NoMatch})
		t.ports = append(t.ports, s.publishedPort())
	}
	if err := p.translated(ctx, t); err != nil {
		return err
	}
	p.MustCarryBothAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: lo})
	p.MustCarryAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Transmits)
	p.MustBeIdle(p.a.Place, pathspec.Device{Name: eth})
	s := servers[0]
	p.SetSteps(pathspec.ProcessStep(p.a.Place), p.a.device(lo), s.proxyStep(), p.a.bridge(),
		s.vethStep(), s.ethStep(), s.process())
	return nil
}

// bridged is a container on a host's default bridge.
type bridged struct {
	*box
	veth    pathspec.Device // its other end, on the host
	listens []netip.Addr
	port    uint16 // published, 0 when none is
}

// onBridge starts a container on the default bridge.
func (p *path) onBridge(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*bridged, error) {
	b, err := p.run(ctx, s, role, pair, spec)
	if err != nil {
		return nil, err
	}
	own, err := b.addr()
	if err != nil {
		return nil, err
	}
	veth, err := p.veth(b)
	if err != nil {
		return nil, err
	}
	// The engine made the bridge when it started, and told it nothing of offloads.
	return &bridged{box: b, veth: veth, listens: []netip.Addr{own}}, s.ns.Segmentation(docker0, p.lab.Spec.Offload)
}

// behindPorts starts the servers on a host's default bridge, each with a published
// port of its own, and finds what listens there.
func (p *path) behindPorts(ctx context.Context, s *side) (servers []*bridged, err error) {
	err = p.ForEachPair(func(pair int) error {
		port := uint16(pathspec.FirstPort + pair - 1)
		b, err := p.onBridge(ctx, s, containers.Server, pair, engine.ContainerSpec{Publish: []engine.Publish{
			{Host: netip.AddrPortFrom(netip.IPv4Unspecified(), port), Port: port}}})
		if err != nil {
			return err
		}
		b.port = port
		servers = append(servers, b)
		return p.proxied(s, port)
	})
	return servers, err
}

// byDNAT declares that the published ports of a host are reached by its rules, and
// not through its proxies.
func (p *path) byDNAT(ctx context.Context, s *side, servers []*bridged) error {
	t := translation{side: s}
	for _, to := range servers {
		p.MustCarry(to.pair, s.Place, to.veth, pathspec.Transmits)
		p.AddRules(driver.Rule{Counter: dnat(s, to.port), Expect: driver.Connections, Pair: to.pair},
			driver.Rule{Counter: ran(s, to.port), Expect: driver.ProcessIdle})
		t.ports = append(t.ports, to.publishedPort())
	}
	p.MustCarry(pathspec.AllPairs, s.Place, pathspec.Device{Name: docker0}, pathspec.Transmits)
	p.MustBeIdle(s.Place, pathspec.Device{Name: lo})
	return p.translated(ctx, t)
}

func (b *bridged) publishedPort() publishedPort { return publishedPort{b.port, b.listens[0]} }

// end is a process of the host as an end.
func (s *side) end() pathspec.Endpoint {
	return pathspec.Endpoint{Place: s.Place, Launcher: transport.Local{Start: s.ns.Start}}
}

// address is the host's on the underlay: IPv4 only, as the default bridge has it.
func (s *side) address() []netip.Addr { return s.host.Addr[:1] }

func (b *bridged) ethStep() pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(b.Place, b.eth()))
}
func (b *bridged) vethStep() pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(b.side.Place, b.veth))
}
func (b *bridged) dnatStep() pathspec.Step {
	of, _ := result.Of(dnat(b.side, b.port))
	return pathspec.PerPair(pathspec.ProvenBy(pathspec.RuleStep(b.side.Place, "nat", "DNAT"), of))
}

// masqueradeStep is the rule that hides a container's address.
func (s *side) masqueradeStep() pathspec.Step {
	of, _ := result.Of(masqueraded(s))
	return pathspec.ProvenBy(pathspec.RuleStep(s.Place, "nat", "masquerade"), of)
}

// proxyStep is the process that passes a published port's traffic on.
func (b *bridged) proxyStep() pathspec.Step {
	of, _ := result.Of(ran(b.side, b.port))
	return pathspec.PerPair(pathspec.ProvenBy(pathspec.RuleStep(b.side.Place, "process", proxyProgram), of))
}

// bridge is the default bridge in a drawing, with whether the packet filter sees
// what it switches.
func (s *side) bridge() pathspec.Step {
	step := s.device(docker0)
	const name = "bridge-nf-call-iptables"
	if v, err := s.ns.ReadSysctl("net/bridge/" + name); err == nil {
		step = pathspec.WithFacts(step, result.Fact{Name: name, Value: v})
	}
	return step
}
