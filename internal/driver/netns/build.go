//go:build linux

package netns

import (
	"net/netip"

	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The names of devices in a lab, as an engine would choose them.
const (
	eth    = "eth0"
	br     = "br0"
	lo     = "lo"
	tunnel = "vxlan0"
	table  = "tare"
)

// place is a namespace with its name in counters and topologies.
type place struct {
	pathspec.Place
	ns *linuxnet.NS
}

func namespacePlace(ns *linuxnet.NS, host, at string) place {
	return place{pathspec.Place{At: at, Host: host, Stack: pathspec.NamespaceStack{NS: ns}}, ns}
}

func (p *path) hostPlace(h *lab.Host) place { return namespacePlace(h.NS, h.Name, h.Name) }

func (p *path) sandboxPlace(h *lab.Host, name string) (place, error) {
	ns, err := p.sandbox(h.Name + "-" + name)
	return namespacePlace(ns, h.Name, h.Name+"/"+name), err
}

// bridgeAt creates a bridge, with the first address of a subnet unless net is negative.
func (p *path) bridgeAt(w place, net lab.Net) error {
	if err := w.ns.Links().Bridge(p.lab.Device(br, p.mtu)); err != nil {
		return err
	}
	if err := p.lab.SetUpDevice(w.ns, br); err != nil {
		return err
	}
	if net < 0 {
		return nil
	}
	for _, a := range p.lab.Addresses(net, 1) {
		if err := w.ns.Routes().Address(br, a); err != nil {
			return err
		}
	}
	return nil
}

// sandboxAddrs is an endpoint, a sandbox unless it is a process of its host, with its
// addresses.
type sandboxAddrs struct {
	place
	own []netip.Addr
}

// addSandbox creates a sandbox with a veth, eth0 inside and port outside: on w's bridge, or
// without that part routed by w.
func (p *path) addSandbox(w place, h *lab.Host, name, port string, net lab.Net, number int) (sandboxAddrs, error) {
	in, err := p.sandboxPlace(h, name)
	if err != nil {
		return sandboxAddrs{}, err
	}
	own := p.lab.Addresses(net, number)
	b := sandboxAddrs{in, lab.PrefixAddrs(own)}
	if !p.parts[partBridge] {
		return b, p.lab.ConnectRouted(lab.Routed{Connect: p.connect, Router: w.ns, Sandbox: in.ns, Port: port, Device: eth, MTU: p.mtu,
			Own: b.own, Gateway: lab.PrefixAddrs(p.lab.Addresses(net, 1))})
	}
	if err := w.ns.Links().Veth(p.lab.Device(port, p.mtu), in.ns, p.lab.Device(eth, p.mtu)); err != nil {
		return b, err
	}
	if err := w.ns.Links().Attach(port, br); err != nil {
		return b, err
	}
	if err := p.lab.SetUpDevice(w.ns, port); err != nil {
		return b, err
	}
	return b, p.setUpSandbox(in, own)
}

// setUpSandbox sets up a sandbox's eth0 with its addresses.
func (p *path) setUpSandbox(in place, own []netip.Prefix) error {
	if err := p.lab.SetUpDevice(in.ns, eth); err != nil {
		return err
	}
	for _, a := range own {
		if err := in.ns.Routes().Address(eth, a); err != nil {
			return err
		}
	}
	return nil
}

// addDefaultRoute adds a default route over the first address of the sandbox's subnet.
func (p *path) addDefaultRoute(in place, net lab.Net) error {
	for _, gw := range p.lab.Addresses(net, 1) {
		if err := in.ns.Routes().DefaultRoute(gw.Addr()); err != nil {
			return err
		}
	}
	return nil
}
