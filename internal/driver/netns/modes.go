//go:build linux

package netns

import (
	"errors"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// host: process on a, underlay, process on b.
func (p *path) host() error {
	a, b := p.on(p.lab.A), p.on(p.lab.B)
	p.ends("a", a.ns, "b", b.ns, p.lab.B.Addr, p.lab.B.Addr, 0)
	p.underlay()
	p.rests("a", a.ns, lo)
	p.rests("b", b.ns, lo)
	p.draw(process(a), device(a, eth), device(b, eth), process(b))
	return nil
}

// hostLocal: two processes on a, through a's own address. The kernel sends that
// over the loopback device.
func (p *path) hostLocal() error {
	a := p.on(p.lab.A)
	p.ends("a", a.ns, "a", a.ns, p.lab.A.Addr, p.lab.A.Addr, 0)
	p.watch = append(p.watch, watched{at: "a", ns: a.ns, dev: lo})
	// Loopback sends and receives both directions.
	p.rules = append(p.rules,
		driver.Rule{Counter: counter("a", lo, "tx_bytes"), Expect: driver.Both},
		driver.Rule{Counter: counter("a", lo, "rx_bytes"), Expect: driver.Both})
	p.rests("a", a.ns, eth)
	p.draw(process(a), device(a, lo), process(a))
	return nil
}

// published: process on a, underlay, DNAT on b, bridge, sandbox on b.
func (p *path) published() error {
	a := p.on(p.lab.A)
	b, server, own, err := p.behindPort()
	if err != nil {
		return err
	}
	p.ends("a", a.ns, server.at, server.ns, addrs(own), p.lab.B.Addr, port)
	p.underlay()
	p.draw(process(a), device(a, eth), device(b, eth), nat(b, "DNAT"), device(b, br), device(b, "veth0"), device(server, eth), process(server))
	return nil
}

// bridge: as published, with the client in a sandbox behind a masquerading
// bridge on a.
func (p *path) bridge() error {
	b, server, own, err := p.behindPort()
	if err != nil {
		return err
	}
	a := p.on(p.lab.A)
	if err := p.bridgeAt(a, lab.NetA, p.lab.Spec.MTU); err != nil {
		return err
	}
	client, _, err := p.plug(a, p.lab.A, "client", "veth0", lab.NetA, 2, p.lab.Spec.MTU)
	if err != nil {
		return err
	}
	if err := errors.Join(p.routed(client, lab.NetA), p.gateway(a, lab.NetA, nil)); err != nil {
		return err
	}
	p.ends(client.at, client.ns, server.at, server.ns, addrs(own), p.lab.B.Addr, port)
	p.underlay()
	p.carries("a", a.ns, br, receives)
	p.carries("a", a.ns, "veth0", receives)
	p.counts("a", linuxnet.CountOut, driver.Forward)
	p.counts("a", linuxnet.CountIn, driver.Reverse)
	p.rules = append(p.rules, driver.Rule{Counter: counter("a", table, linuxnet.CountMasquerade+"_packets"), Expect: driver.Connections})
	p.draw(process(client), device(client, eth), device(a, "veth0"), device(a, br), nat(a, "masquerade"), device(a, eth),
		device(b, eth), nat(b, "DNAT"), device(b, br), device(b, "veth0"), device(server, eth), process(server))
	return nil
}

// behindPort builds b's side of a published port and its part of the proof.
func (p *path) behindPort() (b, server place, own []netip.Prefix, err error) {
	b = p.on(p.lab.B)
	if err = p.bridgeAt(b, lab.NetB, p.lab.Spec.MTU); err != nil {
		return
	}
	if server, own, err = p.plug(b, p.lab.B, "server", "veth0", lab.NetB, 2, p.lab.Spec.MTU); err != nil {
		return
	}
	if err = p.routed(server, lab.NetB); err != nil {
		return
	}
	if err = p.gateway(b, lab.NetB, own); err != nil {
		return
	}
	p.carries("b", b.ns, br, transmits)
	p.carries("b", b.ns, "veth0", transmits)
	p.counts("b", linuxnet.CountIn, driver.Forward)
	p.counts("b", linuxnet.CountOut, driver.Reverse)
	p.rules = append(p.rules, driver.Rule{Counter: counter("b", table, linuxnet.CountDNAT+"_packets"), Expect: driver.Connections})
	p.rests("b", b.ns, lo)
	return
}

// counts declares what a counter of a gateway must have seen.
func (p *path) counts(at, name string, e driver.Expect) {
	p.rules = append(p.rules, driver.Rule{Counter: counter(at, table, name+"_bytes"), Expect: e})
}

// colocated: two sandboxes on one bridge of a. Frames go from port to port; the
// bridge's own device sees none of them unless they are routed.
func (p *path) colocated() error {
	a := p.on(p.lab.A)
	if err := p.bridgeAt(a, lab.NetA, p.lab.Spec.MTU); err != nil {
		return err
	}
	client, _, err := p.plug(a, p.lab.A, "client", "veth0", lab.NetA, 2, p.lab.Spec.MTU)
	if err != nil {
		return err
	}
	server, own, err := p.plug(a, p.lab.A, "server", "veth1", lab.NetA, 3, p.lab.Spec.MTU)
	if err != nil {
		return err
	}
	p.ends(client.at, client.ns, server.at, server.ns, addrs(own), addrs(own), 0)
	p.carries("a", a.ns, "veth0", receives)
	p.carries("a", a.ns, "veth1", transmits)
	p.rests("a", a.ns, br)
	p.rests("a", a.ns, eth)
	p.draw(process(client), device(client, eth), device(a, "veth0"), device(a, br), device(a, "veth1"), device(server, eth), process(server))
	return nil
}

// macvlan: a macvlan device of each host's underlay link, in a sandbox.
func (p *path) macvlan() error { return p.onUnderlay((*linuxnet.NS).Macvlan) }

// ipvlan: the same with ipvlan in L2 mode.
func (p *path) ipvlan() error { return p.onUnderlay((*linuxnet.NS).IPVlan) }

func (p *path) onUnderlay(child func(on *linuxnet.NS, d linuxnet.Device, parent string, into *linuxnet.NS) error) error {
	build := func(h *lab.Host, name string, number int) (place, []netip.Prefix, error) {
		box, err := p.within(h, name)
		if err != nil {
			return place{}, nil, err
		}
		if err := child(h.NS, p.lab.Device(eth, 0), h.Underlay, box.ns); err != nil {
			return place{}, nil, err
		}
		own := p.lab.Addresses(lab.NetUnderlay, number)
		return box, own, p.bring(box, own)
	}
	client, _, err := build(p.lab.A, "client", 11)
	if err != nil {
		return err
	}
	server, own, err := build(p.lab.B, "server", 12)
	if err != nil {
		return err
	}
	p.ends(client.at, client.ns, server.at, server.ns, addrs(own), addrs(own), 0)
	p.underlay()
	p.carries(client.at, client.ns, eth, transmits)
	p.carries(server.at, server.ns, eth, receives)
	p.draw(process(client), device(client, eth), device(p.on(p.lab.A), eth), device(p.on(p.lab.B), eth), device(server, eth), process(server))
	return nil
}

// underlay declares that the traffic must cross the underlay.
func (p *path) underlay() {
	p.carries("a", p.lab.A.NS, eth, transmits)
	p.carries("b", p.lab.B.NS, eth, receives)
}
