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
	a, b := p.on(p.lab.A), p.on(p.lab.B)
	err := p.ForEachPair(func(int) error {
		p.ends(a, b, p.lab.B.Addr, p.lab.B.Addr, pathspec.ServerChoosesPort)
		return nil
	})
	p.underlay()
	p.rests(a, lo)
	p.rests(b, lo)
	p.SetSteps(process(a), device(a, eth), device(b, eth), process(b))
	return err
}

// hostLocal: two processes on a, through a's own address. The kernel sends that
// over the loopback device.
func (p *path) hostLocal() error {
	a := p.on(p.lab.A)
	err := p.ForEachPair(func(int) error {
		p.ends(a, a, p.lab.A.Addr, p.lab.A.Addr, pathspec.ServerChoosesPort)
		return nil
	})
	p.MustCarryBoth(pathspec.AllPairs, a.Place, pathspec.Device{Name: lo})
	p.rests(a, eth)
	p.SetSteps(process(a), device(a, lo), process(a))
	return err
}

// published: process on a, underlay, DNAT on b, bridge, sandbox on b.
func (p *path) published() error {
	a := p.on(p.lab.A)
	b, servers, err := p.behindPorts()
	if err != nil {
		return err
	}
	for i, s := range servers {
		p.ends(a, s.place, lab.PrefixAddrs(s.own), p.lab.B.Addr, uint16(pathspec.FirstPort+i))
	}
	p.underlay()
	server := servers[0].place
	p.SetSteps(process(a), device(a, eth), device(b, eth), nat(b, "DNAT"), device(b, br), own(device(b, lab.VethName(0))), own(device(server, eth)), process(server))
	return nil
}

// bridge: as published, with the clients in sandboxes behind a masquerading
// bridge on a.
func (p *path) bridge() error {
	b, servers, err := p.behindPorts()
	if err != nil {
		return err
	}
	a := p.on(p.lab.A)
	if err := p.bridgeAt(a, lab.NetA, p.lab.Spec.MTU); err != nil {
		return err
	}
	p.carries(pathspec.AllPairs, a, br, pathspec.Receives)
	var client place
	err = p.ForEachPair(func(pair int) error {
		c, err := p.plug(a, p.lab.A, lab.PairName("client", pair), lab.VethName(pair-1), lab.NetA, 1+pair, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		if pair == 1 {
			client = c.place
		}
		s := servers[pair-1]
		p.ends(c.place, s.place, lab.PrefixAddrs(s.own), p.lab.B.Addr, uint16(pathspec.FirstPort+pair-1))
		p.carries(pair, a, lab.VethName(pair-1), pathspec.Receives)
		return p.routed(c.place, lab.NetA)
	})
	if err != nil {
		return err
	}
	if err := p.gateway(a, lab.NetA, nil); err != nil {
		return err
	}
	p.underlay()
	p.counts("a", linuxnet.CountOut, driver.Forward)
	p.counts("a", linuxnet.CountIn, driver.Reverse)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName("a", table, linuxnet.CountMasquerade+"_packets"), Expect: driver.Connections})
	server := servers[0].place
	p.SetSteps(process(client), own(device(client, eth)), own(device(a, lab.VethName(0))), device(a, br), nat(a, "masquerade"), device(a, eth),
		device(b, eth), nat(b, "DNAT"), device(b, br), own(device(b, lab.VethName(0))), own(device(server, eth)), process(server))
	return nil
}

// behindPorts builds b's side of published ports, one a pair, and its part of the
// proof.
func (p *path) behindPorts() (b place, servers []box, err error) {
	b = p.on(p.lab.B)
	if err := p.bridgeAt(b, lab.NetB, p.lab.Spec.MTU); err != nil {
		return b, nil, err
	}
	p.carries(pathspec.AllPairs, b, br, pathspec.Transmits)
	var published [][]netip.Prefix
	err = p.ForEachPair(func(pair int) error {
		s, err := p.plug(b, p.lab.B, lab.PairName("server", pair), lab.VethName(pair-1), lab.NetB, 1+pair, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		servers, published = append(servers, s), append(published, s.own)
		p.carries(pair, b, lab.VethName(pair-1), pathspec.Transmits)
		return p.routed(s.place, lab.NetB)
	})
	if err != nil {
		return b, nil, err
	}
	if err := p.gateway(b, lab.NetB, published); err != nil {
		return b, nil, err
	}
	p.counts("b", linuxnet.CountIn, driver.Forward)
	p.counts("b", linuxnet.CountOut, driver.Reverse)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName("b", table, linuxnet.CountDNAT+"_packets"), Expect: driver.Connections})
	p.rests(b, lo)
	return b, servers, nil
}

// counts declares what a counter of a gateway must have seen.
func (p *path) counts(at, name string, e driver.Expect) {
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(at, table, name+"_bytes"), Expect: e})
}

// colocated: two sandboxes a pair on one bridge of a. Frames go from port to port;
// the bridge's own device sees none of them unless they are routed.
func (p *path) colocated() error {
	a := p.on(p.lab.A)
	if err := p.bridgeAt(a, lab.NetA, p.lab.Spec.MTU); err != nil {
		return err
	}
	err := p.ForEachPair(func(pair int) error {
		out, in := 2*pair-2, 2*pair-1
		client, err := p.plug(a, p.lab.A, lab.PairName("client", pair), lab.VethName(out), lab.NetA, 2+out, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		server, err := p.plug(a, p.lab.A, lab.PairName("server", pair), lab.VethName(in), lab.NetA, 2+in, p.lab.Spec.MTU)
		if err != nil {
			return err
		}
		p.ends(client.place, server.place, lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.carries(pair, a, lab.VethName(out), pathspec.Receives)
		p.carries(pair, a, lab.VethName(in), pathspec.Transmits)
		if pair == 1 {
			p.SetSteps(process(client.place), own(device(client.place, eth)), own(device(a, lab.VethName(out))), device(a, br),
				own(device(a, lab.VethName(in))), own(device(server.place, eth)), process(server.place))
		}
		return nil
	})
	p.rests(a, br)
	p.rests(a, eth)
	return err
}

// macvlan: a macvlan device of each host's underlay link, in a sandbox.
func (p *path) macvlan() error { return p.onUnderlay((*linuxnet.NS).Macvlan) }

// ipvlan: the same with ipvlan in L2 mode.
func (p *path) ipvlan() error { return p.onUnderlay((*linuxnet.NS).IPVlan) }

// firstOnUnderlay is the first host number of sandboxes on the underlay's subnet.
const firstOnUnderlay = 11

func (p *path) onUnderlay(child func(on *linuxnet.NS, d linuxnet.Device, parent string, into *linuxnet.NS) error) error {
	build := func(h *lab.Host, name string, number int) (box, error) {
		in, err := p.within(h, name)
		if err != nil {
			return box{}, err
		}
		if err := child(h.NS, p.lab.Device(eth, 0), h.Underlay, in.ns); err != nil {
			return box{}, err
		}
		b := box{in, p.lab.Addresses(lab.NetUnderlay, number)}
		return b, p.bring(b)
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
		p.ends(client.place, server.place, lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.carries(pair, client.place, eth, pathspec.Transmits)
		p.carries(pair, server.place, eth, pathspec.Receives)
		if pair == 1 {
			p.SetSteps(process(client.place), own(device(client.place, eth)), device(p.on(p.lab.A), eth), device(p.on(p.lab.B), eth),
				own(device(server.place, eth)), process(server.place))
		}
		return nil
	})
}

// underlay declares that the traffic of all pairs must cross the underlay.
func (p *path) underlay() {
	p.carries(pathspec.AllPairs, p.on(p.lab.A), eth, pathspec.Transmits)
	p.carries(pathspec.AllPairs, p.on(p.lab.B), eth, pathspec.Receives)
}
