//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
)

// LinkStats are a link's counters since it was made. Octets and packets are as
// the device saw them: a segmentation offload lets one packet stand for many.
type LinkStats struct {
	RxBytes, TxBytes     uint64
	RxPackets, TxPackets uint64
	RxDropped, TxDropped uint64
	Up                   bool
	MTU                  int
}

// Stats reads a link's counters.
func (ns *NS) Stats(name string) (LinkStats, error) {
	l, err := ns.link(name)
	if err != nil {
		return LinkStats{}, err
	}
	a := l.Attrs()
	s := a.Statistics
	if s == nil {
		return LinkStats{}, fmt.Errorf("read counters of %s in namespace %s: the kernel gave none", name, ns.name)
	}
	return LinkStats{
		RxBytes: s.RxBytes, TxBytes: s.TxBytes, RxPackets: s.RxPackets, TxPackets: s.TxPackets,
		RxDropped: s.RxDropped, TxDropped: s.TxDropped, MTU: a.MTU, Up: a.Flags&1 != 0,
	}, nil
}

// Describe reads what a link is and how it is set: its type, MTU, queueing
// discipline, addresses, and the offloads that are on.
func (ns *NS) Describe(name string) (kind string, facts [][2]string, err error) {
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
	on, err := ns.Offloads(name)
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
