//go:build linux

package linuxnet

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Address adds an address to a link. It skips IPv6 duplicate address detection, which would
// take a second: the addresses of a lab are unique.
func (ns *Routes) Address(name string, addr netip.Prefix) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	a := &netlink.Addr{IPNet: ipNet(addr)}
	if addr.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := ns.handle.AddrAdd(l, a); err != nil {
		return fmt.Errorf("add to %s the address %s in namespace %s: %w", name, addr, ns.name, err)
	}
	return nil
}

// RemoveAddress removes an address from a link.
func (ns *Routes) RemoveAddress(name string, addr netip.Prefix) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.AddrDel(l, &netlink.Addr{IPNet: ipNet(addr)}); err != nil {
		return fmt.Errorf("remove address %s from %s in namespace %s: %w", addr, name, ns.name, err)
	}
	return nil
}

// HasAddress reports whether a link exists and has an address.
func (ns *Routes) HasAddress(name string, addr netip.Addr) (bool, error) {
	l, err := ns.handle.LinkByName(name)
	if IsNoDevice(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find %s in namespace %s: %w", name, ns.name, err)
	}
	all, err := ns.handle.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return false, fmt.Errorf("list the addresses of %s in namespace %s: %w", name, ns.name, err)
	}
	return slices.ContainsFunc(all, func(a netlink.Addr) bool { return a.IP.Equal(addr.AsSlice()) }), nil
}

// Addresses returns the addresses of a link with their prefix lengths.
func (ns *Routes) Addresses(name string) (own []netip.Prefix, err error) {
	l, err := ns.handle.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find %s in namespace %s: %w", name, ns.name, err)
	}
	all, err := ns.handle.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %s in namespace %s: %w", name, ns.name, err)
	}
	for _, a := range all {
		bits, _ := a.Mask.Size()
		if addr, ok := netip.AddrFromSlice(a.IP); ok {
			own = append(own, netip.PrefixFrom(addr.Unmap(), bits))
		}
	}
	return own, nil
}

// DefaultRoute adds a default route through gateway.
func (ns *Routes) DefaultRoute(gateway netip.Addr) error {
	return ns.Route(netip.PrefixFrom(zero(gateway), 0), gateway, "")
}

// Route routes dst through gateway, or directly over dev if gateway is the zero Addr.
func (ns *Routes) Route(dst netip.Prefix, gateway netip.Addr, dev string) error {
	r := &netlink.Route{Dst: ipNet(dst)}
	if gateway.IsValid() {
		r.Gw = gateway.AsSlice()
	} else {
		r.Scope = netlink.SCOPE_LINK // the kernel accepts no gateway behind a route of wider scope
	}
	if dev != "" {
		l, err := ns.whole().Links().link(dev)
		if err != nil {
			return err
		}
		r.LinkIndex = l.Attrs().Index
	}
	if err := ns.handle.RouteReplace(r); err != nil {
		return fmt.Errorf("route %s through %s %s in namespace %s: %w", dst, gateway, dev, ns.name, err)
	}
	return nil
}

// unreachableMetric is the metric of an unreachable route: any other route takes precedence.
const unreachableMetric = 1 << 20

// Unreachable rejects packets to dst unless another route, for instance a default route,
// matches.
func (ns *Routes) Unreachable(dst netip.Prefix) error {
	r := &netlink.Route{Dst: ipNet(dst), Type: unix.RTN_UNREACHABLE, Priority: unreachableMetric}
	if err := ns.handle.RouteAdd(r); err != nil {
		return fmt.Errorf("make %s unreachable in namespace %s: %w", dst, ns.name, err)
	}
	return nil
}

// PreferMainTable makes the namespace look up IPv4 routes in its main table before any
// other; tests use it to bypass the path.
func (ns *Routes) PreferMainTable() error {
	r := netlink.NewRule()
	r.Family, r.Priority, r.Table = unix.AF_INET, 1, unix.RT_TABLE_MAIN
	if err := ns.handle.RuleAdd(r); err != nil {
		return fmt.Errorf("prefer the main table in namespace %s: %w", ns.name, err)
	}
	return nil
}

// AddVXLANRemote adds forwarding and neighbour entries to a VXLAN device: mac, with the
// addresses ips, is behind vtep.
func (ns *Links) AddVXLANRemote(vxlan string, mac net.HardwareAddr, vtep netip.Addr, ips ...netip.Addr) error {
	l, err := ns.link(vxlan)
	if err != nil {
		return err
	}
	i := l.Attrs().Index
	fdb := &netlink.Neigh{LinkIndex: i, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT,
		Flags: netlink.NTF_SELF, IP: vtep.AsSlice(), HardwareAddr: mac}
	if err := ns.handle.NeighSet(fdb); err != nil {
		return fmt.Errorf("add FDB entry %s to %s on %s: %w", mac, vtep, vxlan, err)
	}
	for _, ip := range ips {
		n := &netlink.Neigh{LinkIndex: i, State: netlink.NUD_PERMANENT, IP: ip.AsSlice(), HardwareAddr: mac}
		if err := ns.handle.NeighSet(n); err != nil {
			return fmt.Errorf("add neighbour %s as %s on %s: %w", ip, mac, vxlan, err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func zero(like netip.Addr) netip.Addr {
	if like.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}
