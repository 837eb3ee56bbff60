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

// vxlanID is the network identifier; a lab has only one overlay.
const vxlanID = 4097

// vxlan: on each host a separate namespace has the bridge and the tunnel device, as with
// Docker's overlay driver; the outer packets are in the host's namespace. All forwarding
// entries are static; nothing is learned.
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
	p.mustCarry(pathspec.AllPairs, near, tunnel, pathspec.Transmits)
	p.mustCarry(pathspec.AllPairs, far, tunnel, pathspec.Receives)
	p.mustBeIdle(near, br)
	p.mustBeIdle(far, br)
	return p.ForEachPair(func(pair int) error {
		client, err := p.join(near, p.lab.A, "client", pair, 2*pair)
		if err != nil {
			return err
		}
		server, err := p.join(far, p.lab.B, "server", pair, 2*pair+1)
		if err != nil {
			return err
		}
		if err := addRemote(near, server, p.lab.B.Addr[0]); err != nil {
			return err
		}
		if err := addRemote(far, client, p.lab.A.Addr[0]); err != nil {
			return err
		}
		p.addPair(client.place, server.place, lab.PrefixAddrs(server.own), lab.PrefixAddrs(server.own), pathspec.ServerChoosesPort)
		p.mustCarry(pair, near, lab.VethName(pair-1), pathspec.Receives)
		p.mustCarry(pair, far, lab.VethName(pair-1), pathspec.Transmits)
		if pair == 1 {
			a, b := p.hostPlace(p.lab.A), p.hostPlace(p.lab.B)
			p.SetSteps(processStep(client.place), perPair(deviceStep(client.place, eth)), perPair(deviceStep(near, lab.VethName(0))), deviceStep(near, br), deviceStep(near, tunnel), deviceStep(a, eth),
				deviceStep(b, eth), deviceStep(far, tunnel), deviceStep(far, br), perPair(deviceStep(far, lab.VethName(0))), perPair(deviceStep(server.place, eth)), processStep(server.place))
		}
		return nil
	})
}

// innerMTU returns the MTU inside the tunnel: the requested one, or the maximum.
func (p *path) innerMTU() (int, error) {
	most := p.lab.Spec.MTU - vxlanOverhead
	if p.mtu > most {
		return 0, fmt.Errorf("the tunnel cannot have an inner MTU of %d: VXLAN adds %d bytes, and the underlay's MTU is %d", p.mtu, vxlanOverhead, p.lab.Spec.MTU)
	}
	return cmp.Or(p.mtu, most), nil
}

// overlay creates one host's side of the overlay, without sandboxes.
func (p *path) overlay(h *lab.Host) (place, error) {
	mtu, err := p.innerMTU()
	if err != nil {
		return place{}, err
	}
	net, err := p.sandboxPlace(h, "overlay")
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

// join connects a sandbox of a pair to one side of the overlay.
func (p *path) join(net place, h *lab.Host, name string, pair, number int) (sandboxAddrs, error) {
	mtu, err := p.innerMTU()
	if err != nil {
		return sandboxAddrs{}, err
	}
	return p.addSandbox(net, h, lab.PairName(name, pair), lab.VethName(pair-1), lab.NetOverlay, number, mtu)
}

// addRemote adds entries to one side of the overlay for a sandbox on the other.
func addRemote(net place, other sandboxAddrs, vtep netip.Addr) error {
	mac, err := other.ns.HardwareAddr(eth)
	if err != nil {
		return err
	}
	return net.ns.AddVXLANRemote(tunnel, mac, vtep, lab.PrefixAddrs(other.own)...)
}
