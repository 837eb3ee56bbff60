//go:build linux

package netns

import (
	"net/netip"

	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

func namespacePlace(ns *linuxnet.NS, host, at string) place {
	return place{labdriver.NamespacePlace(ns, host, at), ns}
}

func (p *path) hostPlace(h *lab.Host) place { return namespacePlace(h.NS, h.Name, h.Name) }

func (p *path) sandboxPlace(h *lab.Host, name string) (place, error) {
	ns, err := p.Sandbox(h.Name, name)
	return namespacePlace(ns, h.Name, h.Name+"/"+name), err
}

// bridgeAt creates a bridge, with the first address of a subnet unless net is negative.
func (p *path) bridgeAt(w place, net lab.Net) error {
	if err := w.ns.Links().Bridge(p.OnLab.Device(br, p.mtu)); err != nil {
		return err
	}
	if err := p.OnLab.SetUpDevice(w.ns, br); err != nil || net < 0 {
		return err
	}
	return addresses(w, br, p.OnLab.Addresses(net, 1))
}

// addresses gives a device addresses.
func addresses(w place, dev string, own []netip.Prefix) error {
	for _, a := range own {
		if err := w.ns.Routes().Address(dev, a); err != nil {
			return err
		}
	}
	return nil
}

// setMTU gives a device the MTU of the sandboxes' devices.
func (p *path) setMTU(w place, dev string) error { return w.ns.Links().SetMTU(dev, p.mtu) }

// forwarding turns a namespace into a router.
func (p *path) forwarding(w place) error { return p.OnLab.EnableForwarding(w.ns) }

// veth connects two places by a veth pair, whose devices setUpSandbox sets up.
func (p *path) veth(a place, device string, b place, peer string) error {
	return a.ns.Links().Veth(p.OnLab.Device(device, p.mtu), b.ns, p.OnLab.Device(peer, p.mtu))
}

// child creates eth0 of a sandbox as a device of the host's underlay link, of a kind of linuxnet.
func (p *path) child(kind string, h *lab.Host, sandbox place) error {
	return h.NS.Links().Child(kind, p.OnLab.Device(eth, 0), h.Underlay, sandbox.ns)
}

// addPair adds a pair of endpoints.
func (p *path) addPair(client, server place, listen, dial []netip.Addr, port uint16) {
	p.AddPairNamespaces(client.ns, server.ns)
	p.AddPair(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns), listen, dial, port)
}

// addSandbox creates a sandbox with a veth, eth0 inside and port outside: on w's bridge, or
// without that part routed by w.
func (p *path) addSandbox(w place, h *lab.Host, name, port string, net lab.Net, number int) (sandboxAddrs, error) {
	in, err := p.sandboxPlace(h, name)
	if err != nil {
		return sandboxAddrs{}, err
	}
	own := p.OnLab.Addresses(net, number)
	b := sandboxAddrs{in, lab.PrefixAddrs(own)}
	if !p.parts[partBridge] {
		return b, p.OnLab.ConnectRouted(lab.Routed{Connect: p.connect, Router: w.ns, Sandbox: in.ns, Port: port, Device: eth, MTU: p.mtu,
			Own: b.own, Gateway: lab.PrefixAddrs(p.OnLab.Addresses(net, 1))})
	}
	if err := p.veth(w, port, in, eth); err != nil {
		return b, err
	}
	if err := w.ns.Links().Attach(port, br); err != nil {
		return b, err
	}
	if err := p.OnLab.SetUpDevice(w.ns, port); err != nil {
		return b, err
	}
	return b, p.setUpSandbox(in, own)
}

// setUpSandbox sets up a sandbox's eth0 with its addresses.
func (p *path) setUpSandbox(in place, own []netip.Prefix) error {
	if err := p.OnLab.SetUpDevice(in.ns, eth); err != nil {
		return err
	}
	return addresses(in, eth, own)
}

// addDefaultRoute adds a default route over the first address of the sandbox's subnet.
func (p *path) addDefaultRoute(in place, net lab.Net) error {
	for _, gw := range p.OnLab.Addresses(net, 1) {
		if err := in.ns.Routes().DefaultRoute(gw.Addr()); err != nil {
			return err
		}
	}
	return nil
}
