//go:build linux

package netns

import (
	"net/netip"
	"slices"

	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// vxlanID is the network identifier; a lab has only one overlay.
const vxlanID = 4097

// The host numbers of the tunnel devices in the overlay's subnet, where nothing is bridged
// and they have addresses. Those of the sandboxes are up to 2*MaxPairs+1.
const (
	nearTunnel = 251 + iota
	farTunnel
)

// overlay is one host's side of the overlay.
type overlay struct {
	place
	*path
	host   *lab.Host
	tunnel []netip.Addr // of the tunnel device, if nothing is bridged
}

func (overlays) build(p *path) error {
	near, err := p.overlay(p.OnLab.A, nearTunnel)
	if err != nil {
		return err
	}
	far, err := p.overlay(p.OnLab.B, farTunnel)
	if err != nil {
		return err
	}
	p.underlay()
	p.mustCarry(pathspec.AllPairs, near.place, tunnel, pathspec.Transmits)
	p.mustCarry(pathspec.AllPairs, far.place, tunnel, pathspec.Receives)
	for _, o := range []overlay{near, far} {
		if p.parts[partBridge] {
			p.mustBeIdle(o.place, br)
		}
		if !p.parts[partNamespace] {
			p.mustBeIdle(o.place, lo)
		}
	}
	if !p.parts[partBridge] {
		if err := connectTunnels(near, far); err != nil {
			return err
		}
	}
	return p.ForEachPair(func(pair int) error {
		client, err := near.join(far, "client", pair, 2*pair)
		if err != nil {
			return err
		}
		server, err := far.join(near, "server", pair, 2*pair+1)
		if err != nil {
			return err
		}
		p.addPair(client.place, server.place, server.own, server.own, pathspec.ServerChoosesPort)
		if p.parts[partNamespace] {
			p.mustCarry(pair, near.place, lab.VethName(pair-1), pathspec.Receives)
			p.mustCarry(pair, far.place, lab.VethName(pair-1), pathspec.Transmits)
		}
		if pair == 1 {
			p.SetSteps(slices.Concat(near.steps(client.place), pathspec.Reversed(far.steps(server.place)))...)
		}
		return nil
	})
}

// overlay creates one host's side of the overlay, without sandboxes.
func (p *path) overlay(h *lab.Host, number int) (overlay, error) {
	o := overlay{place: p.hostPlace(h), path: p, host: h}
	if p.parts[partNamespace] {
		var err error
		if o.place, err = p.sandboxPlace(h, "overlay"); err != nil {
			return o, err
		}
	}
	if p.parts[partBridge] {
		if err := p.bridgeAt(o.place, -1); err != nil {
			return o, err
		}
	}
	v := linuxnet.VXLAN{Device: p.OnLab.Device(tunnel, p.mtu), ID: vxlanID, Local: h.Addr[0]}
	if err := h.NS.Links().VXLAN(v, o.ns); err != nil {
		return o, err
	}
	if p.parts[partBridge] {
		if err := o.ns.Links().Attach(tunnel, br); err != nil {
			return o, err
		}
		return o, p.OnLab.SetUpDevice(o.ns, tunnel)
	}
	if err := p.OnLab.SetUpDevice(o.ns, tunnel); err != nil {
		return o, err
	}
	for _, a := range p.OnLab.Addresses(lab.NetOverlay, number) {
		if err := o.ns.Routes().Address(tunnel, a); err != nil {
			return o, err
		}
		o.tunnel = append(o.tunnel, a.Addr())
	}
	if !p.parts[partNamespace] {
		return o, nil
	}
	return o, p.OnLab.EnableForwarding(o.ns)
}

// connectTunnels adds the entries for each tunnel device on the other side.
func connectTunnels(near, far overlay) error {
	if err := addRemote(near, far.place, tunnel, far.tunnel, far.host); err != nil {
		return err
	}
	return addRemote(far, near.place, tunnel, near.tunnel, near.host)
}

// join connects the sandbox of a pair to one side of the overlay, and tells the other where
// it is. Without sandboxes the endpoint is the side itself.
func (o overlay) join(other overlay, role string, pair, number int) (sandboxAddrs, error) {
	if !o.parts[partNamespace] {
		return sandboxAddrs{o.place, o.tunnel}, nil
	}
	box, err := o.addSandbox(o.place, o.host, lab.PairName(role, pair), lab.VethName(pair-1), lab.NetOverlay, number)
	if err != nil {
		return box, err
	}
	if o.parts[partBridge] {
		return box, addRemote(other, box.place, eth, box.own, o.host)
	}
	for i, a := range box.own {
		if err := other.ns.Routes().Route(netip.PrefixFrom(a, a.BitLen()), o.tunnel[i], tunnel); err != nil {
			return box, err
		}
	}
	return box, nil
}

// addRemote adds entries to one side of the overlay for a device on the other, behind host.
func addRemote(o overlay, far place, device string, addrs []netip.Addr, host *lab.Host) error {
	mac, err := far.ns.Links().HardwareAddr(device)
	if err != nil {
		return err
	}
	return o.ns.Links().AddVXLANRemote(tunnel, mac, host.Addr[0], addrs...)
}

// steps are the steps from an endpoint to the underlay's device.
func (o overlay) steps(end place) []pathspec.Step {
	steps := []pathspec.Step{processStep(end)}
	if o.parts[partNamespace] {
		steps = endSteps(end, o.place, lab.VethName(0))
	}
	if o.parts[partBridge] {
		steps = append(steps, deviceStep(o.place, br))
	}
	return append(steps, deviceStep(o.place, tunnel), deviceStep(o.hostPlace(o.host), eth))
}
