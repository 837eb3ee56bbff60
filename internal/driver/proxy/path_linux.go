package proxy

import (
	"context"
	"fmt"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// table is the nftables table of the packet counters on the underlay devices.
const table = "tare"

// counted is the object that a proxy's counters belong to.
const counted = "proxy"

// prove declares what the counters must show, and the steps of the path.
//
// Each endpoint's kernel counts the packets of its own connection with the proxy of its host.
// What the other endpoint sends arrives in packets of that proxy, of which only the payload is
// known, and so is all on the underlay.
func (p *path) prove() error {
	for _, s := range p.sides() {
		own := p.near == s
		for i := range s.boxes {
			p.carries(i+1, s, lab.VethName(i))
		}
		p.carries(pathspec.AllPairs, s, br)
		p.MustCarryAtLeast(pathspec.AllPairs, s.Place, device(lab.Underlay), pathspec.Direction(own))
		p.MustBeIdle(s.Place, device(lo))
		if err := p.tap(s); err != nil {
			return err
		}
		p.readProxy(s)
	}
	p.draw()
	return nil
}

func device(name string) pathspec.Device { return pathspec.Device{Name: name} }

// carries requires that a device towards the endpoints of a side receives what these send, and
// transmits the payload of what they are sent.
func (p *path) carries(pair int, s *side, dev string) {
	sent, answered := driver.Forward, driver.ReverseAtLeast
	if s == p.far {
		sent, answered = driver.Reverse, driver.ForwardAtLeast
	}
	p.ReadDevice(s.Place, device(dev))
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, dev, "rx_bytes"), Expect: sent, Pair: pair},
		driver.Rule{Counter: pathspec.CounterName(s.At, dev, "tx_bytes"), Expect: answered, Pair: pair})
}

// tap counts on the underlay what a side receives: packets between the proxies, and packets of
// sandboxes, of which there must be none.
func (p *path) tap(s *side) error {
	received := driver.ReverseAtLeast
	in := linuxnet.ProxyIngress{First: port(0), Last: port(len(s.boxes) - 1), Listens: s == p.far}
	if in.Listens {
		received = driver.ForwardAtLeast
	}
	in.Inside = append(append(in.Inside, p.near.subnets...), p.far.subnets...)
	if err := s.ns.Rules().CountProxyIngress(table, lab.Underlay, in); err != nil {
		return err
	}
	p.ReadIngress(s.Place, s.ns, table, lab.Underlay)
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, lab.Underlay, linuxnet.CountForwarded+"_bytes"), Expect: received},
		driver.Rule{Counter: pathspec.CounterName(s.At, lab.Underlay, linuxnet.CountDecrypted+"_bytes"), Expect: driver.NoTraffic})
	return nil
}

// readProxy reads the counters of a side's proxy: it has forwarded every byte, and between the
// proxies of proxy/tls every byte was inside an encrypted record.
func (p *path) readProxy(s *side) {
	name := func(what string) string { return pathspec.CounterName(s.At, counted, what) }
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		c, err := s.counters()
		into[name("forward_bytes")], into[name("reverse_bytes")], into[name("connections")] = c.Forward, c.Reverse, c.Connections
		if p.tls {
			into[name("sealed_bytes")], into[name("unsealed_bytes")] = c.Sealed, c.Unsealed
		}
		return err
	})
	p.AddRules(driver.Rule{Counter: name("forward_bytes"), Expect: driver.ForwardPayload}, driver.Rule{Counter: name("reverse_bytes"), Expect: driver.ReversePayload},
		driver.Rule{Counter: name("connections"), Expect: driver.Connections})
	if !p.tls {
		return
	}
	writes := driver.ForwardPayload
	if s == p.far {
		writes = driver.ReversePayload
	}
	p.AddRules(driver.Rule{Counter: name("sealed_bytes"), Expect: writes}, driver.Rule{Counter: name("unsealed_bytes"), Expect: driver.NoTraffic})
}

// checkTLS checks what the proxies negotiated and wrote since their start.
func (p *path) checkTLS() error {
	if !p.tls {
		return nil
	}
	for _, s := range p.sides() {
		c, err := s.counters()
		if err != nil {
			return err
		}
		if err := c.Check(p.state); err != nil {
			return fmt.Errorf("the proxy of host %s: %w", s.At, err)
		}
	}
	return nil
}

// draw sets the steps.
func (p *path) draw() {
	client, server := p.near.boxes[0], p.far.boxes[0]
	step := func(at pathspec.Place, name string) pathspec.Step { return pathspec.DeviceStep(at, device(name)) }
	proxy := func(s *side) pathspec.Step {
		return pathspec.ProvenBy(pathspec.RuleStep(s.Place, "proxy", comm), s.At+"/"+counted)
	}
	p.SetSteps(
		pathspec.ProcessStep(client.Place), pathspec.PerPair(step(client.Place, eth)), pathspec.PerPair(step(p.near.Place, lab.VethName(0))), step(p.near.Place, br),
		proxy(p.near), step(p.near.Place, lab.Underlay), step(p.far.Place, lab.Underlay), proxy(p.far),
		step(p.far.Place, br), pathspec.PerPair(step(p.far.Place, lab.VethName(0))), pathspec.PerPair(step(server.Place, eth)), pathspec.ProcessStep(server.Place),
	)
}

// Lab returns the lab of the path, for tests that interrupt the path.
func (p *path) Lab() *lab.Lab { return p.OnLab }
