//go:build linux

package netns

import (
	"net/netip"

	"tare/internal/driver/pathspec"
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
	pathspec.Place
	ns *linuxnet.NS
}

func namespacePlace(ns *linuxnet.NS, host, at string) place {
	return place{pathspec.Place{At: at, Host: host, Stack: pathspec.NamespaceStack{NS: ns}}, ns}
}

func (p *path) on(h *lab.Host) place { return namespacePlace(h.NS, h.Name, h.Name) }

func (p *path) within(h *lab.Host, name string) (place, error) {
	ns, err := p.sandbox(h.Name + "-" + name)
	return namespacePlace(ns, h.Name, h.Name+"/"+name), err
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
	if err := p.lab.SetUpDevice(w.ns, br); err != nil {
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

// box is a sandbox with its own addresses.
type box struct {
	place
	own []netip.Prefix
}

// plug makes a sandbox with a veth on w's bridge: eth0 inside, port outside.
func (p *path) plug(w place, h *lab.Host, name, port string, net lab.Net, number, mtu int) (box, error) {
	in, err := p.within(h, name)
	if err != nil {
		return box{}, err
	}
	if err := w.ns.Veth(p.lab.Device(port, mtu), in.ns, p.lab.Device(eth, mtu)); err != nil {
		return box{}, err
	}
	if err := w.ns.Attach(port, br); err != nil {
		return box{}, err
	}
	if err := p.lab.SetUpDevice(w.ns, port); err != nil {
		return box{}, err
	}
	b := box{in, p.lab.Addresses(net, number)}
	return b, p.bring(b)
}

// bring sets a sandbox's eth0 up with its addresses.
func (p *path) bring(b box) error {
	if err := p.lab.SetUpDevice(b.ns, eth); err != nil {
		return err
	}
	for _, a := range b.own {
		if err := b.ns.Address(eth, a); err != nil {
			return err
		}
	}
	return nil
}

// routed gives a sandbox the first address of its subnet as the way out.
func (p *path) routed(in place, net lab.Net) error {
	for _, gw := range p.lab.Addresses(net, 1) {
		if err := in.ns.DefaultRoute(gw.Addr()); err != nil {
			return err
		}
	}
	return nil
}

// gateway installs what Docker's bridge driver installs for one bridge. The
// servers behind it are published in their order, from the first port on.
func (p *path) gateway(w place, net lab.Net, servers [][]netip.Prefix) error {
	g := linuxnet.Gateway{Table: table, Bridge: br}
	for _, a := range p.lab.Addresses(net, 0) {
		g.Subnets = append(g.Subnets, a.Masked())
	}
	for i, own := range servers {
		for _, a := range own {
			port := uint16(pathspec.FirstPort + i)
			g.Publish = append(g.Publish, linuxnet.Published{Port: port, To: netip.AddrPortFrom(a.Addr(), port)})
		}
	}
	if err := p.forwarding(w.ns); err != nil {
		return err
	}
	p.reads(w)
	return w.ns.Gateway(g)
}
