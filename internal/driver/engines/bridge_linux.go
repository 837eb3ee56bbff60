package engines

import (
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/result"
)

func (hostNetwork) build(ctx context.Context, p *path) error {
	all, err := p.boxes.pairs(ctx, func(string, int) engine.ContainerSpec { return engine.ContainerSpec{Network: engine.HostNetwork} })
	if err != nil {
		return err
	}
	for _, c := range all {
		p.AddPair(c.from.end(), c.to.end(), p.b.host.Addr, p.b.host.Addr, pathspec.ServerChoosesPort)
	}
	p.SetSteps(all[0].from.process(), p.a.device(eth), p.b.device(eth), all[0].to.process())
	p.underlay()
	for _, s := range []*side{p.a, p.b} {
		p.idle(s.Place, lo)
		if s.podman == nil {
			p.idle(s.Place, docker0)
		}
	}
	return errors.Join(
		p.without.conntrack(p.a, sends(eth, driver.Forward), receives(eth, driver.Reverse)),
		p.without.conntrack(p.b, receives(eth, driver.Forward), sends(eth, driver.Reverse)))
}

func (m published) build(ctx context.Context, p *path) error {
	if m.task {
		if err := p.swarm(ctx, p.b); err != nil {
			return err
		}
		if err := p.startAsTasks(p.b, false); err != nil {
			return err
		}
	}
	from := bridgeClients{path: p}
	if m.masqueraded { // before the servers, so that a server is reached as soon as it can be
		if err := from.start(ctx); err != nil {
			return err
		}
	}
	to, err := behindPorts(ctx, p, p.b)
	if err != nil {
		return err
	}
	add := func(s *box, client pathspec.Endpoint) {
		p.AddPair(client, s.end(), s.listens(), to.dialled(s), s.port)
	}
	out := []pathspec.Step{pathspec.ProcessStep(p.a.Place)}
	if m.masqueraded {
		from.each(func(c *box) { add(to.all[c.pair-1], c.end()) })
		if err := from.mustMasquerade(ctx); err != nil {
			return err
		}
		out = p.steps(from.firstSteps(), partMasquerade, p.a.masqueradeStep())
	} else {
		for _, s := range to.all {
			add(s, p.a.end())
		}
	}
	if err := to.fromUnderlay(ctx); err != nil {
		return err
	}
	s := to.all[0]
	p.SetSteps(p.steps(append(out, p.a.device(eth), p.b.device(eth)), partDNAT, s.dnatStep(),
		p.b.bridgeStep(), s.vethStep(), s.ethStep(), s.process())...)
	return nil
}

// bridgeClients are clients on the default bridge of host a.
type bridgeClients struct {
	*path
	all []*box
}

// start starts them, one for each pair.
func (p *bridgeClients) start(ctx context.Context) error {
	return p.ForEachPair(func(pair int) error {
		c, err := p.boxes.onBridge(ctx, p.a, containers.Client, pair, engine.ContainerSpec{})
		if err == nil {
			p.all = append(p.all, c)
		}
		return err
	})
}

// each calls add for each, which adds its pair, and requires that it carries the traffic of that.
func (p *bridgeClients) each(add func(*box)) {
	for _, c := range p.all {
		add(c)
		p.MustCarry(c.pair, p.a.Place, c.veth, pathspec.Receives)
	}
}

// firstSteps returns the steps from the first one to the bridge.
func (p *bridgeClients) firstSteps() []pathspec.Step {
	first := p.all[0]
	return []pathspec.Step{first.process(), first.ethStep(), first.vethStep(), p.a.bridgeStep()}
}

// mustMasquerade requires that their traffic leaves the bridge through the engine's rules.
func (p *bridgeClients) mustMasquerade(ctx context.Context) error {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: p.a.bridge}, pathspec.Receives)
	p.idle(p.a.Place, lo)
	if err := errors.Join(p.without.chains(ctx, p.a), p.without.conntrack(p.a, receives(docker0, driver.Forward), receives(eth, driver.Reverse))); err != nil {
		return err
	}
	if p.order.Without(partMasquerade) {
		return p.without.masquerade(ctx, p.a, p.b, p.bridgeSubnet(p.a))
	}
	p.AddRules(driver.Rule{Counter: masqueradeCounter(p.a), Expect: driver.Connections})
	return translation{side: p.a, masquerade: p.all}.watch(ctx, p.path)
}

func (colocated) build(ctx context.Context, p *path) error {
	if err := p.a.ns.Tuning().Segmentation(docker0, p.lab.Spec.Offload); err != nil {
		return err
	}
	return p.bothOn(ctx, p.a.bridgeStep(), engine.ContainerSpec{}, docker0, eth, lo)
}

// bothOn starts the containers of both endpoints on one bridge of a. Frames go from port to port; the
// bridge device itself, which is one of those that must be idle, sees them only if they are routed.
func (p *path) bothOn(ctx context.Context, bridge pathspec.Step, spec engine.ContainerSpec, idle ...string) error {
	err := p.ForEachPair(func(pair int) error {
		from, err := p.boxes.plugged(ctx, p.a, containers.Client, pair, spec)
		if err != nil {
			return err
		}
		to, err := p.boxes.plugged(ctx, p.a, containers.Server, pair, spec)
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

func (toHost) build(ctx context.Context, p *path) error {
	from := bridgeClients{path: p}
	if err := from.start(ctx); err != nil {
		return err
	}
	from.each(func(c *box) {
		p.AddPair(c.end(), p.a.end(), p.a.address(), p.a.address(), pathspec.ServerChoosesPort)
	})
	p.SetSteps(append(from.firstSteps(), pathspec.ProcessStep(p.a.Place))...)
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Receives)
	p.idle(p.a.Place, eth, lo)
	return p.without.conntrack(p.a, receives(docker0, driver.Forward), sends(docker0, driver.Reverse))
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
