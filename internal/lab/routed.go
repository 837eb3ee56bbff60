//go:build linux

package lab

import (
	"net/netip"

	"tare/internal/linuxnet"
)

// EnableForwarding makes a namespace a router.
func (l *Lab) EnableForwarding(ns *linuxnet.NS) error {
	if err := ns.Sysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	if !l.IPv6 {
		return nil
	}
	return ns.Sysctl("net/ipv6/conf/all/forwarding", "1")
}

// Routed is a sandbox that a pair of devices, such as a veth, connects with a router, as
// CNI's ptp plugin does.
type Routed struct {
	// Connect creates the pair: port in the router, device in the sandbox.
	Connect         func(router *linuxnet.Links, port linuxnet.Device, sandbox *linuxnet.NS, device linuxnet.Device) error
	Router, Sandbox *linuxnet.NS
	Port, Device    string // the names in the router and in the sandbox
	MTU             int
	Own             []netip.Addr // of the sandbox
	Gateway         []netip.Addr // of the router on its device; its other devices may have them too
}

// ConnectRouted creates the pair, with routes for each address alone and a default route of
// the sandbox. Neither side has a subnet on it.
func (l *Lab) ConnectRouted(r Routed) error {
	if err := r.Connect(r.Router.Links(), l.Device(r.Port, r.MTU), r.Sandbox, l.Device(r.Device, r.MTU)); err != nil {
		return err
	}
	for _, end := range []struct {
		in       *linuxnet.NS
		device   string
		own, far []netip.Addr
	}{{r.Router, r.Port, r.Gateway, r.Own}, {r.Sandbox, r.Device, r.Own, r.Gateway}} {
		if err := l.SetUpDevice(end.in, end.device); err != nil {
			return err
		}
		for _, a := range end.own {
			if err := end.in.Routes().Address(end.device, alone(a)); err != nil {
				return err
			}
		}
		for _, a := range end.far {
			if err := end.in.Routes().Route(alone(a), netip.Addr{}, end.device); err != nil {
				return err
			}
		}
	}
	for _, gw := range r.Gateway {
		if err := r.Sandbox.Routes().DefaultRoute(gw); err != nil {
			return err
		}
	}
	return nil
}

// alone is the prefix of one address.
func alone(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
