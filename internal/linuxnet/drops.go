//go:build linux

package linuxnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
)

// Kinds returns the kinds of the namespace's devices: veth, bridge, vxlan. Hardware and
// loopback are "device".
func (ns *Links) Kinds() (map[string]string, error) {
	var links []netlink.Link
	err := complete(func() (err error) {
		links, err = ns.handle.LinkList()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the devices of namespace %s: %w", ns.name, err)
	}
	kinds := map[string]string{}
	for _, l := range links {
		kinds[l.Attrs().Name] = l.Type()
	}
	return kinds, nil
}

// QdiscDrops is what a queueing discipline has dropped since it was set up, in packets as
// it received them: a super-packet counts as one. The kernel's counters have 32 bits.
type QdiscDrops struct {
	Device, Kind string
	Drops        uint64
	Overlimits   uint64 // number of times it had to delay a packet
	// Of a token bucket, or of the classes of a hierarchical one: its rate in bit/s, the size of its bucket in bytes, and
	// the bytes that passed it. 0 where no one rate is known.
	Rate, Burst, Bytes uint64
}

// QdiscDrops reads the namespace's queueing disciplines: for each device the root, which
// includes the drops of its children, and the ingress one.
func (ns *Tuning) QdiscDrops() ([]QdiscDrops, error) {
	var out []QdiscDrops
	err := complete(func() error {
		out = nil
		links, err := ns.handle.LinkList()
		if err != nil {
			return err
		}
		devices := map[int]netlink.Link{}
		for _, l := range links {
			devices[l.Attrs().Index] = l
		}
		all, err := ns.handle.QdiscList(nil)
		if err != nil {
			return err
		}
		for _, q := range all {
			a := q.Attrs()
			device, ok := devices[a.LinkIndex]
			if !ok { // it was made meanwhile
				continue
			}
			outermost := a.Parent == netlink.HANDLE_ROOT || a.Parent == netlink.HANDLE_INGRESS
			if outermost && a.Statistics != nil && a.Statistics.Queue != nil {
				d := QdiscDrops{Device: device.Attrs().Name, Kind: q.Type(), Drops: uint64(a.Statistics.Queue.Drops), Overlimits: uint64(a.Statistics.Queue.Overlimits)}
				switch q := q.(type) {
				case *netlink.Tbf:
					if a.Statistics.Basic != nil {
						d.Rate, d.Burst, d.Bytes = q.Rate*8, bytesOf(q.Rate, q.Buffer), a.Statistics.Basic.Bytes
					}
				case *netlink.Htb:
					classes, err := ns.handle.ClassList(device, netlink.HANDLE_NONE)
					if err != nil {
						return err
					}
					d.Rate, d.Burst, d.Bytes = bucketOf(classes, a.Handle)
				}
				out = append(out, d)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the queueing disciplines of namespace %s: %w", ns.name, err)
	}
	return out, nil
}

// DropRule is a firewall rule that drops packets, with the number dropped if the rule
// counts them.
type DropRule struct {
	Where   string // family, table, chain and the rule's handle
	Counted bool
	Packets uint64
}

// DropRules lists the nf_tables rules in the namespace that drop or reject packets,
// including those written by iptables. Drops by a chain's policy are not counted by any
// rule.
func (ns *Rules) DropRules() ([]DropRule, error) {
	var out []DropRule
	err := ns.whole().Do(func() error {
		conn, err := openNFTables()
		if err != nil {
			return err
		}
		chains, err := conn.ListChains()
		if err != nil {
			return err
		}
		for _, c := range chains {
			if strings.HasPrefix(c.Name, DecoyName) {
				continue // tens of thousands of rules that never drop take seconds to read
			}
			if onlyCounts(c) {
				continue
			}
			rules, err := conn.GetRules(c.Table, c)
			if err != nil {
				return fmt.Errorf("chain %s: %w", c.Name, err)
			}
			for _, r := range rules {
				n, counted, drops, err := dropped(conn, c.Table, r.Exprs)
				if err != nil {
					return fmt.Errorf("chain %s: %w", c.Name, err)
				}
				if drops {
					out = append(out, DropRule{fmt.Sprintf("%s %s %s %d", familyName(c.Table.Family), c.Table.Name, c.Name, r.Handle), counted, n})
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the firewall rules of namespace %s: %w", ns.name, err)
	}
	return out, nil
}

// dropped reads a rule's counter if the rule drops all packets that the counter has seen; a
// match after the counter would accept some of them.
func dropped(conn *nftables.Conn, t *nftables.Table, exprs []expr.Any) (n uint64, counted, drops bool, err error) {
	for _, e := range exprs {
		switch e := e.(type) {
		case *expr.Counter:
			n, counted = e.Packets, true
		case *expr.Objref:
			// A rule may refer to a limit or a quota in the same way.
			counts, err := counters(conn, t)
			if err != nil {
				return 0, false, false, err
			}
			if c, ok := counts[e.Name]; ok {
				n, counted = c.Packets, true
			}
		case *expr.Verdict:
			drops = drops || e.Kind == expr.VerdictDrop
		case *expr.Reject:
			drops = true
		case *expr.Target:
			drops = drops || slices.Contains([]string{"DROP", "REJECT"}, e.Name)
		case *expr.Log:
		default:
			n, counted = 0, false
		}
	}
	return n, counted, drops, nil
}

func familyName(f nftables.TableFamily) string {
	switch f {
	case nftables.TableFamilyIPv4:
		return "ip"
	case nftables.TableFamilyIPv6:
		return "ip6"
	case nftables.TableFamilyINet:
		return "inet"
	case nftables.TableFamilyBridge:
		return "bridge"
	case nftables.TableFamilyARP:
		return "arp"
	case nftables.TableFamilyNetdev:
		return "netdev"
	}
	return fmt.Sprint(byte(f))
}
