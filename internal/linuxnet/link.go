//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device describes a link to create. MTU 0 is the kernel's default; Alias marks the link as
// the run's.
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

// IsNoDevice reports whether an error means that a namespace has no device of that name.
func IsNoDevice(err error) bool { return errors.As(err, new(netlink.LinkNotFoundError)) }

func (ns *Links) link(name string) (netlink.Link, error) {
	l, err := ns.handle.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find %s in namespace %s: %w", name, ns.name, err)
	}
	return l, nil
}

// Veth creates a veth pair: d here and p in the namespace peer.
func (ns *Links) Veth(d Device, peer *NS, p Device) error {
	v := netlink.NewVeth(d.attrs())
	v.PeerName, v.PeerNamespace, v.PeerMTU = p.Name, netlink.NsFd(peer.fd()), uint32(p.MTU)
	if err := ns.handle.LinkAdd(v); err != nil {
		return fmt.Errorf("create veth %s in %s with %s in %s: %w", d.Name, ns.name, p.Name, peer.name, err)
	}
	if err := ns.alias(d); err != nil {
		return err
	}
	return peer.Links().alias(p)
}

// Netkit creates a pair of netkit devices that carry Ethernet frames: the primary d here and
// p in the namespace peer.
func (ns *Links) Netkit(d Device, peer *NS, p Device) error {
	n := &netlink.Netkit{LinkAttrs: d.attrs(), Mode: netlink.NETKIT_MODE_L2, Scrub: netlink.NETKIT_SCRUB_DEFAULT, PeerScrub: netlink.NETKIT_SCRUB_DEFAULT}
	a := p.attrs()
	a.Namespace = netlink.NsFd(peer.fd())
	n.SetPeerAttrs(&a)
	if err := ns.handle.LinkAdd(n); err != nil {
		return fmt.Errorf("create netkit %s in %s with %s in %s: %w", d.Name, ns.name, p.Name, peer.name, err)
	}
	if err := ns.alias(d); err != nil {
		return err
	}
	return peer.Links().alias(p)
}

// Bridge creates a Linux bridge and sets it up.
func (ns *Links) Bridge(d Device) error {
	return ns.add(&netlink.Bridge{LinkAttrs: d.attrs()}, d, ns.whole())
}

// childOf is a device of a kind that is made on another one, by the name that `ip link add type` has for it: macvlan in bridge
// mode, ipvlan in L2 mode.
func childOf(kind string, a netlink.LinkAttrs) (netlink.Link, error) {
	switch kind {
	case "macvlan":
		return &netlink.Macvlan{LinkAttrs: a, Mode: netlink.MACVLAN_MODE_BRIDGE}, nil
	case "ipvlan":
		return &netlink.IPVlan{LinkAttrs: a, Mode: netlink.IPVLAN_MODE_L2}, nil
	}
	return nil, fmt.Errorf("create %s: no kind of device on another one has the name %q", a.Name, kind)
}

// Child creates a device of parent in the namespace into, see childOf, and sets it up.
func (ns *Links) Child(kind string, d Device, parent string, into *NS) error {
	p, err := ns.link(parent)
	if err != nil {
		return err
	}
	// Kernels before 6.13 reject a name that a device in the parent's namespace has.
	a := Device{Name: "new-" + d.Name, MTU: d.MTU}.attrs()
	a.ParentIndex, a.Namespace = p.Attrs().Index, netlink.NsFd(into.fd())
	link, err := childOf(kind, a)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkAdd(link); err != nil {
		return fmt.Errorf("create %s %s in namespace %s: %w", link.Type(), d.Name, into.name, err)
	}
	made, err := into.Links().link(a.Name)
	if err != nil {
		return err
	}
	if err := into.handle.LinkSetName(made, d.Name); err != nil {
		return fmt.Errorf("set the name of %s device %s in namespace %s: %w", link.Type(), d.Name, into.name, err)
	}
	if err := into.Links().alias(d); err != nil {
		return err
	}
	return into.Links().Up(d.Name)
}

// VXLAN is a point-to-multipoint tunnel (RFC 7348) with static entries only.
type VXLAN struct {
	Device
	ID    int
	Local netip.Addr
}

// vxlanPort is the UDP port IANA assigned to VXLAN (RFC 7348 section 4.1).
const vxlanPort = 4789

// VXLAN creates the tunnel device in the namespace into, while its outer packets are sent
// and received in ns, as in Docker's overlay driver.
func (ns *Links) VXLAN(v VXLAN, into *NS) error {
	a := v.attrs()
	a.Namespace = netlink.NsFd(into.fd())
	link := &netlink.Vxlan{LinkAttrs: a, VxlanId: v.ID, SrcAddr: v.Local.AsSlice(), Port: vxlanPort, Learning: false, Proxy: true}
	return ns.add(link, v.Device, into)
}

func (ns *Links) add(l netlink.Link, d Device, into *NS) error {
	if err := ns.handle.LinkAdd(l); err != nil {
		return fmt.Errorf("create %s %s in namespace %s: %w", l.Type(), d.Name, into.name, err)
	}
	if err := into.Links().alias(d); err != nil {
		return err
	}
	return into.Links().Up(d.Name)
}

func (ns *Links) alias(d Device) error {
	if d.Alias == "" {
		return nil
	}
	l, err := ns.link(d.Name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetAlias(l, d.Alias); err != nil {
		return fmt.Errorf("set the alias of %s in namespace %s: %w", d.Name, ns.name, err)
	}
	return nil
}

// Up sets a link up.
func (ns *Links) Up(name string) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetUp(l); err != nil {
		return fmt.Errorf("set %s up in namespace %s: %w", name, ns.name, err)
	}
	return nil
}

// Attach adds port to bridge and sets it up.
func (ns *Links) Attach(port, bridge string) error {
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

// SetAlias sets the alias of a link that was created by something else.
func (ns *Links) SetAlias(d Device) error { return ns.alias(d) }

// Remove deletes a link.
func (ns *Links) Remove(name string) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkDel(l); err != nil {
		return fmt.Errorf("remove %s from namespace %s: %w", name, ns.name, err)
	}
	return nil
}

// HardwareAddr reads a link's MAC address.
func (ns *Links) HardwareAddr(name string) (net.HardwareAddr, error) {
	l, err := ns.link(name)
	if err != nil {
		return nil, err
	}
	return l.Attrs().HardwareAddr, nil
}

// SetMTU sets the MTU of a link.
func (ns *Links) SetMTU(name string, mtu int) error {
	l, err := ns.link(name)
	if err != nil {
		return err
	}
	if err := ns.handle.LinkSetMTU(l, mtu); err != nil {
		return fmt.Errorf("set the MTU of %s to %d in namespace %s: %w", name, mtu, ns.name, err)
	}
	return nil
}

// MTU is SetMTU, but ignores an MTU of 0.
func (ns *Links) MTU(name string, mtu int) error {
	if mtu == 0 {
		return nil
	}
	return ns.SetMTU(name, mtu)
}

// tunDevice is the device file for creating tun and tap devices.
const tunDevice = "/dev/net/tun"

// CheckTUN returns an error if a process cannot create tun or tap devices.
func CheckTUN() error {
	f, err := os.OpenFile(tunDevice, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%s is required for a process's network device (CONFIG_TUN; in a container: --device %s): %w", tunDevice, tunDevice, err)
	}
	return f.Close()
}

// TapDevice creates a tap device whose frames are read from and written to the file, each
// with a virtio-net header for offloads. It is deleted when the last descriptor of the file
// is closed.
func (ns *Links) TapDevice(d Device) (*os.File, error) {
	var file *os.File
	err := ns.whole().Do(func() error {
		fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", tunDevice, err)
		}
		req, err := unix.NewIfreq(d.Name)
		if err == nil {
			req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
		}
		if err != nil {
			unix.Close(fd)
			return err
		}
		file = os.NewFile(uintptr(fd), d.Name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("create tap device %s in namespace %s: %w", d.Name, ns.name, err)
	}
	if err = ns.MTU(d.Name, d.MTU); err == nil {
		err = ns.alias(d)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
