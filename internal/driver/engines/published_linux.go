package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/result"
	"tare/internal/study"
)

// portServers are the servers on a host's default bridge, each behind a published port.
type portServers struct {
	*path
	side *side
	all  []*box
}

// behindPorts starts the servers of all pairs, and finds the processes that listen at their ports.
func behindPorts(ctx context.Context, p *path, s *side) (*portServers, error) {
	servers := &portServers{path: p, side: s}
	if err := p.moreContainers(ctx, s); err != nil {
		return nil, err
	}
	return servers, p.ForEachPair(func(pair int) error {
		port := portOf(pair)
		ports := publish(port)
		if pair == 1 {
			ports = append(ports, p.morePorts()...)
		}
		b, err := p.boxes.onBridge(ctx, s, containers.Server, pair, engine.ContainerSpec{Publish: ports})
		if err != nil {
			return err
		}
		b.port = port
		servers.all = append(servers.all, b)
		if s.podman != nil {
			return nil
		}
		return proxies{s, port}.watch(p)
	})
}

// portOf returns the published port of a pair's server.
func portOf(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) }

// publish publishes a port of a container at the same port of all of its host's addresses.
func publish(port uint16) []engine.Publish {
	return []engine.Publish{{Host: netip.AddrPortFrom(netip.IPv4Unspecified(), port), Port: port}}
}

// firstMore is the first of the ports of the setting ports, after those of all pairs.
const firstMore = 6001

// morePorts are the further ports that the container of the first server publishes.
func (p *path) morePorts() (all []engine.Publish) {
	for i := range numberIn(p.order.With[study.SettingPorts]) {
		all = append(all, publish(uint16(firstMore+i))...) //nolint:gosec // at most 1000
	}
	return all
}

// mustPublish checks that the engine has written the rules of the further ports.
func (p *portServers) mustPublish(ctx context.Context) error {
	more := p.morePorts()
	if len(more) == 0 || p.order.Without(partDNAT) {
		return nil
	}
	rules, err := p.side.firewall().Rules(ctx, firewall.IPv4, "nat")
	if err != nil {
		return err
	}
	for _, one := range more {
		if len(firewall.Published(rules, one.Port, p.all[0].address)) == 0 {
			return errors.New(p.side.missing(fmt.Sprintf("DNAT rule from port %d", one.Port), " to "+p.all[0].address.String()))
		}
	}
	p.AddFacts(result.Fact{Name: p.side.At + " published ports", Value: strconv.Itoa(len(more) + 1)})
	return nil
}

// ports returns the published ports with what is behind each.
func (p *portServers) ports() (all []publishedPort) {
	for _, b := range p.all {
		all = append(all, publishedPort{b.port, b.address})
	}
	return all
}

// fromUnderlay requires that the ports of host b are reached from the underlay through its rules.
func (p *portServers) fromUnderlay(ctx context.Context) error {
	if err := errors.Join(p.mustTranslate(ctx), p.mustPublish(ctx)); err != nil {
		return err
	}
	if p.order.Without(partDNAT) {
		if err := p.a.ns.Routes().Route(p.bridgeSubnet(p.b), p.b.host.Addr[0], ""); err != nil {
			return err
		}
	}
	p.underlay()
	return errors.Join(p.without.chains(ctx, p.b), p.without.conntrack(p.b, receives(eth, driver.Forward), receives(docker0, driver.Reverse)))
}

// dialled returns the address at which a server on host b is dialled: the published one, or its own
// without address translation.
func (p *portServers) dialled(s *box) []netip.Addr {
	if p.order.Without(partDNAT) {
		return s.listens()
	}
	return p.b.address()
}

// mustTranslate requires that the ports are reached through the host's rules and not through its proxies.
func (p *portServers) mustTranslate(ctx context.Context) error {
	s := p.side
	for _, to := range p.all {
		p.MustCarry(to.pair, s.Place, to.veth, pathspec.Transmits)
		if s.podman == nil && !p.config.NoProxy {
			p.AddRules(driver.Rule{Counter: proxies{s, to.port}.counter(), Expect: driver.ProcessIdle})
		}
		if !p.order.Without(partDNAT) {
			p.AddRules(driver.Rule{Counter: dnatCounter(s, to.port), Expect: driver.Connections, Pair: to.pair})
		}
	}
	p.MustCarry(pathspec.AllPairs, s.Place, pathspec.Device{Name: s.bridge}, pathspec.Transmits)
	p.idle(s.Place, lo)
	if p.order.Without(partDNAT) {
		return p.without.dnat(ctx, s, p.ports())
	}
	return translation{side: s, ports: p.ports()}.watch(ctx, p.path)
}

func (userlandProxy) build(ctx context.Context, p *path) error {
	to, err := behindPorts(ctx, p, p.a)
	if err != nil {
		return err
	}
	if p.config.NoProxy {
		return to.unproxied(ctx)
	}
	for _, s := range to.all {
		p.AddPair(p.a.end(), s.end(), s.listens(), loopback(), s.port)
		p.MustCarryAtLeast(s.pair, p.a.Place, s.veth, pathspec.Transmits)
		p.AddRules(driver.Rule{Counter: proxies{p.a, s.port}.counter(), Expect: driver.ProcessBusy, Pair: s.pair},
			driver.Rule{Counter: dnatCounter(p.a, s.port), Expect: driver.NoMatch})
	}
	if err := (translation{side: p.a, ports: to.ports()}).watch(ctx, p); err != nil {
		return err
	}
	p.MustCarryBothAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: lo})
	p.MustCarryAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: docker0}, pathspec.Transmits)
	p.idle(p.a.Place, eth)
	s := to.all[0]
	p.SetSteps(pathspec.ProcessStep(p.a.Place), p.a.device(lo), s.proxyStep(), p.a.bridgeStep(),
		s.vethStep(), s.ethStep(), s.process())
	return p.without.conntrack(p.a, sends(lo, driver.BothAtLeast), receives(lo, driver.BothAtLeast),
		sends(docker0, driver.ForwardAtLeast), receives(docker0, driver.ReverseAtLeast))
}

// unproxied: the same on an engine without docker-proxy, whose rules translate the loopback address
// instead. Without these too, the client dials the container's own address.
func (p *portServers) unproxied(ctx context.Context) error {
	dial := func(*box) []netip.Addr { return loopback() }
	if p.order.Without(partDNAT) {
		dial = func(s *box) []netip.Addr { return s.listens() }
	}
	for _, s := range p.all {
		p.AddPair(p.a.end(), s.end(), s.listens(), dial(s), s.port)
	}
	p.idle(p.a.Place, eth)
	if err := p.mustTranslate(ctx); err != nil {
		return err
	}
	s := p.all[0]
	p.SetSteps(p.steps([]pathspec.Step{pathspec.ProcessStep(p.a.Place)}, partDNAT, s.dnatStep(), p.a.bridgeStep(), s.vethStep(), s.ethStep(), s.process())...)
	return p.without.conntrack(p.a, sends(docker0, driver.Forward), receives(docker0, driver.Reverse))
}

func loopback() []netip.Addr { return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})} }

func (b *box) dnatStep() pathspec.Step {
	return pathspec.PerPair(proven(b.side.Place, "nat", "DNAT", dnatCounter(b.side, b.port)))
}

// masqueradeStep is the rule that masquerades a container's address.
func (s *side) masqueradeStep() pathspec.Step {
	return proven(s.Place, "nat", "masquerade", masqueradeCounter(s))
}

// proxyStep is the process that forwards a published port's traffic.
func (b *box) proxyStep() pathspec.Step {
	return pathspec.PerPair(proven(b.side.Place, "process", proxyProgram, proxies{b.side, b.port}.counter()))
}
