//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// Devices lists the names of the namespace's links, in the order they were made.
func (ns *NS) Devices() ([]string, error) {
	var links []netlink.Link
	err := complete(func() (err error) {
		links, err = ns.handle.LinkList()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the devices of namespace %s: %w", ns.name, err)
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	return names, nil
}

// DeviceWith finds the link that has an address.
func (ns *NS) DeviceWith(addr netip.Addr) (string, error) {
	var all []netlink.Addr
	err := complete(func() (err error) {
		all, err = ns.handle.AddrList(nil, netlink.FAMILY_ALL)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read addresses of namespace %s: %w", ns.name, err)
	}
	for _, a := range all {
		if own, ok := netip.AddrFromSlice(a.IP); !ok || own.Unmap() != addr {
			continue
		}
		l, err := ns.handle.LinkByIndex(a.LinkIndex)
		if err != nil {
			return "", fmt.Errorf("find the device with %s in namespace %s: %w", addr, ns.name, err)
		}
		return l.Attrs().Name, nil
	}
	return "", fmt.Errorf("find the device with %s in namespace %s: no device has that address", addr, ns.name)
}

// PeerIn finds the other end of a veth, which is in the namespace other.
func (ns *NS) PeerIn(other *NS, veth string) (string, error) {
	l, err := ns.link(veth)
	if err != nil {
		return "", err
	}
	// A veth names its peer by the index that this has where it is.
	peer, err := other.handle.LinkByIndex(l.Attrs().ParentIndex)
	if err != nil {
		return "", fmt.Errorf("find the peer of %s of namespace %s in namespace %s: %w", veth, ns.name, other.name, err)
	}
	if peer.Type() != "veth" || peer.Attrs().ParentIndex != l.Attrs().Index {
		return "", fmt.Errorf("find the peer of %s of namespace %s in namespace %s: it is not there", veth, ns.name, other.name)
	}
	return peer.Attrs().Name, nil
}

// Parent finds the link of the namespace below that a macvlan or ipvlan device is of.
func (ns *NS) Parent(below *NS, child string) (string, error) {
	l, err := ns.link(child)
	if err != nil {
		return "", err
	}
	parent, err := below.handle.LinkByIndex(l.Attrs().ParentIndex)
	if err != nil {
		return "", fmt.Errorf("find what %s of namespace %s is of in namespace %s: %w", child, ns.name, below.name, err)
	}
	return parent.Attrs().Name, nil
}

// dumpTries is how often a list is read that changed meanwhile.
const dumpTries = 5

// complete reads a list again when it changed while it was read.
func complete(list func() error) (err error) {
	for range dumpTries {
		if err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return err
		}
	}
	return err
}
