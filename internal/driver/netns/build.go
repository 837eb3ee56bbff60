//go:build linux

package netns

import (
	"net/netip"

	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of devices inside a lab, as an engine would choose them.
const (
	eth    = "eth0"
	br     = "br0"
	lo     = "lo"
	tunnel = "vxlan0"
	table  = "tare"
)

// place is a namespace with its name in counters and drawings.
type place struct {
	at   string // host or host/sandbox
	host string
	ns   *linuxnet.NS
}

func (p *path) on(h *lab.Host) place { return place{at: h.Name, host: h.Name, ns: h.NS} }

func (p *path) within(h *lab.Host, name string) (place, error) {
	ns, err := p.sandbox(h.Name + "-" + name)
	return place{at: h.Name + "/" + name, host: h.Name, ns: ns}, err
}

// forwarding makes a namespace route.
func (p *path) forwarding(ns *linuxnet.NS) error {
	if err := ns.Sysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	if !p.lab.IPv6 {
		return nil
	}
	return ns.Sysctl("net/ipv6/conf/all/forwarding", "1")
}

// bridgeAt makes a bridge, with the first address of a subnet unless net is
// negative.
func (p *path) bridgeAt(w place, net lab.Net, mtu int) error {
	if err := w.ns.Bridge(p.lab.Device(br, mtu)); err != nil {
		return err
	}
	if err := p.lab.Finish(w.ns, br); err != nil {
		return err
	}
	if net < 0 {
		return nil
	}
	for _, a := range p.lab.Addresses(net, 1) {
		if err := w.ns.Address(br, a); err != nil {
			return err
		}
	}
	return nil
}

// plug makes a sandbox with a veth on w's bridge: eth0 inside, port outside.
func (p *path) plug(w place, h *lab.Host, name, port string, net lab.Net, number, mtu int) (place, []netip.Prefix, error) {
	box, err := p.within(h, name)
	if err != nil {
		return place{}, nil, err
	}
	if err := w.ns.Veth(p.lab.Device(port, mtu), box.ns, p.lab.Device(eth, mtu)); err != nil {
		return place{}, nil, err
	}
	if err := w.ns.Attach(port, br); err != nil {
		return place{}, nil, err
	}
	if err := p.lab.Finish(w.ns, port); err != nil {
		return place{}, nil, err
	}
	own := p.lab.Addresses(net, number)
	return box, own, p.bring(box, own)
}

// bring sets a sandbox's eth0 up with its addresses.
func (p *path) bring(box place, own []netip.Prefix) error {
	if err := p.lab.Finish(box.ns, eth); err != nil {
		return err
	}
	for _, a := range own {
		if err := box.ns.Address(eth, a); err != nil {
			return err
		}
	}
	return nil
}

// routed gives a sandbox the first address of its subnet as the way out.
func (p *path) routed(box place, net lab.Net) error {
	for _, gw := range p.lab.Addresses(net, 1) {
		if err := box.ns.DefaultRoute(gw.Addr()); err != nil {
			return err
		}
	}
	return nil
}

// gateway installs what Docker's bridge driver installs for one bridge.
func (p *path) gateway(w place, net lab.Net, publish []netip.Prefix) error {
	g := linuxnet.Gateway{Table: table, Bridge: br}
	for _, a := range p.lab.Addresses(net, 0) {
		g.Subnets = append(g.Subnets, a.Masked())
	}
	for _, a := range publish {
		g.Publish = append(g.Publish, linuxnet.Published{Port: port, To: netip.AddrPortFrom(a.Addr(), port)})
	}
	if err := p.forwarding(w.ns); err != nil {
		return err
	}
	p.watch = append(p.watch, watched{at: w.at, ns: w.ns, table: table})
	return w.ns.Gateway(g)
}
