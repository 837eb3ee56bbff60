package pathspec

import (
	"context"
	"fmt"

	"tare/internal/driver"
)

// Direction says which way payload from client to server crosses a device.
type Direction bool

// The directions.
const (
	Transmits Direction = true  // the device sends it
	Receives  Direction = false // the device receives it
)

// AllPairs stands for every pair in a rule.
const AllPairs = 0

// CounterName names a reading.
func CounterName(at, of, what string) string { return at + "/" + of + "." + what }

// MustCarry declares that the traffic of a pair, counted from 1, or that of All must
// cross a device.
func (p *Path) MustCarry(pair int, at Place, dev Device, forward Direction) {
	p.crosses(pair, at, dev, forward, driver.Forward, driver.Reverse)
}

// MustCarryAtLeast is Carries where only the payload is known that must cross: beyond
// a process that passes it on in packets of its own.
func (p *Path) MustCarryAtLeast(pair int, at Place, dev Device, forward Direction) {
	p.crosses(pair, at, dev, forward, driver.ForwardAtLeast, driver.ReverseAtLeast)
}

func (p *Path) crosses(pair int, at Place, dev Device, forward Direction, tx, rx driver.Expect) {
	if forward == Receives {
		tx, rx = rx, tx
	}
	p.ReadDevice(at, dev)
	p.AddRules(
		driver.Rule{Counter: CounterName(at.At, dev.label(), "tx_bytes"), Expect: tx, Pair: pair},
		driver.Rule{Counter: CounterName(at.At, dev.label(), "rx_bytes"), Expect: rx, Pair: pair})
}

// MustCarryBoth declares that the traffic of a pair, or that of All, must cross a device
// that sends and receives both directions, as loopback does.
func (p *Path) MustCarryBoth(pair int, at Place, dev Device) { p.same(pair, at, dev, driver.Both) }

// MustCarryBothAtLeast is Loops where only the payload is known that must cross.
func (p *Path) MustCarryBothAtLeast(pair int, at Place, dev Device) {
	p.same(pair, at, dev, driver.BothAtLeast)
}

// MustBeIdle declares that no traffic may cross a device.
func (p *Path) MustBeIdle(at Place, dev Device) { p.same(AllPairs, at, dev, driver.NoTraffic) }

func (p *Path) same(pair int, at Place, dev Device, e driver.Expect) {
	p.ReadDevice(at, dev)
	for _, c := range []string{"tx_bytes", "rx_bytes"} {
		p.AddRules(driver.Rule{Counter: CounterName(at.At, dev.label(), c), Expect: e, Pair: pair})
	}
}

// ReadDevice has a device's counters read, for rules of the driver's own. They are named
// Counter(at, role or name, "tx_bytes") and "rx_bytes".
func (p *Path) ReadDevice(at Place, dev Device) {
	p.stands(at)
	p.links = append(p.links, link{at, dev})
}

// AddReader has further counters read around each trial.
func (p *Path) AddReader(w CounterReader) { p.watch = append(p.watch, w) }

// AddRules adds rules to the proof.
func (p *Path) AddRules(rules ...driver.Rule) { p.rules = append(p.rules, rules...) }

// Snapshot reads the counters of everything that is watched.
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
				return nil, fmt.Errorf("read counters of %s in %s: there is no such device any more", l.dev.label(), l.at.At)
			}
			c[CounterName(l.at.At, l.dev.label(), "tx_bytes")] = got.TxBytes
			c[CounterName(l.at.At, l.dev.label(), "rx_bytes")] = got.RxBytes
			if got.CarrierChanges != nil {
				c[CounterName(l.at.At, l.dev.label(), driver.CarrierChanges)] = *got.CarrierChanges
			}
		}
	}
	for _, w := range p.watch {
		if err := w(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}
