//go:build linux

package linuxnet

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Toward is how a namespace reaches an address.
type Toward struct {
	Device  string // through which packets leave
	Kind    string // of the device, as ip(8) shows it: device for hardware, bridge, vlan, wireguard
	MTU     int
	MAC     net.HardwareAddr // nil if the device has none, as a tunnel
	Gateway netip.Addr       // invalid if the address is on the segment of the device
	Local   bool             // the namespace itself has the address
}

// Toward looks up how an address is reached. No packet is sent.
func (ns *Routes) Toward(addr netip.Addr) (t Toward, err error) {
	fail := func(err error) (Toward, error) {
		return t, fmt.Errorf("find the route to %s in namespace %s: %w", addr, ns.name, err)
	}
	routes, err := ns.handle.RouteGet(addr.Unmap().AsSlice())
	if err != nil {
		return fail(err)
	}
	if len(routes) == 0 {
		return fail(unix.ENETUNREACH)
	}
	l, err := ns.handle.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return fail(err)
	}
	a := l.Attrs()
	t = Toward{Device: a.Name, Kind: l.Type(), MTU: a.MTU, Local: routes[0].Type == unix.RTN_LOCAL}
	if len(a.HardwareAddr) == 6 && a.EncapType == "ether" {
		t.MAC = a.HardwareAddr
	}
	t.Gateway, _ = netip.AddrFromSlice(routes[0].Gw)
	t.Gateway = t.Gateway.Unmap()
	return t, nil
}

// SetHardwareAddr sets the MAC address of a link that has one and whose frames the kernel
// makes. Tunnels have none; that of a tap device belongs to the process behind it.
func (ns *Links) SetHardwareAddr(name string, mac net.HardwareAddr) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if l.Attrs().EncapType != "ether" || l.Type() == "tuntap" {
		return nil
	}
	if err := ns.handle.LinkSetHardwareAddr(l, mac); err != nil {
		return fmt.Errorf("set the MAC address of %s in namespace %s: %w", name, ns.name, err)
	}
	return nil
}

// Neighbour adds a permanent neighbour entry to a link: the address is not resolved.
func (ns *Routes) Neighbour(name string, addr netip.Addr, mac net.HardwareAddr) error {
	l, err := ns.whole().Links().link(name)
	if err != nil {
		return err
	}
	n := &netlink.Neigh{LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: addr.AsSlice(), HardwareAddr: mac}
	if err := ns.handle.NeighSet(n); err != nil {
		return fmt.Errorf("add neighbour %s as %s to %s in namespace %s: %w", addr, mac, name, ns.name, err)
	}
	return nil
}
