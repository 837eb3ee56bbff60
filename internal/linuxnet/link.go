//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is a link to be made. MTU 0 leaves the kernel's default; Alias marks
// it as ours.
type Device struct {
	Name  string
	MTU   int
	Alias string
}

func (d Device) attrs() netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name, a.MTU = d.Name, d.MTU
	return a
}

func (ns *NS) link(name string) (netlink.Link, error) {
	l, err := ns.handle.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find %s in namespace %s: %w", name, ns.name, err)
	}
	return l, nil
}

// Veth makes a veth pair, d here and p in the namespace peer.
func (ns *NS) Veth(d Device, peer *NS, p Device) error {
	v := netlink.NewVeth(d.attrs())
	v.PeerName, v.PeerNamespace, v.PeerMTU = p.Name, netlink.NsFd(peer.fd()), uint32(p.MTU)
	if err := ns.handle.LinkAdd(v); err != nil {
		return fmt.Errorf("make veth %s in %s with %s in %s: %w", d.Name, ns.name, p.Name, peer.name, err)
	}
	if err := ns.alias(d); err != nil {
		return err
	}
	return peer.alias(p)
}

// Bridge makes a Linux bridge and sets it up.
func (ns *NS) Bridge(d Device) error {
	return ns.add(&netlink.Bridge{LinkAttrs: d.attrs()}, d, ns)
}

// Macvlan makes a macvlan device of parent, in bridge mode, inside the
// namespace into.
func (ns *NS) Macvlan(d Device, parent string, into *NS) error {
	return ns.child(d, parent, into, func(a netlink.LinkAttrs) netlink.Link {
		return &netlink.Macvlan{LinkAttrs: a, Mode: netlink.MACVLAN_MODE_BRIDGE}
	})
}

// IPVlan makes an ipvlan device of parent, in L2 mode, inside the namespace into.
func (ns *NS) IPVlan(d Device, parent string, into *NS) error {
	return ns.child(d, parent, into, func(a netlink.LinkAttrs) netlink.Link {
		return &netlink.IPVlan{LinkAttrs: a, Mode: netlink.IPVLAN_MODE_L2}
	})
}

func (ns *NS) child(d Device, parent string, into *NS, of func(netlink.LinkAttrs) netlink.Link) error {
	p, err := ns.link(parent)
	if err != nil {
		return err
	}
	a := d.attrs()
	a.ParentIndex, a.Namespace = p.Attrs().Index, netlink.NsFd(into.fd())
	return ns.add(of(a), d, into)
}

// VXLAN is a point-to-multipoint tunnel (RFC 7348) with static entries only.
type VXLAN struct {
	Device
	ID    int
	Local netip.Addr
}

// vxlanPort is the UDP port IANA assigned to VXLAN (RFC 7348 section 4.1).
const vxlanPort = 4789

// VXLAN makes the tunnel inside the namespace into, while its outer packets
// are sent and received in ns, as Docker's overlay driver does it.
func (ns *NS) VXLAN(v VXLAN, into *NS) error {
	a := v.attrs()
	a.Namespace = netlink.NsFd(into.fd())
	link := &netlink.Vxlan{LinkAttrs: a, VxlanId: v.ID, SrcAddr: v.Local.AsSlice(), Port: vxlanPort, Learning: false, Proxy: true}
	return ns.add(link, v.Device, into)
}

func (ns *NS) add(l netlink.Link, d Device, into *NS) error {
	if err := ns.handle.LinkAdd(l); err != nil {
		return fmt.Errorf("make %s %s in namespace %s: %w", l.Type(), d.Name, into.name, err)
	}
	if err := into.alias(d); err != nil {
		return err
	}
	return into.Up(d.Name)
}

func (ns *NS) alias(d Device) error {
	if d.Alias == "" {
		return nil
	}
	l, err := ns.link(d.Name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetAlias(l, d.Alias); err != nil {
		return fmt.Errorf("mark %s in namespace %s: %w", d.Name, ns.name, err)
	}
	return nil
}

// Up sets a link up.
func (ns *NS) Up(name string) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetUp(l); err != nil {
		return fmt.Errorf("set %s up in namespace %s: %w", name, ns.name, err)
	}
	return nil
}

// Attach makes port a port of bridge and sets it up.
func (ns *NS) Attach(port, bridge string) error {
	p, err := ns.link(port)
	if err != nil {
		return err
	}
	b, err := ns.link(bridge)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetMaster(p, b); err != nil {
		return fmt.Errorf("attach %s to bridge %s in namespace %s: %w", port, bridge, ns.name, err)
	}
	return ns.Up(port)
}

// Address gives a link an address. IPv6 duplicate address detection is skipped:
// the addresses of a lab are its own, and a second of waiting is not.
func (ns *NS) Address(name string, addr netip.Prefix) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	a := &netlink.Addr{IPNet: ipNet(addr)}
	if addr.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := ns.handle.AddrAdd(l, a); err != nil {
		return fmt.Errorf("give %s the address %s in namespace %s: %w", name, addr, ns.name, err)
	}
	return nil
}

// RemoveAddress takes an address from a link.
func (ns *NS) RemoveAddress(name string, addr netip.Prefix) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.AddrDel(l, &netlink.Addr{IPNet: ipNet(addr)}); err != nil {
		return fmt.Errorf("take address %s from %s in namespace %s: %w", addr, name, ns.name, err)
	}
	return nil
}

// HasAddress is whether a link is there and has an address.
func (ns *NS) HasAddress(name string, addr netip.Addr) (bool, error) {
	l, err := ns.handle.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
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

// DefaultRoute sends what has no route of its own through gateway.
func (ns *NS) DefaultRoute(gateway netip.Addr) error {
	return ns.Route(netip.PrefixFrom(zero(gateway), 0), gateway, "")
}

// Route sends dst through gateway, or straight out of dev when gateway is the
// zero Addr.
func (ns *NS) Route(dst netip.Prefix, gateway netip.Addr, dev string) error {
	r := &netlink.Route{Dst: ipNet(dst)}
	if gateway.IsValid() {
		r.Gw = gateway.AsSlice()
	}
	if dev != "" {
		l, err := ns.link(dev)
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

// lastResort is the metric of an Unreachable: any other route goes before it.
const lastResort = 1 << 20

// Unreachable refuses dst where no other route leads to it, a default one included.
func (ns *NS) Unreachable(dst netip.Prefix) error {
	r := &netlink.Route{Dst: ipNet(dst), Type: unix.RTN_UNREACHABLE, Priority: lastResort}
	if err := ns.handle.RouteAdd(r); err != nil {
		return fmt.Errorf("make %s unreachable in namespace %s: %w", dst, ns.name, err)
	}
	return nil
}

// MainFirst has the namespace look up IPv4 routes in its main table before any other;
// tests use it to open a way round the path.
func (ns *NS) MainFirst() error {
	r := netlink.NewRule()
	r.Family, r.Priority, r.Table = unix.AF_INET, 1, unix.RT_TABLE_MAIN
	if err := ns.handle.RuleAdd(r); err != nil {
		return fmt.Errorf("prefer the main table in namespace %s: %w", ns.name, err)
	}
	return nil
}

// Mark gives a link that something else made the mark of Device.
func (ns *NS) Mark(d Device) error { return ns.alias(d) }

// Remove takes a link away.
func (ns *NS) Remove(name string) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkDel(l); err != nil {
		return fmt.Errorf("remove %s from namespace %s: %w", name, ns.name, err)
	}
	return nil
}

// Hardware reads a link's MAC address.
func (ns *NS) Hardware(name string) (net.HardwareAddr, error) {
	l, err := ns.link(name)
	if err != nil {
		return nil, err
	}
	return l.Attrs().HardwareAddr, nil
}

// Remote tells a VXLAN device that mac, with the addresses ips, sits behind vtep.
func (ns *NS) Remote(vxlan string, mac net.HardwareAddr, vtep netip.Addr, ips ...netip.Addr) error {
	l, err := ns.link(vxlan)
	if err != nil {
		return err
	}
	i := l.Attrs().Index
	fdb := &netlink.Neigh{LinkIndex: i, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT,
		Flags: netlink.NTF_SELF, IP: vtep.AsSlice(), HardwareAddr: mac}
	if err := ns.handle.NeighSet(fdb); err != nil {
		return fmt.Errorf("forward %s to %s on %s: %w", mac, vtep, vxlan, err)
	}
	for _, ip := range ips {
		n := &netlink.Neigh{LinkIndex: i, State: netlink.NUD_PERMANENT, IP: ip.AsSlice(), HardwareAddr: mac}
		if err := ns.handle.NeighSet(n); err != nil {
			return fmt.Errorf("know %s as %s on %s: %w", ip, mac, vxlan, err)
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

// SetMTU sets the MTU of a link.
func (ns *NS) SetMTU(name string, mtu int) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetMTU(l, mtu); err != nil {
		return fmt.Errorf("give %s an MTU of %d in namespace %s: %w", name, mtu, ns.name, err)
	}
	return nil
}
