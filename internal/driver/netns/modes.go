//go:build linux

package netns

import (
	"net/netip"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// host: process on a, underlay, process on b.
func (p *path) host() error {
	a, b := p.hostPlace(p.lab.A), p.hostPlace(p.lab.B)
	err := p.ForEachPair(func(int) error {
		p.addPair(a, b, p.lab.B.Addr, p.lab.B.Addr, pathspec.ServerChoosesPort)
		return nil
	})
	p.underlay()
	p.mustBeIdle(a, lo)
	p.mustBeIdle(b, lo)
	p.SetSteps(processStep(a), deviceStep(a, eth), deviceStep(b, eth), processStep(b))
	return err
}

// hostLocal: two processes on a, through the address of a. The kernel sends that over
// loopback.
func (p *path) hostLocal() error {
	a := p.hostPlace(p.lab.A)
	err := p.ForEachPair(func(int) error {
		p.addPair(a, a, p.lab.A.Addr, p.lab.A.Addr, pathspec.ServerChoosesPort)
		return nil
	})
	p.MustCarryBoth(pathspec.AllPairs, a.Place, pathspec.Device{Name: lo})
	p.mustBeIdle(a, eth)
	p.SetSteps(processStep(a), deviceStep(a, lo), processStep(a))
	return err
}

// published: process on a, underlay, DNAT on b, bridge, sandbox on b.
func (p *path) published() error {
	a := p.hostPlace(p.lab.A)
	b, servers, err := p.behindPorts()
	if err != nil {
		return err
	}
	for i, s := range servers {
		p.addPair(a, s.place, lab.PrefixAddrs(s.own), p.lab.B.Addr, uint16(pathspec.FirstPort+i))
	}
	p.underlay()
	server := servers[0].place
	p.SetSteps(processStep(a), deviceStep(a, eth), deviceStep(b, eth), natStep(b, "DNAT"), deviceStep(b, br), perPair(deviceStep(b, lab.VethName(0))), perPair(deviceStep(server, eth)), processStep(server))
	return nil
}

// bridge: as published, with the clients in sandboxes behind a masquerading
// bridge on a.
func (p *path) bridge() error {
	b, servers, err := p.behindPorts()
	if err != nil {
		return err
	}
	a := p.hostPlace(p.lab.A)
	if err := p.bridgeAt(a, lab.NetA, p.lab.Spec.MTU); err != nil {
		return err
	}
	p.mustCarry(pathspec.AllPairs, a, br, pathspec.Receives)
	var client place
	err = p.ForEachPair(func(pair int) error {
		c, err := p.addSandbox(a, p.lab.A, lab.PairName("client", pair), lab.VethName(pair-1), lab.NetA, 1+pair, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		if pair == 1 {
			client = c.place
		}
		s := servers[pair-1]
		p.addPair(c.place, s.place, lab.PrefixAddrs(s.own), p.lab.B.Addr, uint16(pathspec.FirstPort+pair-1))
		p.mustCarry(pair, a, lab.VethName(pair-1), pathspec.Receives)
		return p.addDefaultRoute(c.place, lab.NetA)
	})
	if err != nil {
		return err
	}
	if err := p.gateway(a, lab.NetA, nil); err != nil {
		return err
	}
	p.underlay()
	p.mustCount("a", linuxnet.CountOut, driver.Forward)
	p.mustCount("a", linuxnet.CountIn, driver.Reverse)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName("a", table, linuxnet.CountMasquerade+"_packets"), Expect: driver.Connections})
	server := servers[0].place
	p.SetSteps(processStep(client), perPair(deviceStep(client, eth)), perPair(deviceStep(a, lab.VethName(0))), deviceStep(a, br), natStep(a, "masquerade"), deviceStep(a, eth),
		deviceStep(b, eth), natStep(b, "DNAT"), deviceStep(b, br), perPair(deviceStep(b, lab.VethName(0))), perPair(deviceStep(server, eth)), processStep(server))
	return nil
}

// behindPorts builds b's side of published ports, one for each pair, with its rules.
func (p *path) behindPorts() (b place, servers []sandboxAddrs, err error) {
	b = p.hostPlace(p.lab.B)
	if err := p.bridgeAt(b, lab.NetB, p.lab.Spec.MTU); err != nil {
		return b, nil, err
	}
	p.mustCarry(pathspec.AllPairs, b, br, pathspec.Transmits)
	var published [][]netip.Prefix
	err = p.ForEachPair(func(pair int) error {
		s, err := p.addSandbox(b, p.lab.B, lab.PairName("server", pair), lab.VethName(pair-1), lab.NetB, 1+pair, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		servers, published = append(servers, s), append(published, s.own)
		p.mustCarry(pair, b, lab.VethName(pair-1), pathspec.Transmits)
		return p.addDefaultRoute(s.place, lab.NetB)
	})
	if err != nil {
		return b, nil, err
	}
	if err := p.gateway(b, lab.NetB, published); err != nil {
		return b, nil, err
	}
	p.mustCount("b", linuxnet.CountIn, driver.Forward)
	p.mustCount("b", linuxnet.CountOut, driver.Reverse)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName("b", table, linuxnet.CountDNAT+"_packets"), Expect: driver.Connections})
	p.mustBeIdle(b, lo)
	return b, servers, nil
}

// mustCount adds a rule for a counter of a gateway.
func (p *path) mustCount(at, name string, e driver.Expect) {
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(at, table, name+"_bytes"), Expect: e})
}

// colocated: two sandboxes for each pair on one bridge of a. Frames go from port to port;
// the bridge device itself sees them only if they are routed.
func (p *path) colocated() error {
	a := p.hostPlace(p.lab.A)
	if err := p.bridgeAt(a, lab.NetA, p.lab.Spec.MTU); err != nil {
		return err
	}
	err := p.ForEachPair(func(pair int) error {
		out, in := 2*pair-2, 2*pair-1
		client, err := p.addSandbox(a, p.lab.A, lab.PairName("client", pair), lab.VethName(out), lab.NetA, 2+out, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		server, err := p.addSandbox(a, p.lab.A, lab.PairName("server", pair), lab.VethName(in), lab.NetA, 2+in, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.mustCarry(pair, a, lab.VethName(out), pathspec.Receives)
		p.mustCarry(pair, a, lab.VethName(in), pathspec.Transmits)
		if pair == 1 {
			p.SetSteps(processStep(client.place), perPair(deviceStep(client.place, eth)), perPair(deviceStep(a, lab.VethName(out))), deviceStep(a, br),
				perPair(deviceStep(a, lab.VethName(in))), perPair(deviceStep(server.place, eth)), processStep(server.place))
		}
		return nil
	})
	p.mustBeIdle(a, br)
	p.mustBeIdle(a, eth)
	return err
}

// macvlan: a macvlan device of each host's underlay link, in a sandbox.
func (p *path) macvlan() error { return p.onUnderlay((*linuxnet.NS).Macvlan) }

// ipvlan: the same with ipvlan in L2 mode.
func (p *path) ipvlan() error { return p.onUnderlay((*linuxnet.NS).IPVlan) }

// firstOnUnderlay is the first host number of sandboxes on the underlay's subnet.
const firstOnUnderlay = 11

func (p *path) onUnderlay(child func(on *linuxnet.NS, d linuxnet.Device, parent string, into *linuxnet.NS) error) error {
	build := func(h *lab.Host, name string, number int) (sandboxAddrs, error) {
		in, err := p.sandboxPlace(h, name)
		if err != nil {
			return sandboxAddrs{}, err
		}
		if err := child(h.NS, p.lab.Device(eth, 0), h.Underlay, in.ns); err != nil {
			return sandboxAddrs{}, err
		}
		b := sandboxAddrs{in, p.lab.Addresses(lab.NetUnderlay, number)}
		return b, p.setUpSandbox(b)
	}
	p.underlay()
	return p.ForEachPair(func(pair int) error {
		number := firstOnUnderlay + 2*(pair-1)
		client, err := build(p.lab.A, lab.PairName("client", pair), number)
		if err != nil {
			return err
		}
		server, err := build(p.lab.B, lab.PairName("server", pair), number+1)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.mustCarry(pair, client.place, eth, pathspec.Transmits)
		p.mustCarry(pair, server.place, eth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(processStep(client.place), perPair(deviceStep(client.place, eth)), deviceStep(p.hostPlace(p.lab.A), eth), deviceStep(p.hostPlace(p.lab.B), eth),
				perPair(deviceStep(server.place, eth)), processStep(server.place))
		}
		return nil
	})
}

// underlay requires that the traffic of all pairs crosses the underlay.
func (p *path) underlay() {
	p.mustCarry(pathspec.AllPairs, p.hostPlace(p.lab.A), eth, pathspec.Transmits)
	p.mustCarry(pathspec.AllPairs, p.hostPlace(p.lab.B), eth, pathspec.Receives)
}
