//go:build linux

package netns

import (
	"cmp"
	"fmt"
	"net/netip"

	"tare/internal/driver/pathspec"
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
	near, err := p.overlay(p.lab.A)
	if err != nil {
		return err
	}
	far, err := p.overlay(p.lab.B)
	if err != nil {
		return err
	}
	p.underlay()
	p.carries(pathspec.AllPairs, near, tunnel, pathspec.Transmits)
	p.carries(pathspec.AllPairs, far, tunnel, pathspec.Receives)
	p.rests(near, br)
	p.rests(far, br)
	return p.ForEachPair(func(pair int) error {
		client, err := p.join(near, p.lab.A, "client", pair, 2*pair)
		if err != nil {
			return err
		}
		server, err := p.join(far, p.lab.B, "server", pair, 2*pair+1)
		if err != nil {
			return err
		}
		if err := knows(near, server, p.lab.B.Addr[0]); err != nil {
			return err
		}
		if err := knows(far, client, p.lab.A.Addr[0]); err != nil {
			return err
		}
		p.ends(client.place, server.place, lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.carries(pair, near, lab.VethName(pair-1), pathspec.Receives)
		p.carries(pair, far, lab.VethName(pair-1), pathspec.Transmits)
		if pair == 1 {
			a, b := p.on(p.lab.A), p.on(p.lab.B)
			p.SetSteps(process(client.place), own(device(client.place, eth)), own(device(near, lab.VethName(0))), device(near, br), device(near, tunnel), device(a, eth),
				device(b, eth), device(far, tunnel), device(far, br), own(device(far, lab.VethName(0))), own(device(server.place, eth)), process(server.place))
		}
		return nil
	})
}

// inside is the MTU inside the tunnel: the one that was ordered, or as much as fits.
func (p *path) inside() (int, error) {
	most := p.lab.Spec.MTU - vxlanOverhead
	if p.mtu > most {
		return 0, fmt.Errorf("an MTU of %d inside the tunnel cannot be had: VXLAN adds %d bytes, and the underlay's MTU is %d", p.mtu, vxlanOverhead, p.lab.Spec.MTU)
	}
	return cmp.Or(p.mtu, most), nil
}

// overlay makes one host's side of the overlay, with nobody on it yet.
func (p *path) overlay(h *lab.Host) (place, error) {
	mtu, err := p.inside()
	if err != nil {
		return place{}, err
	}
	net, err := p.within(h, "overlay")
	if err != nil {
		return place{}, err
	}
	if err := p.bridgeAt(net, -1, mtu); err != nil {
		return place{}, err
	}
	v := linuxnet.VXLAN{Device: p.lab.Device(tunnel, mtu), ID: vxlanID, Local: h.Addr[0]}
	if err := h.NS.VXLAN(v, net.ns); err != nil {
		return place{}, err
	}
	if err := net.ns.Attach(tunnel, br); err != nil {
		return place{}, err
	}
	return net, p.lab.SetUpDevice(net.ns, tunnel)
}

// join puts a sandbox of a pair on one side of the overlay.
func (p *path) join(net place, h *lab.Host, name string, pair, number int) (box, error) {
	mtu, err := p.inside()
	if err != nil {
		return box{}, err
	}
	return p.plug(net, h, lab.PairName(name, pair), lab.VethName(pair-1), lab.NetOverlay, number, mtu)
}

// knows tells one side of the overlay where a sandbox of the other is.
func knows(net place, other box, vtep netip.Addr) error {
	mac, err := other.ns.HardwareAddr(eth)
	if err != nil {
		return err
	}
	return net.ns.AddVXLANRemote(tunnel, mac, vtep, lab.PrefixAddrs(other.own)...)
}
