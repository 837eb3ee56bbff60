//go:build linux

package linuxnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/linuxnet/here"
)

// Devices lists the names of the namespace's links in the order of their creation.
func (ns *Links) Devices() ([]string, error) {
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

// DeviceWith returns the name of the link that has an address.
func (ns *Links) DeviceWith(addr netip.Addr) (string, error) {
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
	return "", fmt.Errorf("find the device with address %s in namespace %s: no device has it", addr, ns.name)
}

// PeerIn returns the name of the other end of a veth, which is in the namespace other.
func (ns *Links) PeerIn(other *NS, veth string) (string, error) {
	l, err := ns.link(veth)
	if err != nil {
		return "", err
	}
	// A veth refers to its peer by the peer's index in the peer's namespace.
	peer, err := other.handle.LinkByIndex(l.Attrs().ParentIndex)
	if err != nil {
		return "", fmt.Errorf("find the peer of %s of namespace %s in namespace %s: %w", veth, ns.name, other.name, err)
	}
	if peer.Type() != "veth" || peer.Attrs().ParentIndex != l.Attrs().Index {
		return "", fmt.Errorf("find the peer of %s of namespace %s in namespace %s: not found", veth, ns.name, other.name)
	}
	return peer.Attrs().Name, nil
}

// Parent returns the name of the link, in the namespace below, that is the parent of a
// macvlan or ipvlan device.
func (ns *Links) Parent(below *NS, child string) (string, error) {
	l, err := ns.link(child)
	if err != nil {
		return "", err
	}
	parent, err := below.handle.LinkByIndex(l.Attrs().ParentIndex)
	if err != nil {
		return "", fmt.Errorf("find the parent of %s of namespace %s in namespace %s: %w", child, ns.name, below.name, err)
	}
	return parent.Attrs().Name, nil
}

// dumpTries is the maximum number of reads of a list that changes while it is read.
const dumpTries = 5

// complete repeats reading a list that changed while it was read.
func complete(list func() error) (err error) {
	for range dumpTries {
		if err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return err
		}
	}
	return err
}

// LinkStats are a link's counters since its creation. Bytes and packets are counted as the
// device sees them: with segmentation offload one packet may stand for many.
type LinkStats struct {
	RxBytes, TxBytes     uint64
	RxPackets, TxPackets uint64
	Up                   bool
	MTU                  int
}

// Stats reads a link's counters.
func (ns *Links) Stats(name string) (LinkStats, error) {
	l, err := ns.link(name)
	if err != nil {
		return LinkStats{}, err
	}
	a := l.Attrs()
	s := a.Statistics
	if s == nil {
		return LinkStats{}, fmt.Errorf("read counters of %s in namespace %s: the kernel returned none", name, ns.name)
	}
	return LinkStats{
		RxBytes: s.RxBytes, TxBytes: s.TxBytes, RxPackets: s.RxPackets, TxPackets: s.TxPackets,
		MTU: a.MTU, Up: a.Flags&1 != 0,
	}, nil
}

// Describe reads the kind and settings of a link: MTU, queueing discipline, addresses, and
// the enabled offloads.
func (ns *Links) Describe(name string) (kind string, facts [][2]string, err error) {
	l, err := ns.link(name)
	if err != nil {
		return "", nil, err
	}
	facts = [][2]string{{"mtu", strconv.Itoa(l.Attrs().MTU)}}
	qdiscs, err := ns.handle.QdiscList(l)
	if err != nil {
		return "", nil, fmt.Errorf("read queueing discipline of %s in namespace %s: %w", name, ns.name, err)
	}
	for _, q := range qdiscs {
		facts = append(facts, [2]string{"qdisc", q.Type()})
	}
	addrs, err := ns.handle.AddrList(l, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return "", nil, fmt.Errorf("read addresses of %s in namespace %s: %w", name, ns.name, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLinkLocalUnicast() {
			facts = append(facts, [2]string{"address", a.IPNet.String()})
		}
	}
	on, err := ns.whole().Tuning().Offloads(name)
	if err != nil {
		return "", nil, err
	}
	var names []string
	for n, set := range on {
		if set {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	facts = append(facts, [2]string{"offloads", strings.Join(names, " ")})
	if l.Attrs().Name == "lo" {
		return "loopback", facts, nil
	}
	return l.Type(), facts, nil
}

// CarrierChanges returns, for each device of the namespace, how often its carrier changed
// since its creation, for instance because a cable was pulled or the other end of a veth
// pair was removed. Devices without this counter (before Linux 3.15) are omitted. The
// netlink library does not read this attribute.
func (ns *Links) CarrierChanges() (map[string]uint64, error) {
	out := map[string]uint64{}
	err := ns.whole().Do(func() error {
		dump, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(dump)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Type != unix.RTM_NEWLINK {
				continue
			}
			attrs, err := syscall.ParseNetlinkRouteAttr(&m)
			if err != nil {
				return err
			}
			var name string
			changes := -1
			for _, a := range attrs {
				switch {
				case a.Attr.Type == unix.IFLA_IFNAME:
					name = strings.TrimRight(string(a.Value), "\x00")
				case a.Attr.Type == unix.IFLA_CARRIER_CHANGES && len(a.Value) >= 4:
					changes = int(binary.NativeEndian.Uint32(a.Value))
				}
			}
			if changes >= 0 {
				out[name] = uint64(changes)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read carrier changes in namespace %s: %w", ns.name, err)
	}
	return out, nil
}

// Filters lists the packet filters of the namespace: base chains of nftables, which include
// those of iptables-nft, and the tables of legacy iptables. It changes nothing.
func (ns *Rules) Filters() ([]Filter, error) {
	var out []Filter
	err := ns.whole().Do(func() (err error) {
		out, err = here.Filters()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("in namespace %s: %w", ns.name, err)
	}
	return out, nil
}
