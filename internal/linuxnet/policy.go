//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// PolicyTable is the table of AddPolicy, and CountPolicy its counter: packets from a device that no rule before it drops.
const (
	PolicyTable = "tare_policy"
	CountPolicy = "passed"
	policyChain = "policy"
)

// AddPolicy adds a table with n rules, each of which drops what arrives at a device from an address of TEST-NET-2, which nobody has. Each
// packet of others that arrives there is compared with all of them.
func (ns *Rules) AddPolicy(n int, dev string) error {
	err := ns.inTable(inet(PolicyTable), func(conn *nftables.Conn, t *nftables.Table) error {
		d := decoys{conn, conn.AddTable(t)}
		d.counters(CountPolicy)
		c := d.base(policyChain, nftables.ChainTypeFilter, nftables.ChainHookPrerouting, *nftables.ChainPriorityFilter)
		on, first := device(expr.MetaKeyIIFNAME, expr.CmpOpEq, dev), netip.MustParseAddr("198.51.100.0").As4()
		err := d.inBatches(n, func(i int) {
			from := first
			from[3] = byte(i) //nolint:gosec // any of its addresses
			nobody := netip.AddrFrom4(from)
			d.rule(c, on, family(nobody), address(netip.PrefixFrom(nobody, nobody.BitLen()), 12, 8), one(&expr.Verdict{Kind: expr.VerdictDrop}))
		})
		if err != nil {
			return err
		}
		d.rule(c, on, count(CountPolicy))
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("add a policy of %d rules: %w", n, err)
	}
	return nil
}

// Policy reads how many rules of AddPolicy there are, and how many packets passed them; both are 0 without the table.
func (ns *Rules) Policy() (rules int, passed uint64, err error) {
	err = ns.inTable(inet(PolicyTable), func(conn *nftables.Conn, t *nftables.Table) error {
		all, err := conn.GetRules(t, &nftables.Chain{Name: policyChain, Table: t})
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil || len(all) == 0 {
			return err
		}
		counts, err := counters(conn, t)
		rules, passed = len(all)-1, counts[CountPolicy].Packets
		return err
	})
	return rules, passed, err
}

// RemovePolicy removes the table of AddPolicy, if there is one.
func (ns *Rules) RemovePolicy() error {
	if err := ns.DropTable(PolicyTable); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}
