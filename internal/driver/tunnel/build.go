//go:build linux

package tunnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Kind describes a tunnel: the row of its mode, of which Headers and MaxMTU bound the inner MTU, and what
// else its software has chosen.
type Kind struct {
	driver.Mode
	Port         uint16 // UDP port on the underlay
	MTUReduction int    // default difference between the underlay's MTU and the inner MTU, bytes
}

// mtu returns the requested inner MTU or the default, or why it is impossible.
func (k Kind) mtu(o labdriver.Order) (int, error) {
	mtu, most := o.Lab.MTU-k.MTUReduction, o.Lab.MTU-k.Headers
	if k.MaxMTU > 0 {
		mtu, most = min(mtu, k.MaxMTU), min(most, k.MaxMTU)
	}
	mtu = cmp.Or(o.MTU, mtu)
	if mtu > most || mtu < lab.MinMTU {
		return 0, fmt.Errorf("provision %s: the tunnel cannot have an inner MTU of %d: encapsulation takes %d bytes, and the underlay's MTU is %d; use %d to %d",
			o.Mode, mtu, k.Headers, o.Lab.MTU, lab.MinMTU, most)
	}
	return mtu, nil
}

// Provision builds the mode in its own lab. make sets the tunnel up, returns the name of the
// tunnel's device on both hosts, and adds rules. On error nothing is left.
func Provision(ctx context.Context, o labdriver.Order, k Kind, make func(context.Context, *Path) (device string, err error)) (*driver.Path, error) {
	p, err := Build(ctx, o, k, make)
	if err != nil {
		return nil, err
	}
	return p.DriverPath(driver.Path{MergesDatagrams: true}, p), nil
}

// Build is Provision for what needs the path itself.
func Build(ctx context.Context, o labdriver.Order, k Kind, make func(context.Context, *Path) (device string, err error)) (*Path, error) {
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	mtu, err := k.mtu(o)
	if err != nil {
		return nil, err
	}
	base, err := labdriver.Up(o, "the tunnel")
	if err != nil {
		return nil, err
	}
	p := &Path{Path: base, MTU: mtu}
	if err := p.build(ctx, k, make); err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p, nil
}

func (p *Path) build(ctx context.Context, k Kind, make func(context.Context, *Path) (string, error)) error {
	var err error
	if p.Near, err = p.side(p.OnLab.A, lab.NetA); err != nil {
		return err
	}
	if p.Far, err = p.side(p.OnLab.B, lab.NetB); err != nil {
		return err
	}
	for _, s := range p.Sides() {
		// Without the tunnel nothing may leave unencrypted, whatever routes exist.
		for _, behind := range p.Other(s).Subnets {
			if err := s.NS.Routes().Unreachable(behind); err != nil {
				return err
			}
		}
	}
	device, err := make(ctx, p)
	if err != nil {
		return err
	}
	if err := p.sandboxes(device); err != nil {
		return err
	}
	p.proof(device)
	p.AddDeciding("inner MTU", strconv.Itoa(p.MTU))
	p.AddFact("overhead", fmt.Sprintf("at most %d bytes a packet, UDP port %d", k.Headers, k.Port))
	if err := p.CheckReachable(ctx, "the tunnel"); err != nil {
		err = fmt.Errorf("%w: the tunnel is set up, but packets routed into it do not arrive", err)
		if p.Diagnose != nil {
			return p.Diagnose(err)
		}
		return err
	}
	return nil
}

// side turns one host into a router with a bridge for its sandboxes.
func (p *Path) side(h *lab.Host, net lab.Net) (*Side, error) {
	s := &Side{Place: labdriver.NamespacePlace(h.NS, h.Name, h.Name), Host: h, NS: h.NS, net: net}
	if err := h.NS.Links().Bridge(p.OnLab.Device(br, p.MTU)); err != nil {
		return nil, err
	}
	if err := p.OnLab.SetUpDevice(h.NS, br); err != nil {
		return nil, err
	}
	for _, a := range p.OnLab.Addresses(net, 1) {
		if err := h.NS.Routes().Address(br, a); err != nil {
			return nil, err
		}
		s.Subnets, s.Gateway = append(s.Subnets, a.Masked()), append(s.Gateway, a.Addr())
	}
	return s, p.OnLab.EnableForwarding(h.NS)
}

// RouteToPeer routes the subnets behind the other side into the tunnel's device.
func (p *Path) RouteToPeer(s *Side, device string) error {
	for _, behind := range p.Other(s).Subnets {
		if err := s.NS.Routes().Route(behind, netip.Addr{}, device); err != nil {
			return err
		}
	}
	return nil
}

// AdoptDevice marks a device created by the tunnel's process as the run's, applies the
// lab's offload settings and sets it up.
func (p *Path) AdoptDevice(s *Side, device string) error {
	if err := s.NS.Links().SetAlias(p.OnLab.Device(device, 0)); err != nil {
		return err
	}
	return p.OnLab.SetUpDevice(s.NS, device)
}

// Device describes a tunnel device.
func (p *Path) Device(name string) linuxnet.Device { return p.OnLab.Device(name, p.MTU) }

// sandbox is a sandbox with its addresses.
type sandbox struct {
	pathspec.Place
	ns  *linuxnet.NS
	own []netip.Addr
}

// sandboxes creates the endpoints of all pairs behind the bridges.
func (p *Path) sandboxes(device string) error {
	return p.ForEachPair(func(pair int) error {
		client, err := p.plug(p.Near, "client", pair)
		if err != nil {
			return err
		}
		server, err := p.plug(p.Far, "server", pair)
		if err != nil {
			return err
		}
		p.AddPairNamespaces(client.ns, server.ns)
		p.AddPair(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns), server.own, server.own, pathspec.ServerChoosesPort)
		if pair == 1 {
			p.draw(client, server, device)
		}
		return nil
	})
}

// plug creates a sandbox of a pair behind a side's bridge.
func (p *Path) plug(s *Side, role string, pair int) (sandbox, error) {
	if pair > 1 {
		role += strconv.Itoa(pair)
	}
	ns, err := p.Sandbox(s.At, role)
	if err != nil {
		return sandbox{}, err
	}
	b := sandbox{labdriver.NamespacePlace(ns, s.At, s.At+"/"+role), ns, nil}
	port := lab.VethName(pair - 1)
	if err := s.NS.Links().Veth(p.OnLab.Device(port, p.MTU), ns, p.OnLab.Device(eth, p.MTU)); err != nil {
		return b, err
	}
	if err := s.NS.Links().Attach(port, br); err != nil {
		return b, err
	}
	if err := errors.Join(p.OnLab.SetUpDevice(s.NS, port), p.OnLab.SetUpDevice(ns, eth)); err != nil {
		return b, err
	}
	for _, a := range p.OnLab.Addresses(s.net, 1+pair) {
		if err := ns.Routes().Address(eth, a); err != nil {
			return b, err
		}
		b.own = append(b.own, a.Addr())
	}
	for _, gw := range s.Gateway {
		if err := ns.Routes().DefaultRoute(gw); err != nil {
			return b, err
		}
	}
	return b, nil
}
