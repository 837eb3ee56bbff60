//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Gateway is what Docker's bridge driver sets up for one bridge: address translation of
// outgoing packets, published ports for incoming ones, and a forward chain that accepts
// only those two.
type Gateway struct {
	Table string // nftables table of family inet
	// Bridge is the device towards the sandboxes. A final * stands for any ending, for
	// sandboxes that each have a device of their own.
	Bridge  string
	Subnets []netip.Prefix
	Publish []Published
	Rules   GatewayRules
}

// GatewayRules is a set of the rules of a Gateway.
type GatewayRules uint

// The rules of a Gateway.
const (
	// RuleFilter is the forward chain. It accepts a published port as the port of its
	// sandbox.
	RuleFilter GatewayRules = 1 << iota
	RuleMasquerade
	RuleDNAT
	// RuleTrackArriving and RuleTrackLeaving count the packets of new connections, which
	// makes the kernel track all connections, as any rule on their state does: in
	// prerouting, where packets arrive, or in postrouting, where they leave.
	RuleTrackArriving
	RuleTrackLeaving

	// EngineRules are those of Docker's bridge driver.
	EngineRules = RuleFilter | RuleMasquerade | RuleDNAT
)

// Published is a host port that is translated to a sandbox, for TCP and UDP.
type Published struct {
	Port uint16
	To   netip.AddrPort
}

// The counters of a Gateway.
const (
	CountDNAT       = "dnat"        // packets: connections translated to a sandbox
	CountMasquerade = "masquerade"  // packets: connections that were masqueraded
	CountIn         = "forward_in"  // bytes forwarded to the bridge
	CountOut        = "forward_out" // bytes forwarded from the bridge
	CountTracked    = "tracked"     // packets: those of new connections
)

const (
	regA = 1
	regB = 2
)

// Gateway installs g. Connection tracking is active in the namespace from then on, whatever
// the rules.
func (ns *Rules) Gateway(g Gateway) error {
	err := ns.inTable(inet(g.Table), func(conn *nftables.Conn, table *nftables.Table) error {
		b := gatewayBuilder{conn: conn, g: g, table: conn.AddTable(table)}
		for _, part := range []struct {
			rules    GatewayRules
			build    func(*gatewayBuilder)
			counters []string
		}{
			{RuleDNAT, (*gatewayBuilder).prerouting, []string{CountDNAT}},
			{RuleMasquerade, (*gatewayBuilder).postrouting, []string{CountMasquerade}},
			{RuleFilter, (*gatewayBuilder).forward, []string{CountIn, CountOut}},
			{RuleTrackArriving | RuleTrackLeaving, (*gatewayBuilder).track, []string{CountTracked}},
		} {
			if g.Rules&part.rules == 0 {
				continue
			}
			for _, name := range part.counters {
				conn.AddObj(&nftables.NamedObj{Table: b.table, Name: name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
			}
			part.build(&b)
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("install address translation (needs nftables with inet NAT): %w", err)
	}
	return nil
}

func inet(table string) *nftables.Table {
	return &nftables.Table{Name: table, Family: nftables.TableFamilyINet}
}

// inTable opens nftables in the namespace and calls fn with a table that may not exist yet.
func (ns *Rules) inTable(t *nftables.Table, fn func(*nftables.Conn, *nftables.Table) error) error {
	return ns.whole().Do(func() error {
		conn, err := openNFTables()
		if err == nil {
			err = fn(conn, t)
		}
		if err != nil {
			return fmt.Errorf("nftables table %s in namespace %s: %w", t.Name, ns.name, err)
		}
		return nil
	})
}

type gatewayBuilder struct {
	conn  *nftables.Conn
	g     Gateway
	table *nftables.Table
}

func (b *gatewayBuilder) chain(name string, typ nftables.ChainType, hook *nftables.ChainHook, prio *nftables.ChainPriority, policy nftables.ChainPolicy) func(...expr.Any) {
	c := b.conn.AddChain(&nftables.Chain{Name: name, Table: b.table, Type: typ, Hooknum: hook, Priority: prio, Policy: &policy})
	return func(exprs ...expr.Any) {
		b.conn.AddRule(&nftables.Rule{Table: b.table, Chain: c, Exprs: exprs})
	}
}

// prerouting: to an address of this host, not from the bridge, to a published port.
func (b *gatewayBuilder) prerouting() {
	add := b.chain(publishChain, nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest, nftables.ChainPolicyAccept)
	for _, p := range b.g.Publish {
		for _, proto := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			add(join(
				family(p.To.Addr()), toLocal(), device(expr.MetaKeyIIFNAME, expr.CmpOpNeq, b.g.Bridge),
				destination(proto, p.Port), count(CountDNAT),
				immediate(regA, p.To.Addr().AsSlice()), immediate(regB, binaryutil.BigEndian.PutUint16(p.To.Port())),
				one(&expr.NAT{Type: expr.NATTypeDestNAT, Family: nfproto(p.To.Addr()), RegAddrMin: regA, RegProtoMin: regB, Specified: true}),
			)...)
		}
	}
}

// postrouting: from the bridge's subnet to anywhere else.
func (b *gatewayBuilder) postrouting() {
	add := b.chain("postrouting", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource, nftables.ChainPolicyAccept)
	for _, s := range b.g.Subnets {
		add(join(family(s.Addr()), from(s), device(expr.MetaKeyOIFNAME, expr.CmpOpNeq, b.g.Bridge),
			count(CountMasquerade), one(&expr.Masq{}))...)
	}
}

// forward: replies, published ports, and what leaves the bridge; nothing else.
func (b *gatewayBuilder) forward() {
	add := b.chain("forward", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter, nftables.ChainPolicyDrop)
	toBridge := device(expr.MetaKeyOIFNAME, expr.CmpOpEq, b.g.Bridge)
	accept := one(&expr.Verdict{Kind: expr.VerdictAccept})
	add(join(toBridge, established(), count(CountIn), accept)...)
	for _, p := range b.g.Publish {
		for _, proto := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			add(join(family(p.To.Addr()), device(expr.MetaKeyIIFNAME, expr.CmpOpNeq, b.g.Bridge), toBridge,
				to(p.To.Addr()), destination(proto, p.To.Port()), count(CountIn), accept)...)
		}
	}
	add(join(device(expr.MetaKeyIIFNAME, expr.CmpOpEq, b.g.Bridge), device(expr.MetaKeyOIFNAME, expr.CmpOpNeq, b.g.Bridge), count(CountOut), accept)...)
	add(join(device(expr.MetaKeyIIFNAME, expr.CmpOpEq, b.g.Bridge), toBridge, accept)...)
}

// track: new connections, of which the first packet is counted, or all packets until an
// answer arrives.
func (b *gatewayBuilder) track() {
	hook := nftables.ChainHookPrerouting
	if b.g.Rules&RuleTrackLeaving != 0 {
		hook = nftables.ChainHookPostrouting
	}
	add := b.chain("track", nftables.ChainTypeFilter, hook, nftables.ChainPriorityMangle, nftables.ChainPolicyAccept)
	add(join(state(expr.CtStateBitNEW), count(CountTracked))...)
}

// Count is a counter of a Gateway: packets and bytes without link headers.
type Count struct{ Packets, Bytes uint64 }

// Counts reads the counters of a Gateway by name.
func (ns *Rules) Counts(table string) (map[string]Count, error) { return ns.countsOf(inet(table)) }

// countsOf reads the named counters of a table.
func (ns *Rules) countsOf(t *nftables.Table) (map[string]Count, error) {
	var counts map[string]Count
	err := ns.inTable(t, func(conn *nftables.Conn, t *nftables.Table) (err error) {
		counts, err = counters(conn, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	return counts, nil
}

// counters reads a table's named counters.
func counters(conn *nftables.Conn, t *nftables.Table) (map[string]Count, error) {
	counts := map[string]Count{}
	objs, err := conn.GetNamedObjects(t)
	for _, o := range objs {
		named, ok := o.(*nftables.NamedObj)
		if !ok {
			continue
		}
		if c, ok := named.Obj.(*expr.Counter); ok {
			counts[named.Name] = Count{c.Packets, c.Bytes}
		}
	}
	return counts, err
}

// DropChain removes a chain's rules; tests use it to bypass the path.
func (ns *Rules) DropChain(table, chain string) error {
	return ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.FlushChain(&nftables.Chain{Name: chain, Table: t})
		return conn.Flush()
	})
}

// DropTable removes a table.
func (ns *Rules) DropTable(table string) error {
	return ns.inTable(inet(table), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.DelTable(t)
		return conn.Flush()
	})
}

// FlushConntrack deletes the namespace's connection tracking entries. It does nothing on
// kernels without CONFIG_NF_CT_NETLINK, whose entries expire on their own.
func (ns *Rules) FlushConntrack() error {
	err := ns.whole().Do(func() error {
		h, err := openNetlink(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer h.Close()
		return h.ConntrackTableFlush(netlink.ConntrackTable)
	})
	for _, lacking := range []error{unix.EINVAL, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.ENOENT} {
		if errors.Is(err, lacking) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("empty the connection tracking of namespace %s: %w", ns.name, err)
	}
	return nil
}
