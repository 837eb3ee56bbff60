//go:build linux

package netns

import (
	"net/netip"

	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// vxlanOverhead is what VXLAN over IPv4 adds to a packet: outer IPv4 20, UDP 8,
// VXLAN 8 and the inner Ethernet header 14 (RFC 7348 section 5).
const vxlanOverhead = 50

// vxlanID is the network identifier; a lab has but one overlay.
const vxlanID = 4097

// vxlan: on each host a namespace of the overlay's own holds the bridge and the
// tunnel device, as Docker's overlay driver has it; the outer packets travel in
// the host's namespace. Who is where is known beforehand: nothing is learned.
func (p *path) vxlan() error {
	client, err := p.overlayEnd(p.lab.A, "client", 2)
	if err != nil {
		return err
	}
	server, err := p.overlayEnd(p.lab.B, "server", 3)
	if err != nil {
		return err
	}
	if err := server.knows(client, p.lab.A.Addr[0]); err != nil {
		return err
	}
	if err := client.knows(server, p.lab.B.Addr[0]); err != nil {
		return err
	}
	p.ends(client.box.at, client.box.ns, server.box.at, server.box.ns, addrs(server.own), addrs(server.own), 0)
	p.underlay()
	for _, end := range []struct {
		overlayEnd
		tunnel, port direction
	}{{client, transmits, receives}, {server, receives, transmits}} {
		p.carries(end.net.at, end.net.ns, tunnel, end.tunnel)
		p.carries(end.net.at, end.net.ns, "veth0", end.port)
		p.rests(end.net.at, end.net.ns, br)
	}
	a, b := p.on(p.lab.A), p.on(p.lab.B)
	p.draw(process(client.box), device(client.box, eth), device(client.net, "veth0"), device(client.net, br), device(client.net, tunnel), device(a, eth),
		device(b, eth), device(server.net, tunnel), device(server.net, br), device(server.net, "veth0"), device(server.box, eth), process(server.box))
	return nil
}

// overlayEnd is one host's side of the overlay.
type overlayEnd struct {
	net, box place
	own      []netip.Prefix
}

func (p *path) overlayEnd(h *lab.Host, name string, number int) (overlayEnd, error) {
	mtu := p.lab.Spec.MTU - vxlanOverhead
	net, err := p.within(h, "overlay")
	if err != nil {
		return overlayEnd{}, err
	}
	if err := p.bridgeAt(net, -1, mtu); err != nil {
		return overlayEnd{}, err
	}
	v := linuxnet.VXLAN{Device: p.lab.Device(tunnel, mtu), ID: vxlanID, Local: h.Addr[0]}
	if err := h.NS.VXLAN(v, net.ns); err != nil {
		return overlayEnd{}, err
	}
	if err := net.ns.Attach(tunnel, br); err != nil {
		return overlayEnd{}, err
	}
	if err := p.lab.Finish(net.ns, tunnel); err != nil {
		return overlayEnd{}, err
	}
	box, own, err := p.plug(net, h, name, "veth0", lab.NetOverlay, number, mtu)
	return overlayEnd{net: net, box: box, own: own}, err
}

// knows tells this side of the overlay where the other end is.
func (e overlayEnd) knows(other overlayEnd, vtep netip.Addr) error {
	mac, err := other.box.ns.Hardware(eth)
	if err != nil {
		return err
	}
	return e.net.ns.Remote(tunnel, mac, vtep, addrs(other.own)...)
}
