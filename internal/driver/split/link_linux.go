package split

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/result"
)

// onLink adapts a half of a path to the real link: it adds the machine's network card, and
// takes into account that whatever the network broadcasts arrives at the devices on it.
func (s *server) onLink(p *driver.Path, o order) *driver.Path {
	c := card{side: o.Side, name: o.Parent, stack: pathspec.NamespaceStack{NS: s.machine}, sandboxes: splitOf(s.drivers, o.Mode) == driver.SplitOnCard}
	own := *p
	own.Rules = c.rules(p.Rules)
	if kind, _, err := c.stack.Describe(context.Background(), c.name); err != nil || kind != "veth" {
		own.CountersLate = driver.CardCountersLate
	}
	own.Snapshot = func(ctx context.Context) (driver.Counters, error) {
		counters, err := p.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		return counters, c.read(ctx, counters)
	}
	own.Topology = func() (result.Topology, error) {
		t, err := p.Topology()
		if err != nil {
			return t, err
		}
		return c.topology(t)
	}
	own.Stacks = append(slices.Clone(p.Stacks), driver.NetworkStack{Name: c.at(), Shared: true, Read: c.stack.Read})
	return &own
}

// card is a machine's network card, which carries all that the host sends and receives, and
// the machine's other traffic.
type card struct {
	side, name string
	stack      pathspec.NamespaceStack
	sandboxes  bool // have devices on it
}

// receives reports whether a counter is of what a device on the link receives.
func (c card) receives(counter string) bool {
	return counter == pathspec.CounterName(c.side, lab.Underlay, "rx_bytes") || c.sandboxes && strings.HasSuffix(counter, pathspec.CounterName("", lab.Underlay, "rx_bytes"))
}

// at returns the name of the machine's network stack.
func (c card) at() string { return c.side + "/" + machineStack }

func (c card) counter(what string) string { return pathspec.CounterName(c.at(), c.name, what) }

// read reads the card's counters.
func (c card) read(ctx context.Context, into driver.Counters) error {
	links, err := c.stack.Links(ctx, []string{c.name})
	if err != nil {
		return err
	}
	l := links[c.name]
	into[c.counter("tx_bytes")], into[c.counter("rx_bytes")] = l.TxBytes, l.RxBytes
	if l.CarrierChanges != nil {
		into[c.counter(driver.CarrierChanges)] = *l.CarrierChanges
	}
	return nil
}

// rules adds lower bounds for the card. What a device on the link receives is a lower bound,
// too; what it sends is exact.
func (c card) rules(of []driver.Rule) []driver.Rule {
	var out []driver.Rule
	for _, r := range of {
		if c.receives(r.Counter) {
			switch r.Expect {
			case driver.Forward:
				r.Expect = driver.ForwardAtLeast
			case driver.Reverse:
				r.Expect = driver.ReverseAtLeast
			case driver.NoTraffic:
				continue
			}
		}
		out = append(out, r)
	}
	sent, received := driver.ForwardAtLeast, driver.ReverseAtLeast
	if c.side == lab.SideB {
		sent, received = received, sent
	}
	return append(out, driver.Rule{Counter: c.counter("tx_bytes"), Expect: sent}, driver.Rule{Counter: c.counter("rx_bytes"), Expect: received})
}

// topology returns the steps of the own host, with the card towards the other.
func (c card) topology(t result.Topology) (result.Topology, error) {
	kind, facts, err := c.stack.Describe(context.Background(), c.name)
	if err != nil {
		return t, err
	}
	node := result.Node{Kind: kind, Host: c.side, Sandbox: machineStack, Label: c.name, Facts: facts, Counters: []string{c.counter("tx_bytes"), c.counter("rx_bytes")}}
	mine := func(n result.Node) bool { return n.Host == c.side }
	var out result.Topology
	for _, n := range t.Nodes {
		if mine(n) {
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, n := range t.Beside {
		if mine(n) {
			out.Beside = append(out.Beside, n)
		}
	}
	if len(out.Nodes) == 0 {
		return t, errors.New("no step of the path is on host " + c.side)
	}
	if c.side == lab.SideA {
		out.Nodes = append(out.Nodes, node)
	} else {
		out.Nodes = slices.Insert(out.Nodes, 0, node)
	}
	return out, nil
}
