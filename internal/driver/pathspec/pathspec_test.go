package pathspec_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// stack is a network stack with fictitious devices. It counts its reads.
type stack struct {
	links map[string]pathspec.Link
	reads int
}

func (s *stack) Links(_ context.Context, names []string) (map[string]pathspec.Link, error) {
	s.reads++
	out := map[string]pathspec.Link{}
	for _, n := range names {
		if l, ok := s.links[n]; ok {
			out[n] = l
		}
	}
	return out, nil
}

func (s *stack) Describe(_ context.Context, name string) (string, []result.Fact, error) {
	if _, ok := s.links[name]; !ok {
		return "", nil, fmt.Errorf("no device %s", name)
	}
	return "veth", []result.Fact{{Name: "mtu", Value: "1500"}}, nil
}

func TestSnapshotAndProof(t *testing.T) {
	on := &stack{links: map[string]pathspec.Link{"eth0": {TxBytes: 10, RxBytes: 20}, "veth1a2b": {}, "lo": {}}}
	a := pathspec.Place{At: "a", Host: "a", Stack: on}
	p := pathspec.Path{Mode: "x/y", PairCount: 1}
	p.MustCarry(pathspec.AllPairs, a, pathspec.Device{Name: "eth0"}, pathspec.Transmits)
	p.MustCarryAtLeast(1, a, pathspec.Device{Name: "veth1a2b", Role: "server.veth"}, pathspec.Receives)
	p.MustBeIdle(a, pathspec.Device{Name: "lo"})
	p.AddReader(func(_ context.Context, into driver.Counters) error { into["a/rule.packets"] = 7; return nil })
	p.AddRules(driver.Rule{Counter: "a/rule.packets", Expect: driver.NoMatch})

	before := must.Get(p.Snapshot(t.Context()))(t)
	want := driver.Counters{"a/eth0.tx_bytes": 10, "a/eth0.rx_bytes": 20, "a/server.veth.tx_bytes": 0, "a/server.veth.rx_bytes": 0,
		"a/lo.tx_bytes": 0, "a/lo.rx_bytes": 0, "a/rule.packets": 7}
	must.Equal(t, want, before)
	must.True(t, on.reads == 1, "one stack was read %d times for a snapshot", on.reads)
	on.links["eth0"] = pathspec.Link{TxBytes: 10 + 1<<20, RxBytes: 20}
	on.links["veth1a2b"] = pathspec.Link{RxBytes: 3 << 20}
	after := must.Get(p.Snapshot(t.Context()))(t)
	carried := []driver.Carried{{Forward: driver.Flow{Payload: 1 << 20, Wire: 1 << 20}}}
	path := p.DriverPath(driver.Path{})
	must.Do(t, path.Prove(before, after, carried))
	after["a/lo.tx_bytes"] = 1 << 20
	err := path.Prove(before, after, carried)
	must.FailFor(t, "traffic on a way round", err, "the path of x/y is not proven: counter a/lo.tx_bytes")
	delete(on.links, "veth1a2b")
	must.FailFor(t, "a device that has gone", must.Err(p.Snapshot(t.Context())), "server.veth in a")
}

func TestEndsAndTopology(t *testing.T) {
	on := &stack{links: map[string]pathspec.Link{"eth0": {}}}
	a, box := pathspec.Place{At: "a", Host: "a", Stack: on}, pathspec.Place{At: "b/server", Host: "b", Stack: on}
	addr := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	p := pathspec.Path{Mode: "x/y", PairCount: 2}
	must.Do(t, p.ForEachPair(func(pair int) error {
		to := box
		if pair == 2 {
			to.At = "b/server2"
		}
		p.AddPair(pathspec.Endpoint{Place: a}, pathspec.Endpoint{Place: to}, addr, addr, pathspec.FirstPort)
		return nil
	}))
	var names []string
	for _, pair := range p.Pairs() {
		names = append(names, pair.Client.Name, pair.Server.Name)
	}
	must.Equal(t, []string{"a", "b/server", "a#2", "b/server2"}, names)
	must.EqualFor(t, "the server is dialled at", "192.0.2.1:5201", p.Pairs()[0].Server.Dial[0].String())
	p.SetSteps(pathspec.ProcessStep(a), pathspec.WithFacts(pathspec.DeviceStep(a, pathspec.Device{Name: "eth0"}), result.Fact{Name: "more", Value: "1"}),
		pathspec.RuleStep(a, "nat", "DNAT"), pathspec.ProcessStep(box))
	top := must.Get(p.Topology())(t)
	want := []result.Node{
		{ID: "n0", Kind: "process", Host: "a", Label: "process x 2"},
		{ID: "n1", Kind: "veth", Host: "a", Label: "eth0", Facts: []result.Fact{{Name: "mtu", Value: "1500"}, {Name: "more", Value: "1"}}},
		{ID: "n2", Kind: "nat", Host: "a", Label: "DNAT"},
		{ID: "n3", Kind: "process", Host: "b", Sandbox: "server", Label: "process x 2"},
	}
	must.Equal(t, want, top.Nodes)
	must.EqualFor(t, "edges", 3, len(top.Edges))
}

// What a pair's client has is told from what its server has by where a counter is and by the direction, however the driver declares it.
func TestRulesOfClients(t *testing.T) {
	at := func(name string) pathspec.Place { return pathspec.Place{At: name, Host: "a", Stack: &stack{}} }
	host := at("a")
	p := pathspec.Path{Mode: "x/y", PairCount: 2}
	dev := func(name string) pathspec.Device { return pathspec.Device{Name: name} }
	var clients, servers []string
	rule := func(list *[]string, r driver.Rule) {
		*list = append(*list, r.Counter)
		p.AddRules(r)
	}
	must.Do(t, p.ForEachPair(func(pair int) error {
		n := fmt.Sprint(pair)
		client, server := at("a/client"+n), at("a/server"+n)
		p.MustCarry(pair, host, dev("out"+n), pathspec.Receives)
		p.MustCarry(pair, host, dev("in"+n), pathspec.Transmits)
		p.MustCarryAtLeast(pair, client, dev("eth0"), pathspec.Transmits)
		p.MustCarry(pair, server, dev("eth0"), pathspec.Receives)
		p.MustCarryBoth(pair, server, dev("lo"))
		for _, of := range []string{"a/out" + n, "a/client" + n + "/eth0"} {
			clients = append(clients, of+".tx_bytes", of+".rx_bytes")
		}
		for _, of := range []string{"a/in" + n, "a/server" + n + "/eth0", "a/server" + n + "/lo"} {
			servers = append(servers, of+".tx_bytes", of+".rx_bytes")
		}
		rule(&clients, driver.Rule{Counter: "a/client" + n + "/sentry.run_ns", Expect: driver.ProcessBusy, Pair: pair})
		rule(&clients, driver.Rule{Counter: "a/pasta" + n + ".run_ns", Expect: driver.ProcessBusy, Pair: pair, OfClient: true})
		rule(&servers, driver.Rule{Counter: "a/server" + n + "/tracking.new_packets", Expect: driver.Connections, Pair: pair})
		for _, what := range []string{".tx_bytes", ".rx_bytes"} {
			p.ReadDevice(host, dev("ifb"+n))
			rule(&servers, driver.Rule{Counter: "a/ifb" + n + what, Expect: driver.ReverseAtLeast, Pair: pair})
		}
		rule(&servers, driver.Rule{Counter: "a/dnat:" + n + ".packets", Expect: driver.Connections, Pair: pair})
		p.AddPair(pathspec.Endpoint{Place: client}, pathspec.Endpoint{Place: server}, nil, nil, pathspec.ServerChoosesPort)
		return nil
	}))
	p.MustCarry(pathspec.AllPairs, host, dev("br0"), pathspec.Receives)
	check := func(p *pathspec.Path, clients, servers []string) {
		t.Helper()
		got := map[bool][]string{}
		for _, r := range p.DriverPath(driver.Path{}).Rules {
			if r.Pair != pathspec.AllPairs {
				got[r.OfClient] = append(got[r.OfClient], r.Counter)
			} else if r.OfClient {
				t.Errorf("%s is of all pairs and of a client", r.Counter)
			}
		}
		for of, want := range map[bool][]string{true: clients, false: servers} {
			slices.Sort(got[of])
			slices.Sort(want)
			must.EqualFor(t, fmt.Sprintf("of clients: %t", of), want, got[of])
		}
	}
	check(&p, clients, servers)
	for _, r := range p.DeviceRules() {
		must.EqualFor(t, r.Rule.Counter, slices.Contains(clients, r.Rule.Counter), r.Rule.OfClient)
	}

	// The clients are processes of the host that has the servers' devices.
	raw := pathspec.Path{Mode: "x/z", PairCount: 2}
	must.Do(t, raw.ForEachPair(func(pair int) error {
		raw.MustCarry(pair, host, dev(fmt.Sprint("in", pair)), pathspec.Transmits)
		raw.AddPair(pathspec.Endpoint{Place: host}, pathspec.Endpoint{Place: at(fmt.Sprint("a/server", pair))}, nil, nil, pathspec.ServerChoosesPort)
		return nil
	}))
	check(&raw, nil, []string{"a/in1.rx_bytes", "a/in1.tx_bytes", "a/in2.rx_bytes", "a/in2.tx_bytes"})
}

// The topology shows which counters verify a step, and what must be idle besides the path.
func TestProvenTopology(t *testing.T) {
	on := &stack{links: map[string]pathspec.Link{"eth0": {}, "lo": {}, "br0": {}}}
	a := pathspec.Place{At: "a", Host: "a", Stack: on}
	p := pathspec.Path{Mode: "x/y", PairCount: 1}
	p.MustCarry(pathspec.AllPairs, a, pathspec.Device{Name: "eth0"}, pathspec.Transmits)
	p.MustBeIdle(a, pathspec.Device{Name: "lo"})
	p.MustBeIdle(a, pathspec.Device{Name: "br0"})
	p.AddRules(driver.Rule{Counter: "a/nat.met_packets", Expect: driver.Connections}, driver.Rule{Counter: "a/nat.bytes", Expect: driver.Forward},
		driver.Rule{Counter: "a/relay:1.run_ns", Expect: driver.ProcessIdle}, driver.Rule{Counter: "a/elsewhere.bytes", Expect: driver.Forward})
	p.SetSteps(pathspec.ProcessStep(a), pathspec.ProvenBy(pathspec.RuleStep(a, "nat", "DNAT"), "a/nat"), pathspec.DeviceStep(a, pathspec.Device{Name: "br0"}), pathspec.DeviceStep(a, pathspec.Device{Name: "eth0"}))
	top := must.Get(p.Topology())(t)
	got := map[string][]string{}
	for _, n := range append(top.Nodes, top.Beside...) {
		got[n.ID+" "+n.Kind+" "+n.Host+" "+n.Label] = n.Counters
	}
	want := map[string][]string{
		"n0 process a process": nil, "n1 nat a DNAT": {"a/nat.met_packets", "a/nat.bytes"},
		"n2 veth a br0": {"a/br0.tx_bytes", "a/br0.rx_bytes"}, "n3 veth a eth0": {"a/eth0.tx_bytes", "a/eth0.rx_bytes"},
		"b0 veth a lo": {"a/lo.tx_bytes", "a/lo.rx_bytes"}, "b1 process a relay:1": {"a/relay:1.run_ns"},
	}
	must.Equal(t, want, got)
	findings := p.DriverPath(driver.Path{}).Findings(driver.Counters{"a/eth0.tx_bytes": 5, "a/eth0.rx_bytes": 5}, driver.Counters{"a/eth0.tx_bytes": 105, "a/eth0.rx_bytes": 4},
		[]driver.Carried{{Forward: driver.Flow{Payload: 100, Unbounded: true}}})
	if f := findings[0]; f.Expect != "forward" || *f.Moved != 100 || f.Least != 100 || f.Most != nil || !f.Fits() {
		t.Errorf("of a counter that moved as it had to: %+v", f)
	}
	if f := findings[1]; f.Moved != nil || f.Fits() {
		t.Errorf("of a counter that ran backwards: %+v", f)
	}
	if f := findings[2]; f.Expect != "still" || f.Moved != nil || *f.Most != driver.Slack {
		t.Errorf("of a counter that was not read: %+v", f)
	}
}

// Whoever changes the settings of a path finds its devices by their rules, and the places
// that translate addresses. What it restores after a flush follows the driver's own.
func TestForSettings(t *testing.T) {
	on := &stack{links: map[string]pathspec.Link{"eth0": {}, "veth1a2b": {}}}
	a, box := pathspec.Place{At: "a", Host: "a", Stack: on}, pathspec.Place{At: "a/client", Host: "a", Stack: &stack{}}
	p := pathspec.Path{Mode: "x/y", PairCount: 1}
	p.MustCarry(pathspec.AllPairs, a, pathspec.Device{Name: "eth0"}, pathspec.Transmits)
	p.MustCarryAtLeast(1, box, pathspec.Device{Name: "veth1a2b", Role: "client.veth"}, pathspec.Receives)
	p.AddRules(driver.Rule{Counter: "a/nat.packets", Expect: driver.Connections})
	var got []string
	for _, r := range p.DeviceRules() {
		got = append(got, fmt.Sprintf("%s %s %t %s %s", r.At.At, r.Device.Name, r.Transmit, r.Rule.Expect, r.Counter("tx_packets")))
	}
	want := []string{
		"a eth0 true forward a/eth0.tx_packets", "a eth0 false reverse a/eth0.tx_packets",
		"a/client veth1a2b true reverse at least a/client/client.veth.tx_packets", "a/client veth1a2b false forward at least a/client/client.veth.tx_packets",
	}
	must.Equal(t, want, got)
	must.Equal(t, map[string]bool{"a": true}, p.Translating())
	var order []string
	note := func(what string) func(context.Context) error {
		return func(context.Context) error { order = append(order, what); return nil }
	}
	p.AfterFlush(note("restored"))
	p.AddFacts(result.Fact{Name: "with gro", Value: "on"})
	path := p.DriverPath(driver.Path{Facts: []result.Fact{{Name: "own"}}, FlushConnections: note("flushed")})
	must.Do(t, path.FlushConnections(t.Context()))
	must.Equal(t, []string{"flushed", "restored"}, order)
	must.Equal(t, []result.Fact{{Name: "own"}, {Name: "with gro", Value: "on"}}, path.Facts)
}
