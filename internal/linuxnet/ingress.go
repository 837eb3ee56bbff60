//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The counters of a Tap: packets as they come off the wire, before IPsec or a
// tunnel has opened them.
const (
	CountClear = "vxlan_in_clear" // UDP to VXLAN's port
	CountESP   = "esp"            // IP protocol 50
)

// Tap counts, by kind, the IPv4 packets that a device receives. They pass as
// before. Read it with TapCounts; it goes with the device.
func (ns *NS) Tap(table, dev string) error {
	err := ns.withIngress(table, func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		c := conn.AddChain(&nftables.Chain{Name: "ingress", Table: t, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookIngress, Priority: nftables.ChainPriorityFilter, Device: dev})
		for _, kind := range []struct {
			name  string
			match []expr.Any
		}{
			{CountESP, transport(unix.IPPROTO_ESP)},
			{CountClear, destination(unix.IPPROTO_UDP, vxlanPort)},
		} {
			conn.AddObj(&nftables.NamedObj{Table: t, Name: kind.name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
			conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: join(isIPv4(), kind.match, count(kind.name))})
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("count what %s receives (needs CONFIG_NF_TABLES_NETDEV): %w", dev, err)
	}
	return nil
}

// TapCounts reads the counters of a Tap by name.
func (ns *NS) TapCounts(table string) (map[string]Count, error) {
	var counts map[string]Count
	err := ns.withIngress(table, func(conn *nftables.Conn, t *nftables.Table) (err error) {
		counts, err = counters(conn, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	return counts, nil
}

func (ns *NS) withIngress(name string, fn func(*nftables.Conn, *nftables.Table) error) error {
	return ns.inTable(&nftables.Table{Name: name, Family: nftables.TableFamilyNetdev}, fn)
}

// isIPv4: meta protocol ip.
func isIPv4() []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: regA}, equal(expr.CmpOpEq, binaryutil.BigEndian.PutUint16(unix.ETH_P_IP))}
}

// transport: meta l4proto proto.
func transport(proto byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: regA}, equal(expr.CmpOpEq, []byte{proto})}
}
