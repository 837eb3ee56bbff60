//go:build linux

package linuxnet

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Down sets a link down. Restore, which may be called again, sets it up and adds the addresses, routes and permanent neighbours again that
// the kernel removed with it. It is not nil if the link may be down, also with an error.
func (ns *Links) Down(name string) (restore func() error, err error) {
	whole := ns.whole()
	l, err := ns.link(name)
	if err != nil {
		return nil, err
	}
	addrs, err := whole.handle.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %s in namespace %s: %w", name, ns.name, err)
	}
	routes, err := whole.Routes().over(l)
	if err != nil {
		return nil, err
	}
	neighbours, err := whole.handle.NeighList(l.Attrs().Index, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list the neighbours of %s in namespace %s: %w", name, ns.name, err)
	}
	restore = func() error {
		if err := ns.Up(name); err != nil {
			return err
		}
		var errs []error
		for _, a := range addrs {
			if a.IP.IsLinkLocalUnicast() && a.IP.To4() == nil { // the kernel makes it again
				continue
			}
			again := netlink.Addr{IPNet: a.IPNet, Scope: a.Scope, Peer: a.Peer}
			if a.IP.To4() == nil {
				again.Flags = unix.IFA_F_NODAD
			}
			if err := whole.handle.AddrReplace(l, &again); err != nil {
				errs = append(errs, fmt.Errorf("add to %s the address %s again in namespace %s: %w", name, a.IPNet, ns.name, err))
			}
		}
		for _, r := range routes {
			if r.Protocol == unix.RTPROT_KERNEL { // of an address
				continue
			}
			r.Flags = 0 // those of its state
			if err := whole.handle.RouteReplace(&r); err != nil {
				errs = append(errs, fmt.Errorf("add the route %s again in namespace %s: %w", r, ns.name, err))
			}
		}
		for _, n := range neighbours {
			if n.State&netlink.NUD_PERMANENT == 0 {
				continue
			}
			if err := whole.handle.NeighSet(&n); err != nil {
				errs = append(errs, fmt.Errorf("add the neighbour %s again in namespace %s: %w", n.IP, ns.name, err))
			}
		}
		return errors.Join(errs...)
	}
	if err := whole.handle.LinkSetDown(l); err != nil {
		return restore, fmt.Errorf("set %s down in namespace %s: %w", name, ns.name, err)
	}
	return restore, nil
}

// HasCarrier reports whether a link has a carrier, by the state of its driver: its operational state follows later.
func (ns *Links) HasCarrier(name string) (bool, error) {
	l, err := ns.link(name)
	if err != nil {
		return false, err
	}
	return l.Attrs().RawFlags&unix.IFF_LOWER_UP != 0, nil
}
