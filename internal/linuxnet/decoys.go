//go:build linux

package linuxnet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Decoys are IPv4 rules that no packet of a path matches: those of services with other
// addresses, which the kernel compares with the first packet of each connection before it
// reaches the rule of the path's own port, and rules without effect, which it compares with
// every forwarded packet.

// DecoyName is the name of the tables, chains and sets of decoys, and the beginning of the
// names of their other chains. None of their rules drops a packet.
const DecoyName = "tare-rules"

// DecoyTarget is the chain to which the rule of a service's address leads.
const DecoyTarget = DecoyName + "-target"

// DecoyMark is the mark of packets that passed the decoys of iptables, whose own counters
// would take a dump of the whole table to read.
const DecoyMark = 0x74617265

// The counters of decoys.
const (
	CountDecoys  = "passed"   // packets: connections whose first packet passed all decoys
	CountNoopIn  = "noop_in"  // bytes that came from a device and passed all rules without effect
	CountNoopOut = "noop_out" // bytes that leave by the device and passed them
)

const (
	decoyPassed = DecoyName + "-passed" // chain of the map's elements of the path's own ports
	noopChain   = DecoyName + "-noop"   // chain of the rules without effect
)

// elementsOfMessage is how many elements one message adds to a map: the attribute that lists
// them has at most 64 KiB.
const elementsOfMessage = 400

// RulesOfBatch returns how many rules of nftables are sent as one batch: for each batch the kernel waits until no
// CPU uses the old rules, and checks the whole chain. A rule takes 300 bytes in the buffer of
// the socket, and its acknowledgement up to 1 kB, which only the machine's root can enlarge.
func RulesOfBatch() int {
	if RealRoot() {
		return nftablesBuffer / 1024
	}
	return 200
}

// decoyServices is where kubeadm assigns the addresses of services.
func decoyServices() netip.Prefix { return netip.MustParsePrefix("10.96.0.0/12") }

// DecoyService returns address and port of the nth decoy service, counted from 0.
func DecoyService(n int) netip.AddrPort {
	first := decoyServices().Addr().As4()
	at := binary.BigEndian.Uint32(first[:]) + 1 + uint32(n)
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, at))), 80)
}

// DecoyBackend returns where the rule of a decoy service translates to: TEST-NET-1.
func DecoyBackend() netip.AddrPort { return netip.MustParseAddrPort("192.0.2.1:80") }

// decoys adds decoys in batches.
type decoys struct {
	conn  *nftables.Conn
	table *nftables.Table
}

// inDecoys opens the table of decoys, which is created with its counters if it does not
// exist.
func (ns *Decoys) inDecoys(doing string, fn func(decoys) error) error {
	err := ns.whole().Rules().inTable(decoyTable(), func(conn *nftables.Conn, t *nftables.Table) error {
		return fn(decoys{conn, conn.AddTable(t)})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func decoyTable() *nftables.Table {
	return &nftables.Table{Name: DecoyName, Family: nftables.TableFamilyIPv4}
}

// base adds a base chain.
func (d decoys) base(name string, typ nftables.ChainType, hook *nftables.ChainHook, prio nftables.ChainPriority) *nftables.Chain {
	accept := nftables.ChainPolicyAccept
	return d.conn.AddChain(&nftables.Chain{Name: name, Table: d.table, Type: typ, Hooknum: hook, Priority: &prio, Policy: &accept})
}

// services adds the base chain of the services' rules, before the ports of a Gateway.
func (d decoys) services() *nftables.Chain {
	return d.base(DecoyName, nftables.ChainTypeNAT, nftables.ChainHookPrerouting, *nftables.ChainPriorityNATDest-1)
}

// target adds the chain of a matching service.
func (d decoys) target() {
	c := d.conn.AddChain(&nftables.Chain{Name: DecoyTarget, Table: d.table})
	to := DecoyBackend()
	d.rule(c, []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: regA}, equal(expr.CmpOpEq, []byte{unix.IPPROTO_TCP})},
		immediate(regA, to.Addr().AsSlice()), immediate(regB, binaryutil.BigEndian.PutUint16(to.Port())),
		one(&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: regA, RegProtoMin: regB, Specified: true}))
}

func (d decoys) rule(c *nftables.Chain, clauses ...[]expr.Any) {
	d.conn.AddRule(&nftables.Rule{Table: d.table, Chain: c, Exprs: join(clauses...)})
}

func (d decoys) counters(names ...string) {
	for _, name := range names {
		d.conn.AddObj(&nftables.NamedObj{Table: d.table, Name: name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
	}
}

// inBatches calls add for 0 to n-1 and sends what it added.
func (d decoys) inBatches(n int, add func(i int)) error {
	batch := RulesOfBatch()
	for i := range n {
		add(i)
		if (i+1)%batch == 0 {
			if err := d.conn.Flush(); err != nil {
				return fmt.Errorf("rules up to %d of %d: %w", i+1, n, err)
			}
		}
	}
	return d.conn.Flush()
}

// AddDecoyChain installs n services as a chain of n rules. CountDecoys counts the
// connections that pass them.
func (ns *Decoys) AddDecoyChain(n int) error {
	return ns.inDecoys(fmt.Sprintf("install %d rules in a chain", n), func(d decoys) error {
		d.counters(CountDecoys)
		d.target()
		c := d.services()
		err := d.inBatches(n, func(i int) {
			s := DecoyService(i)
			d.rule(c, ipv4(ipDestination, s.Addr()), destination(unix.IPPROTO_TCP, s.Port()), one(&expr.Verdict{Kind: expr.VerdictGoto, Chain: DecoyTarget}))
		})
		if err != nil {
			return err
		}
		d.rule(c, count(CountDecoys))
		return d.conn.Flush()
	})
}

// AddDecoyMap installs n services as elements of a verdict map, with one rule that looks up
// address, protocol and port. The path's own ports have elements too, by which CountDecoys
// counts their connections.
func (ns *Decoys) AddDecoyMap(n int, own []netip.AddrPort) error {
	return ns.inDecoys(fmt.Sprintf("install a map of %d services", n), func(d decoys) error {
		d.counters(CountDecoys)
		d.target()
		d.rule(d.conn.AddChain(&nftables.Chain{Name: decoyPassed, Table: d.table}), count(CountDecoys))
		set, err := decoyMap(d.table)
		if err != nil {
			return err
		}
		if err := d.conn.AddSet(set, nil); err != nil {
			return err
		}
		d.rule(d.services(), lookUpService(set))
		var elements []nftables.SetElement
		for i := range n {
			elements = append(elements, serviceElement(unix.IPPROTO_TCP, DecoyService(i), DecoyTarget))
		}
		for _, o := range own {
			for _, proto := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
				elements = append(elements, serviceElement(proto, o, decoyPassed))
			}
		}
		for some := range slices.Chunk(elements, elementsOfMessage) {
			if err := d.conn.SetAddElements(set, some); err != nil {
				return err
			}
			if err := d.conn.Flush(); err != nil {
				return err
			}
		}
		return nil
	})
}

// decoyMap is the map of AddDecoyMap.
func decoyMap(t *nftables.Table) (*nftables.Set, error) {
	key, err := nftables.ConcatSetType(nftables.TypeIPAddr, nftables.TypeInetProto, nftables.TypeInetService)
	return &nftables.Set{Table: t, Name: DecoyName, IsMap: true, Concatenation: true, KeyType: key, DataType: nftables.TypeVerdict}, err
}

// lookUpService: ip daddr . meta l4proto . th dport vmap @set.
func lookUpService(set *nftables.Set) []expr.Any {
	// A key of several fields is in consecutive registers of 4 bytes, of which the first
	// overlaps regA.
	const second, third = unix.NFT_REG32_01, unix.NFT_REG32_02
	return []expr.Any{
		&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseNetworkHeader, Offset: ipDestination, Len: 4},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: second},
		&expr.Payload{DestRegister: third, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Lookup{SourceRegister: regA, DestRegister: 0, IsDestRegSet: true, SetName: set.Name, SetID: set.ID},
	}
}

// serviceElement is an element of the map. Each field is padded to 4 bytes.
func serviceElement(proto byte, at netip.AddrPort, chain string) nftables.SetElement {
	key := append(at.Addr().AsSlice(), proto, 0, 0, 0)
	key = append(append(key, binaryutil.BigEndian.PutUint16(at.Port())...), 0, 0)
	return nftables.SetElement{Key: key, VerdictData: &expr.Verdict{Kind: expr.VerdictGoto, Chain: chain}}
}

// CountDecoyMarks counts the packets with DecoyMark by CountDecoys. Of chains with the same
// priority the kernel evaluates the last one first: call it after Gateway and before the
// program that adds the rules to iptables' table nat.
func (ns *Decoys) CountDecoyMarks() error {
	return ns.inDecoys("count marked packets", func(d decoys) error {
		d.counters(CountDecoys)
		c := d.base(DecoyName, nftables.ChainTypeNAT, nftables.ChainHookPrerouting, *nftables.ChainPriorityNATDest)
		d.rule(c, []expr.Any{&expr.Meta{Key: expr.MetaKeyMARK, Register: regA}, equal(expr.CmpOpEq, binaryutil.NativeEndian.PutUint32(DecoyMark))}, count(CountDecoys))
		return d.conn.Flush()
	})
}

// AddNoopRules installs n rules without effect, which are compared with every forwarded
// packet. CountNoopIn and CountNoopOut count the bytes from and to a device that pass them.
func (ns *Decoys) AddNoopRules(n int, dev string) error {
	return ns.inDecoys(fmt.Sprintf("install %d rules without effect", n), func(d decoys) error {
		d.counters(CountNoopIn, CountNoopOut)
		c := d.base(noopChain, nftables.ChainTypeFilter, nftables.ChainHookForward, *nftables.ChainPriorityFilter-1)
		none := DecoyBackend().Addr()
		if err := d.inBatches(n, func(int) { d.rule(c, ipv4(ipSource, none)) }); err != nil {
			return err
		}
		d.rule(c, device(expr.MetaKeyIIFNAME, expr.CmpOpEq, dev), count(CountNoopIn))
		d.rule(c, device(expr.MetaKeyOIFNAME, expr.CmpOpEq, dev), count(CountNoopOut))
		return d.conn.Flush()
	})
}

// Offsets in the IPv4 header.
const (
	ipSource      = 12
	ipDestination = 16
)

// ipv4: ip saddr|daddr address, in a table for IPv4.
func ipv4(offset uint32, a netip.Addr) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4},
		equal(expr.CmpOpEq, a.AsSlice()),
	}
}

// DecoyCounts reads the counters of decoys by name.
func (ns *Decoys) DecoyCounts() (map[string]Count, error) {
	return ns.whole().Rules().countsOf(decoyTable())
}

// DecoyChainRules reads how many services are in the chain of AddDecoyChain.
func (ns *Decoys) DecoyChainRules() (int, error) {
	n, err := ns.rulesIn(DecoyName)
	return n - 1, err // without the counter
}

// NoopRules reads how many rules of AddNoopRules there are.
func (ns *Decoys) NoopRules() (int, error) {
	n, err := ns.rulesIn(noopChain)
	return n - 2, err // without the counters
}

func (ns *Decoys) rulesIn(chain string) (n int, err error) {
	err = ns.whole().Rules().inTable(decoyTable(), func(conn *nftables.Conn, t *nftables.Table) error {
		rules, err := conn.GetRules(t, &nftables.Chain{Name: chain, Table: t})
		n = len(rules)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count the rules of chain %s: %w", chain, err)
	}
	return n, nil
}

// DecoyMapServices reads how many services are in the map of AddDecoyMap, besides the
// path's own ports.
func (ns *Decoys) DecoyMapServices() (n int, err error) {
	err = ns.whole().Rules().inTable(decoyTable(), func(conn *nftables.Conn, t *nftables.Table) error {
		set, err := decoyMap(t)
		if err != nil {
			return err
		}
		elements, err := settled(conn, set)
		for _, e := range elements {
			if a, ok := netip.AddrFromSlice(e.Key[:min(4, len(e.Key))]); ok && decoyServices().Contains(a) {
				n++
			}
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count the services of map %s: %w", DecoyName, err)
	}
	return n, nil
}

// settled reads the elements of a set, again while the kernel resizes its hash table: it then lists some elements twice and
// leaves out others.
func settled(conn *nftables.Conn, set *nftables.Set) (elements []nftables.SetElement, err error) {
	keys := map[string]bool{}
	for range mostReadings {
		if elements, err = conn.GetSetElements(set); err != nil {
			return nil, err
		}
		clear(keys)
		for _, e := range elements {
			keys[string(e.Key)] = true
		}
		if len(keys) == len(elements) {
			return elements, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("in each of %d readings the kernel listed elements twice, of %d the last time %d: it is still resizing the table", mostReadings, len(keys), len(elements))
}

// mostReadings is how often settled reads a set: resizing takes milliseconds, and seconds on a busy machine.
const mostReadings = 500

// DropDecoys removes the rules of all chains of decoys; tests use it to bypass them.
func (ns *Decoys) DropDecoys() error {
	return ns.whole().Rules().inTable(decoyTable(), func(conn *nftables.Conn, t *nftables.Table) error {
		conn.FlushTable(t)
		return conn.Flush()
	})
}
