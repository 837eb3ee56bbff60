//go:build linux

package linuxnet

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The counters of TrackAll and UntrackAll, in packets.
const (
	CountNew       = "new"       // those that begin a tracked connection
	CountUntracked = "untracked" // those that are exempt from connection tracking
	CountAny       = "any"       // those of any tracked connection
)

// TrackAll makes the kernel track the connections of a namespace, by a rule that asks for their
// state where packets arrive and where local ones leave. It counts CountNew.
func (ns *Rules) TrackAll(table string) error {
	return ns.tracking(table, []string{CountNew}, func(add func(hook *nftables.ChainHook, prio *nftables.ChainPriority, exprs ...expr.Any)) {
		for _, hook := range []*nftables.ChainHook{nftables.ChainHookPrerouting, nftables.ChainHookOutput} {
			add(hook, nftables.ChainPriorityFilter, join(state(expr.CtStateBitNEW), count(CountNew))...)
		}
	})
}

// UntrackAll exempts all packets of a namespace from connection tracking, except those of one
// device if it is not empty. Of the others it counts CountUntracked, and CountAny, which
// only packets that are tracked nevertheless reach.
func (ns *Rules) UntrackAll(table, except string) error {
	return ns.tracking(table, []string{CountUntracked, CountAny}, func(add func(hook *nftables.ChainHook, prio *nftables.ChainPriority, exprs ...expr.Any)) {
		const tracked = expr.CtStateBitNEW | expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED
		for key, hook := range map[expr.MetaKey]*nftables.ChainHook{expr.MetaKeyIIFNAME: nftables.ChainHookPrerouting, expr.MetaKeyOIFNAME: nftables.ChainHookOutput} {
			others := device(key, expr.CmpOpNeq, except)
			add(hook, nftables.ChainPriorityRaw, join(others, one(&expr.Notrack{}))...)
			add(hook, nftables.ChainPriorityFilter, join(others, state(expr.CtStateBitUNTRACKED), count(CountUntracked))...)
			add(hook, nftables.ChainPriorityFilter, join(others, state(tracked), count(CountAny))...)
		}
	})
}

// tracking creates a table of family inet with counters, and rules in base chains by hook
// and priority.
func (ns *Rules) tracking(table string, counters []string, build func(add func(*nftables.ChainHook, *nftables.ChainPriority, ...expr.Any))) error {
	err := ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		for _, name := range counters {
			conn.AddObj(&nftables.NamedObj{Table: t, Name: name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
		}
		build(func(hook *nftables.ChainHook, prio *nftables.ChainPriority, exprs ...expr.Any) {
			c := conn.AddChain(&nftables.Chain{Name: fmt.Sprintf("at%d-%d", *hook, *prio+1000), Table: t, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: prio})
			conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: exprs})
		})
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("install rules on connection tracking (needs CONFIG_NFT_CT): %w", err)
	}
	return nil
}

// Translates reports whether a chain of the namespace translates addresses, which needs
// connection tracking. A chain without rules does not.
func (ns *Rules) Translates() (bool, error) {
	found := false
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
			if c.Type != nftables.ChainTypeNAT || onlyCounts(c) {
				continue
			}
			rules, err := conn.GetRules(c.Table, c)
			if err != nil {
				return err
			}
			found = found || len(rules) > 0
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read the address translation of namespace %s: %w", ns.name, err)
	}
	return found, nil
}

// fillTimeout is the time after which an entry that FillConntrack made expires, in seconds:
// longer than any run.
const fillTimeout = 7 * 24 * 3600

// FillConntrack adds n connection tracking entries of UDP connections between addresses of
// 198.19.0.0/16 (RFC 2544) that no packet has.
func (ns *Rules) FillConntrack(n int) error {
	err := ns.whole().Do(func() error {
		h, err := openNetlink(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer h.Close()
		for i := range n {
			if err := h.ConntrackCreate(netlink.ConntrackTable, netlink.FAMILY_V4, fillEntry(i)); err != nil {
				return fmt.Errorf("entry %d: %w", i+1, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add %d connection tracking entries in namespace %s (needs CONFIG_NF_CT_NETLINK): %w", n, ns.name, err)
	}
	return nil
}

// fillEntry is the i-th entry: 50 000 source ports for each source address.
func fillEntry(i int) *netlink.ConntrackFlow {
	const ports = 50_000
	from, to := netip.AddrFrom4([4]byte{198, 19, 254, byte(1 + i/ports)}), netip.AddrFrom4([4]byte{198, 19, 253, 1})
	port := uint16(10_000 + i%ports)
	return &netlink.ConntrackFlow{
		FamilyType: unix.AF_INET, TimeOut: fillTimeout,
		Forward: netlink.IPTuple{SrcIP: from.AsSlice(), DstIP: to.AsSlice(), SrcPort: port, DstPort: 9, Protocol: unix.IPPROTO_UDP},
		Reverse: netlink.IPTuple{SrcIP: to.AsSlice(), DstIP: from.AsSlice(), SrcPort: 9, DstPort: port, Protocol: unix.IPPROTO_UDP},
	}
}

// CountLarge is the counter of CountLargerThan.
const CountLarge = "large"

// CountLargerThan counts the packets above a size that a device receives, in bytes of the IP
// packet before segmentation. Read the counter with IngressCounts; it is removed with the
// device.
func (ns *Rules) CountLargerThan(table, dev string, bytes uint32) error {
	return ns.countIngress(table, dev, []kind{{CountLarge, [][]expr.Any{{
		&expr.Meta{Key: expr.MetaKeyLEN, Register: regA},
		&expr.Byteorder{SourceRegister: regA, DestRegister: regA, Op: expr.ByteorderHton, Len: 4, Size: 4},
		equal(expr.CmpOpGt, binaryutil.BigEndian.PutUint32(bytes)),
	}}}})
}
