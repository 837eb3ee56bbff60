package pathspec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
)

// Direction is the direction in which payload from client to server crosses a device.
type Direction bool

// The directions.
const (
	Transmits Direction = true  // the device sends it
	Receives  Direction = false // the device receives it
)

// AllPairs means every pair in a rule.
const AllPairs = 0

// CounterName returns the name of a counter.
func CounterName(at, of, what string) string { return at + "/" + of + "." + what }

// MustCarry requires that the traffic of a pair, counted from 1, or that of AllPairs
// crosses a device.
func (p *Path) MustCarry(pair int, at Place, dev Device, forward Direction) {
	p.addDirectionRules(pair, at, dev, forward, driver.Forward, driver.Reverse)
}

// MustCarryAtLeast is MustCarry where only the payload is known: beyond a process that
// forwards it in its own packets.
func (p *Path) MustCarryAtLeast(pair int, at Place, dev Device, forward Direction) {
	p.addDirectionRules(pair, at, dev, forward, driver.ForwardAtLeast, driver.ReverseAtLeast)
}

func (p *Path) addDirectionRules(pair int, at Place, dev Device, forward Direction, tx, rx driver.Expect) {
	if forward == Receives {
		tx, rx = rx, tx
	}
	p.ReadDevice(at, dev)
	p.AddRules(
		driver.Rule{Counter: CounterName(at.At, dev.label(), "tx_bytes"), Expect: tx, Pair: pair},
		driver.Rule{Counter: CounterName(at.At, dev.label(), "rx_bytes"), Expect: rx, Pair: pair})
}

// MustCarryBoth requires that the traffic of a pair, or of AllPairs, crosses a device that
// sends and receives both directions, as loopback does.
func (p *Path) MustCarryBoth(pair int, at Place, dev Device) {
	p.addSameRules(pair, at, dev, driver.Both)
}

// MustCarryBothAtLeast is MustCarryBoth where only the payload is known.
func (p *Path) MustCarryBothAtLeast(pair int, at Place, dev Device) {
	p.addSameRules(pair, at, dev, driver.BothAtLeast)
}

// MustBeIdle requires that no traffic crosses a device.
func (p *Path) MustBeIdle(at Place, dev Device) { p.addSameRules(AllPairs, at, dev, driver.NoTraffic) }

func (p *Path) addSameRules(pair int, at Place, dev Device, e driver.Expect) {
	p.ReadDevice(at, dev)
	for _, c := range []string{"tx_bytes", "rx_bytes"} {
		p.AddRules(driver.Rule{Counter: CounterName(at.At, dev.label(), c), Expect: e, Pair: pair})
	}
}

// ReadDevice reads a device's counters for the driver's own rules. The counters are named
// CounterName(at, role or name, "tx_bytes") and "rx_bytes".
func (p *Path) ReadDevice(at Place, dev Device) {
	p.addStack(at)
	p.links = append(p.links, link{at, dev})
}

// AddReader reads further counters before and after each trial.
func (p *Path) AddReader(w CounterReader) { p.readers = append(p.readers, w) }

// Watch is AddReader and AddRules, and reads the counters now: what cannot be read means that the mode is
// not what it claims to be.
func (p *Path) Watch(ctx context.Context, read CounterReader, rules ...driver.Rule) error {
	p.AddReader(read)
	p.AddRules(rules...)
	return read(ctx, driver.Counters{})
}

// WatchRules reads the counters of rules before and after each trial, and returns an error if one is missing
// now: the mode is not what it claims to be. Such a rule has no counter later, which fails the proof.
// read says which is missing.
func (p *Path) WatchRules(ctx context.Context, read func(context.Context, driver.Counters) (missing string, err error)) error {
	p.AddReader(func(ctx context.Context, into driver.Counters) error {
		_, err := read(ctx, into)
		return err
	})
	missing, err := read(ctx, driver.Counters{})
	if err == nil && missing != "" {
		err = errors.New(missing)
	}
	return err
}

// AddCheck adds a condition that must hold after every trial.
func (p *Path) AddCheck(holds func() error) { p.checks = append(p.checks, holds) }

// Check is AddCheck, and checks the condition now.
func (p *Path) Check(holds func() error) error {
	p.AddCheck(holds)
	return holds()
}

// attributed returns the rules, with OfClient where it follows from the path: a counter in the sandbox of one endpoint is about that endpoint.
// Elsewhere a pair's own device receives what its client sends, and sends what that receives, or it is the server's. Of one that sends what it
// receives, as an ifb does, only the driver knows it.
func (p *Path) attributed() []driver.Rule {
	in := map[string]int{} // endpoints, by network stack
	for _, pair := range p.pairs {
		in[pair.Client.Stack]++
		in[pair.Server.Stack]++
	}
	rules, on := slices.Clone(p.rules), map[string]int{} // rules of a device with one expectation
	for _, r := range rules {
		of, _ := result.Of(r.Counter)
		on[of+" "+r.Expect.String()]++
	}
	for i, r := range rules {
		if r.Pair == AllPairs || r.Pair > len(p.pairs) || r.OfClient {
			continue
		}
		of, what := result.Of(r.Counter)
		at, ends := of[:max(0, strings.LastIndexByte(of, '/'))], p.pairs[r.Pair-1]
		switch {
		case in[at] == 1 && (at == ends.Client.Stack || at == ends.Server.Stack):
			rules[i].OfClient = at == ends.Client.Stack
		case on[of+" "+r.Expect.String()] > 1:
		case what == "rx_bytes":
			rules[i].OfClient = r.Expect == driver.Forward || r.Expect == driver.ForwardAtLeast
		case what == "tx_bytes":
			rules[i].OfClient = r.Expect == driver.Reverse || r.Expect == driver.ReverseAtLeast
		}
	}
	return rules
}

// AddRules adds rules.
func (p *Path) AddRules(rules ...driver.Rule) { p.rules = append(p.rules, rules...) }

// Snapshot reads all counters.
func (p *Path) Snapshot(ctx context.Context) (driver.Counters, error) {
	names := map[Stack][]string{}
	var order []Stack
	for _, l := range p.links {
		if names[l.at.Stack] == nil {
			order = append(order, l.at.Stack)
		}
		names[l.at.Stack] = append(names[l.at.Stack], l.dev.Name)
	}
	c := driver.Counters{}
	for _, s := range order {
		read, err := s.Links(ctx, names[s])
		if err != nil {
			return nil, err
		}
		for _, l := range p.links {
			if l.at.Stack != s {
				continue
			}
			got, ok := read[l.dev.Name]
			if !ok {
				return nil, fmt.Errorf("read counters of %s in %s: the device no longer exists", l.dev.label(), l.at.At)
			}
			c[CounterName(l.at.At, l.dev.label(), "tx_bytes")] = got.TxBytes
			c[CounterName(l.at.At, l.dev.label(), "rx_bytes")] = got.RxBytes
			if got.CarrierChanges != nil {
				c[CounterName(l.at.At, l.dev.label(), driver.CarrierChanges)] = *got.CarrierChanges
			}
		}
	}
	for _, w := range p.readers {
		if err := w(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}
