//go:build linux

package linuxnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The bits of a connection's status of which nftables has no constant in the library
// (linux/netfilter/nf_conntrack_common.h).
const (
	statusSourceTranslated      = 1 << 4 // IPS_SRC_NAT
	statusDestinationTranslated = 1 << 5 // IPS_DST_NAT
)

// originalDirection is IP_CT_DIR_ORIGINAL: as the sender of the first packet addressed it.
const originalDirection = 0

// afterSourceNAT is the priority of the counting chains: after all that translate a packet.
const afterSourceNAT = 200

// translatedChain begins the names of the counting chains. Their rules neither translate nor drop, and the library
// cannot read what they match (it takes the direction of a connection for a number of four bytes).
const translatedChain = "tare-translated"

func onlyCounts(c *nftables.Chain) bool { return strings.HasPrefix(c.Name, translatedChain) }

// CountDNATOf is the name of the counter of the connections to a published port.
func CountDNATOf(port uint16) string { return fmt.Sprintf("%s_%d", CountDNAT, port) }

// CountTranslated counts connections that other tables translate, in a table of family inet whose rules decide
// nothing: those that were sent to a port of Publish, are translated and leave for its address, by CountDNATOf,
// and those of the given addresses that leave with another one, by CountMasquerade. Read the counters with
// Counts. A chain of type nat counts the ports, so that it sees the first packet of each connection only; one
// rule tests each packet for masquerading, which a later chain of type nat would not see.
func (ns *Rules) CountTranslated(table string, publish []Published, masqueraded []netip.Addr) error {
	err := ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		b := gatewayBuilder{conn: conn, table: conn.AddTable(t)}
		counter := func(name string) []expr.Any {
			conn.AddObj(&nftables.NamedObj{Table: t, Name: name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
			return count(name)
		}
		after := nftables.ChainPriorityRef(afterSourceNAT)
		if len(publish) > 0 {
			add := b.chain(translatedChain+"-ports", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, after, nftables.ChainPolicyAccept)
			for _, p := range publish {
				counted := counter(CountDNATOf(p.Port))
				for _, proto := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
					if !p.To.Addr().IsValid() {
						add(join(status(statusDestinationTranslated), originalPort(p.Port), destination(proto, p.To.Port()), counted)...)
						continue
					}
					add(join(status(statusDestinationTranslated), originalPort(p.Port), family(p.To.Addr()), to(p.To.Addr()), destination(proto, p.To.Port()), counted)...)
				}
			}
		}
		if len(masqueraded) > 0 {
			counted := counter(CountMasquerade)
			own := conn.AddChain(&nftables.Chain{Name: translatedChain + "-source", Table: t})
			add := b.chain(translatedChain+"-sources", nftables.ChainTypeFilter, nftables.ChainHookPostrouting, after, nftables.ChainPolicyAccept)
			add(join(state(expr.CtStateBitNEW), status(statusSourceTranslated), one(&expr.Verdict{Kind: expr.VerdictJump, Chain: own.Name}))...)
			for _, a := range masqueraded {
				conn.AddRule(&nftables.Rule{Table: t, Chain: own, Exprs: join(family(a), originalSource(a), counted)})
			}
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("count translated connections: %w", err)
	}
	return nil
}

// CountAcceptedAt is the name of the counter of CountAccepted.
func CountAcceptedAt(port uint16) string { return fmt.Sprintf("accepted_%d", port) }

// CountAccepted counts, in the table of CountTranslated, the connections over TCP to ports that no rule leads to another address, so that a process of the
// namespace accepts them: by the answers to their first packets. One that is sent again counts again.
func (ns *Rules) CountAccepted(table string, ports ...uint16) error {
	err := ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		b := gatewayBuilder{conn: conn, table: conn.AddTable(t)}
		add := b.chain(translatedChain+"-accepted", nftables.ChainTypeFilter, nftables.ChainHookOutput, nftables.ChainPriorityFilter, nftables.ChainPolicyAccept)
		for _, port := range ports {
			conn.AddObj(&nftables.NamedObj{Table: t, Name: CountAcceptedAt(port), Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
			add(join(source(unix.IPPROTO_TCP, port), answersFirst(), count(CountAcceptedAt(port)))...)
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("count accepted connections: %w", err)
	}
	return nil
}

// answersFirst: tcp flags & (fin | syn | rst | ack) == syn | ack.
func answersFirst() []expr.Any {
	const flagsAt, fin, syn, rst, ack = 13, 1, 2, 4, 16
	return []expr.Any{
		&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: flagsAt, Len: 1},
		&expr.Bitwise{SourceRegister: regA, DestRegister: regA, Len: 1, Mask: []byte{fin | syn | rst | ack}, Xor: []byte{0}},
		equal(expr.CmpOpEq, []byte{syn | ack}),
	}
}

// status: ct status bit.
func status(bit uint32) []expr.Any {
	return []expr.Any{
		&expr.Ct{Register: regA, Key: expr.CtKeySTATUS},
		&expr.Bitwise{SourceRegister: regA, DestRegister: regA, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(bit), Xor: binaryutil.NativeEndian.PutUint32(0)},
		equal(expr.CmpOpNeq, binaryutil.NativeEndian.PutUint32(0)),
	}
}

// originalPort: ct original proto-dst port.
func originalPort(port uint16) []expr.Any {
	return []expr.Any{&expr.Ct{Register: regA, Key: expr.CtKeyPROTODST, Direction: originalDirection}, equal(expr.CmpOpEq, binaryutil.BigEndian.PutUint16(port))}
}

// originalSource: ct original ip|ip6 saddr address, in a rule for packets of its family: of the register, which
// has room for IPv6, the kernel writes as many bytes as the address has.
func originalSource(a netip.Addr) []expr.Any {
	return []expr.Any{&expr.Ct{Register: regA, Key: expr.CtKeySRC, Direction: originalDirection}, equal(expr.CmpOpEq, a.AsSlice())}
}
