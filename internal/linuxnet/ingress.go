//go:build linux

package linuxnet

import (
	"fmt"
	"net/netip"

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

// CountIngress counts, by kind, the IPv4 packets that a device receives. They pass as
// before. Read it with IngressCounts; it goes with the device.
func (ns *NS) CountIngress(table, dev string) error {
	return ns.tap(table, dev, []kind{
		{CountESP, [][]expr.Any{join(isIPv4(), transport(unix.IPPROTO_ESP))}},
		{CountClear, [][]expr.Any{join(isIPv4(), destination(unix.IPPROTO_UDP, vxlanPort))}},
	})
}

// The counters of a CountTunnelIngress.
const (
	CountEncrypted = "sealed" // of the tunnel's UDP port
	CountDecrypted = "inside" // with an address of its inside
	CountESPSPI    = "spi"    // ESP in UDP with the security parameter index that was given
)

// metaSecpath is the key by which nftables tells whether IPsec has opened a packet
// (linux/netfilter/nf_tables.h, NFT_META_SECPATH).
const metaSecpath = expr.MetaKeyPRANDOM + 1

// TunnelIngress describes a tunnel to a CountTunnelIngress.
type TunnelIngress struct {
	Port   uint16         // of its packets, UDP over IPv4
	SPI    uint32         // of its ESP (RFC 3948 section 2.1), 0 where it is of another kind
	Kernel bool           // ESP is the kernel's
	Inside []netip.Prefix // what belongs inside of it
}

// CountTunnelIngress counts the packets that a device receives: those of a tunnel, of those the
// ones of ESP with its SPI, and packets from its inside. Those that the kernel's ESP has
// just opened come by the device once more and are none of them. All pass as before. Read
// it with IngressCounts; it goes with the device.
func (ns *NS) CountTunnelIngress(table, dev string, t TunnelIngress) error {
	kinds := []kind{{CountEncrypted, [][]expr.Any{join(isIPv4(), destination(unix.IPPROTO_UDP, t.Port))}}}
	if t.SPI != 0 {
		kinds = append(kinds, kind{CountESPSPI, [][]expr.Any{join(isIPv4(), destination(unix.IPPROTO_UDP, t.Port), []expr.Any{
			&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: 8, Len: 4}, equal(expr.CmpOpEq, binaryutil.BigEndian.PutUint32(t.SPI)),
		})}})
	}
	in := kind{name: CountDecrypted}
	for _, p := range t.Inside {
		protocol := isIPv4()
		if p.Addr().Is6() {
			protocol = isProtocol(unix.ETH_P_IPV6)
		}
		if t.Kernel {
			protocol = join(protocol, []expr.Any{&expr.Meta{Key: metaSecpath, Register: regA}, equal(expr.CmpOpEq, []byte{0})})
		}
		in.match = append(in.match, join(protocol, from(p)))
	}
	return ns.tap(table, dev, append(kinds, in))
}

// kind is packets that are counted together: those that fit any of match.
type kind struct {
	name  string
	match [][]expr.Any
}

func (ns *NS) tap(table, dev string, kinds []kind) error {
	err := ns.inTable(ingress(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		c := conn.AddChain(&nftables.Chain{Name: "ingress", Table: t, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookIngress, Priority: nftables.ChainPriorityFilter, Device: dev})
		for _, k := range kinds {
			conn.AddObj(&nftables.NamedObj{Table: t, Name: k.name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
			for _, m := range k.match {
				conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: join(m, count(k.name))})
			}
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("count what %s receives (needs CONFIG_NF_TABLES_NETDEV): %w", dev, err)
	}
	return nil
}

// DropIngress keeps all frames that a device receives from the kernel's own stack. Packet
// sockets get them nonetheless, for they are asked first, and a Tap counts them. It goes
// with the device. A table may hold several devices.
func (ns *NS) DropIngress(table, dev string) error {
	err := ns.inTable(ingress(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		drop := nftables.ChainPolicyDrop
		conn.AddChain(&nftables.Chain{Name: "drop-" + dev, Table: t, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookIngress,
			Priority: nftables.ChainPriorityRef(*nftables.ChainPriorityFilter + 1), Device: dev, Policy: &drop})
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("keep what %s receives from the kernel (needs CONFIG_NF_TABLES_NETDEV): %w", dev, err)
	}
	return nil
}

// IngressCounts reads the counters of a Tap by name.
func (ns *NS) IngressCounts(table string) (map[string]Count, error) {
	return ns.countsOf(ingress(table))
}

func ingress(table string) *nftables.Table {
	return &nftables.Table{Name: table, Family: nftables.TableFamilyNetdev}
}

// isIPv4: meta protocol ip.
func isIPv4() []expr.Any { return isProtocol(unix.ETH_P_IP) }

// isProtocol: meta protocol number.
func isProtocol(number uint16) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: regA}, equal(expr.CmpOpEq, binaryutil.BigEndian.PutUint16(number))}
}

// transport: meta l4proto proto.
func transport(proto byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: regA}, equal(expr.CmpOpEq, []byte{proto})}
}
