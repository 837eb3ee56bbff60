//go:build linux

package linuxnet

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// CreateDecoySet creates an empty IP set of type hash:ip,port for up to n services, for a rule
// of iptables.
func (ns *Decoys) CreateDecoySet(n int) error {
	err := ns.withIPSets(func(h *netlink.Handle) error {
		return h.IpsetCreate(DecoyName, "hash:ip,port", netlink.IpsetCreateOptions{Family: unix.AF_INET, MaxElements: uint32(n)})
	})
	if err != nil {
		return fmt.Errorf("create an IP set in namespace %s (needs CONFIG_IP_SET_HASH_IPPORT): %w", ns.name, err)
	}
	return nil
}

// AddToDecoySet adds n services to the set of CreateDecoySet.
func (ns *Decoys) AddToDecoySet(n int) error {
	err := ns.withIPSets(func(h *netlink.Handle) error {
		tcp := uint8(unix.IPPROTO_TCP)
		for i := range n {
			s := DecoyService(i)
			port := s.Port()
			if err := h.IpsetAdd(DecoyName, &netlink.IPSetEntry{IP: net.IP(s.Addr().AsSlice()), Protocol: &tcp, Port: &port}); err != nil {
				return fmt.Errorf("entry %d: %w", i+1, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add %d entries to IP set %s in namespace %s: %w", n, DecoyName, ns.name, err)
	}
	return nil
}

// DecoySetEntries reads how many services are in the set of CreateDecoySet.
func (ns *Decoys) DecoySetEntries() (n int, err error) {
	err = ns.withIPSets(func(h *netlink.Handle) error {
		set, err := h.IpsetList(DecoyName)
		if err == nil {
			n = len(set.Entries)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count the entries of IP set %s in namespace %s: %w", DecoyName, ns.name, err)
	}
	return n, nil
}

func (ns *Decoys) withIPSets(fn func(*netlink.Handle) error) error {
	return ns.whole().Do(func() error {
		h, err := openNetlink(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer h.Close()
		return fn(h)
	})
}
