//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Untracked is packets that connection tracking skips: those that arrive on a device, or with Sent
// those of this namespace's own processes and tunnels that leave by it.
type Untracked struct {
	Name    string // of their counter in bytes, read by Counts
	Device  string
	Sent    bool
	UDPPort uint16 // only UDP to that port; 0 for all packets
}

// Untrack exempts packets from connection tracking, by rules in a table of family inet before it.
// Each rule has a counter. The packets must not need address translation or rules on the state of
// connections. DropTable undoes it.
func (ns *Rules) Untrack(table string, packets ...Untracked) error {
	err := ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		chains := map[bool]*nftables.Chain{}
		for _, p := range packets {
			conn.AddObj(&nftables.NamedObj{Table: t, Name: p.Name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
			c := chains[p.Sent]
			if c == nil {
				c = &nftables.Chain{Name: "prerouting", Table: t, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRaw}
				if p.Sent {
					c.Name, c.Hooknum = "output", nftables.ChainHookOutput
				}
				chains[p.Sent] = conn.AddChain(c)
			}
			conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: join(p.match(), count(p.Name), one(&expr.Notrack{}))})
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("exempt packets from connection tracking: %w", err)
	}
	return nil
}

func (p Untracked) match() []expr.Any {
	key := expr.MetaKeyIIFNAME
	if p.Sent {
		key = expr.MetaKeyOIFNAME
	}
	match := device(key, expr.CmpOpEq, p.Device)
	if p.UDPPort != 0 {
		match = join(match, destination(unix.IPPROTO_UDP, p.UDPPort))
	}
	return match
}
