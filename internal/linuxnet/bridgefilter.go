//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
)

// CountBridged is the counter of CountBridgedFrames.
const CountBridged = "bridged"

// seenByBridge marks the packets that a bridge has passed up to its own IP stack.
const seenByBridge = 0x74617265

// CountBridgedFrames counts the packets that reach the IP prerouting hook from inside a
// bridge, which only br_netfilter makes them do. The packets that a bridge passes up reach
// the same hook without it, but only after the bridge's own ingress hook, where they are
// marked. Read the counter with Counts.
func (ns *Rules) CountBridgedFrames(table, bridge string) error {
	mark := binaryutil.NativeEndian.PutUint32(seenByBridge)
	err := ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		conn.AddObj(&nftables.NamedObj{Table: t, Name: CountBridged, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
		c := conn.AddChain(&nftables.Chain{Name: "prerouting", Table: t, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRaw})
		conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: join(device(expr.MetaKeyIIFNAME, expr.CmpOpEq, bridge),
			[]expr.Any{&expr.Meta{Key: expr.MetaKeyMARK, Register: regA}, equal(expr.CmpOpNeq, mark)}, count(CountBridged))})
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("count the frames of bridge %s at the IP prerouting hook: %w", bridge, err)
	}
	err = ns.inTable(ingress(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		c := conn.AddChain(&nftables.Chain{Name: "ingress", Table: t, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookIngress, Priority: nftables.ChainPriorityFilter, Device: bridge})
		conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: join(immediate(regA, mark),
			one(&expr.Meta{Key: expr.MetaKeyMARK, Register: regA, SourceRegister: true}))})
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("mark what bridge %s passes up (needs CONFIG_NF_TABLES_NETDEV): %w", bridge, err)
	}
	return nil
}
