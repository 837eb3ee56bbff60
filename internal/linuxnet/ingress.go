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

// The counters of CountIngress: packets as received from the wire, before IPsec or tunnel
// decapsulation.
const (
	CountClear = "vxlan_in_clear" // UDP to VXLAN's port
	CountESP   = "esp"            // IP protocol 50
)

// CountIngress counts, by kind, the IPv4 packets that a device receives, without affecting
// them. Read the counters with IngressCounts; they are removed with the device.
func (ns *Rules) CountIngress(table, dev string) error {
	return ns.countIngress(table, dev, []kind{
		{CountESP, [][]expr.Any{join(isIPv4(), transport(unix.IPPROTO_ESP))}},
		{CountClear, [][]expr.Any{join(isIPv4(), destination(unix.IPPROTO_UDP, vxlanPort))}},
	})
}

// The counters of CountTunnelIngress.
const (
	CountEncrypted = "sealed" // packets to the tunnel's UDP port
	CountDecrypted = "inside" // packets with an inner address
	CountESPSPI    = "spi"    // ESP in UDP with the given security parameter index
)

// metaSecpath is the nftables key that tells whether IPsec has decrypted a packet
// (linux/netfilter/nf_tables.h, NFT_META_SECPATH).
const metaSecpath = expr.MetaKeyPRANDOM + 1

// TunnelIngress describes a tunnel for CountTunnelIngress.
type TunnelIngress struct {
	Port   uint16         // outer UDP port, over IPv4
	SPI    uint32         // of its ESP (RFC 3948 section 2.1), 0 for other tunnels
	Kernel bool           // the kernel handles ESP
	Inside []netip.Prefix // inner prefixes
}

// CountTunnelIngress counts the packets that a device receives, without affecting them:
// those of a tunnel, those of its ESP with the given SPI, and packets with inner addresses.
// Packets that the kernel's ESP has just decrypted pass the device a second time and are
// not counted. Read the counters with IngressCounts; they are removed with the device.
func (ns *Rules) CountTunnelIngress(table, dev string, t TunnelIngress) error {
	kinds := []kind{{CountEncrypted, [][]expr.Any{join(isIPv4(), destination(unix.IPPROTO_UDP, t.Port))}}}
	if t.SPI != 0 {
		kinds = append(kinds, kind{CountESPSPI, [][]expr.Any{join(isIPv4(), destination(unix.IPPROTO_UDP, t.Port), []expr.Any{
			&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: 8, Len: 4}, equal(expr.CmpOpEq, binaryutil.BigEndian.PutUint32(t.SPI)),
		})}})
	}
	var encrypted []expr.Any
	if t.Kernel {
		encrypted = []expr.Any{&expr.Meta{Key: metaSecpath, Register: regA}, equal(expr.CmpOpEq, []byte{0})}
	}
	return ns.countIngress(table, dev, append(kinds, fromInside(t.Inside, encrypted)))
}

// fromInside is the packets from inner prefixes that match more.
func fromInside(prefixes []netip.Prefix, more []expr.Any) kind {
	in := kind{name: CountDecrypted}
	for _, p := range prefixes {
		protocol := isIPv4()
		if p.Addr().Is6() {
			protocol = isProtocol(unix.ETH_P_IPV6)
		}
		in.match = append(in.match, join(protocol, more, from(p)))
	}
	return in
}

// CountForwarded is a counter of CountProxyIngress: TCP packets between the proxies.
const CountForwarded = "proxied"

// ProxyIngress describes proxies for CountProxyIngress.
type ProxyIngress struct {
	First, Last uint16 // the TCP ports at which the proxy of the server's side listens
	Listens     bool   // that proxy is on the receiving host
	Inside      []netip.Prefix
}

// CountProxyIngress counts the packets that a device receives, without affecting them: those of
// connections between two proxies, and packets with inner addresses. Read the counters with
// IngressCounts; they are removed with the device.
func (ns *Rules) CountProxyIngress(table, dev string, p ProxyIngress) error {
	var offset uint32 // of the source port
	if p.Listens {
		offset = 2
	}
	port := func(op expr.CmpOp, n uint16) []expr.Any {
		return []expr.Any{&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 2},
			&expr.Cmp{Op: op, Register: regA, Data: binaryutil.BigEndian.PutUint16(n)}}
	}
	forwarded := kind{name: CountForwarded}
	for _, protocol := range []uint16{unix.ETH_P_IP, unix.ETH_P_IPV6} {
		forwarded.match = append(forwarded.match, join(isProtocol(protocol), transport(unix.IPPROTO_TCP), port(expr.CmpOpGte, p.First), port(expr.CmpOpLte, p.Last)))
	}
	return ns.countIngress(table, dev, []kind{forwarded, fromInside(p.Inside, nil)})
}

// kind is a set of packets that are counted together: those that match any element of
// match.
type kind struct {
	name  string
	match [][]expr.Any
}

func (ns *Rules) countIngress(table, dev string, kinds []kind) error {
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
		return fmt.Errorf("count packets received by %s (needs CONFIG_NF_TABLES_NETDEV): %w", dev, err)
	}
	return nil
}

// DropIngress hides all frames that a device receives from the kernel's own stack. Packet
// sockets, which come first, still receive them, and CountIngress counts them. It is
// removed with the device. A table may have several devices.
func (ns *Rules) DropIngress(table, dev string) error {
	err := ns.inTable(ingress(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.AddTable(t)
		drop := nftables.ChainPolicyDrop
		conn.AddChain(&nftables.Chain{Name: "drop-" + dev, Table: t, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookIngress,
			Priority: nftables.ChainPriorityRef(*nftables.ChainPriorityFilter + 1), Device: dev, Policy: &drop})
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("drop what %s receives before the kernel's stack (needs CONFIG_NF_TABLES_NETDEV): %w", dev, err)
	}
	return nil
}

// IngressCounts reads the counters of CountIngress, CountTunnelIngress or CountProxyIngress by
// name.
func (ns *Rules) IngressCounts(table string) (map[string]Count, error) {
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
