//go:build linux

package linuxnet

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// publishChain is the chain of a Gateway with its published ports.
const publishChain = "prerouting"

// Republish replaces the published ports of a Gateway in one transaction. Connections that are translated stay so.
func (ns *Rules) Republish(g Gateway) error {
	err := ns.inTable(inet(g.Table), func(conn *nftables.Conn, table *nftables.Table) error {
		b := gatewayBuilder{conn: conn, g: g, table: table}
		conn.FlushChain(&nftables.Chain{Name: publishChain, Table: table})
		b.prerouting()
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("replace the published ports: %w", err)
	}
	return nil
}

// Translations counts the rules of a Gateway's table that translate a published port to each address, as the kernel lists them.
func (ns *Rules) Translations(table string, port uint16) (rules map[netip.Addr]uint64, err error) {
	rules = map[netip.Addr]uint64{}
	err = ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		all, err := conn.GetRules(t, &nftables.Chain{Name: publishChain, Table: t})
		if err != nil {
			return err
		}
		for _, r := range all {
			if to, ok := translation(r.Exprs, port); ok {
				rules[to]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the published ports: %w", err)
	}
	return rules, nil
}

// translation finds the address to which a rule of gatewayBuilder.prerouting translates a port.
func translation(exprs []expr.Any, port uint16) (to netip.Addr, ok bool) {
	compared := destination(unix.IPPROTO_TCP, port)
	want := string(compared[len(compared)-1].(*expr.Cmp).Data)
	matches := false
	for i, e := range exprs {
		switch e := e.(type) {
		case *expr.Cmp:
			load, is := exprs[max(0, i-1)].(*expr.Payload)
			matches = matches || is && load.Base == expr.PayloadBaseTransportHeader && string(e.Data) == want
		case *expr.Immediate:
			if e.Register == regA {
				to, ok = netip.AddrFromSlice(e.Data)
			}
		}
	}
	return to, ok && matches
}
