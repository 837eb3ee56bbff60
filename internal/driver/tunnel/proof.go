//go:build linux

package tunnel

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// proof adds the rules that do not depend on the tunnel's implementation.
func (p *Path) proof(device string) {
	dev := func(name string) pathspec.Device { return pathspec.Device{Name: name} }
	p.MustCarry(pathspec.AllPairs, p.Near.Place, dev(br), pathspec.Receives)
	p.MustCarry(pathspec.AllPairs, p.Far.Place, dev(br), pathspec.Transmits)
	if device != "" {
		p.MustCarry(pathspec.AllPairs, p.Near.Place, dev(device), pathspec.Transmits)
		p.MustCarry(pathspec.AllPairs, p.Far.Place, dev(device), pathspec.Receives)
	}
	p.MustCarry(pathspec.AllPairs, p.Near.Place, dev(eth), pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, p.Far.Place, dev(eth), pathspec.Receives)
	for pair := 1; pair <= p.PairCount; pair++ {
		p.MustCarry(pair, p.Near.Place, dev(lab.VethName(pair-1)), pathspec.Receives)
		p.MustCarry(pair, p.Far.Place, dev(lab.VethName(pair-1)), pathspec.Transmits)
	}
	for _, s := range p.Sides() {
		p.MustBeIdle(s.Place, dev(lo))
	}
}

// Taps counts, on the underlay, received tunnel packets and received packets that should
// have been inside the tunnel. tunnel describes the packets that a side receives; the inner
// prefixes are added.
func (p *Path) Taps(tunnel func(*Side) linuxnet.TunnelIngress) error {
	for _, s := range p.Sides() {
		sealed := tunnel(s)
		sealed.Inside = append(p.Other(s).Subnets[:len(s.Subnets):len(s.Subnets)], s.Subnets...)
		if err := s.NS.Rules().CountTunnelIngress(table, eth, sealed); err != nil {
			return err
		}
		p.ReadIngress(s.Place, s.NS, table, eth)
		toward := p.Into(s)
		p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountEncrypted+"_bytes"), Expect: toward},
			driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountDecrypted+"_bytes"), Expect: driver.NoTraffic})
		if sealed.SPI != 0 {
			p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, eth, linuxnet.CountESPSPI+"_bytes"), Expect: toward})
		}
	}
	return nil
}

// Into returns the direction of the traffic that leaves the tunnel at a side; OutOf returns
// the one that enters it.
func (p *Path) Into(s *Side) driver.Expect {
	if s == p.Far {
		return driver.Forward
	}
	return driver.Reverse
}

// OutOf returns the direction of the traffic that enters the tunnel at a side.
func (p *Path) OutOf(s *Side) driver.Expect { return p.Into(p.Other(s)) }

// Transfer reads the tunnel's own byte counters on a side and adds rules for them. of is the
// object that the counters belong to, such as wireguard or esp.
func (p *Path) Transfer(s *Side, of string, read func() (out, in uint64, err error)) {
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		out, in, err := read()
		into[pathspec.CounterName(s.At, of, "out_bytes")], into[pathspec.CounterName(s.At, of, "in_bytes")] = out, in
		return err
	})
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(s.At, of, "out_bytes"), Expect: p.OutOf(s)},
		driver.Rule{Counter: pathspec.CounterName(s.At, of, "in_bytes"), Expect: p.Into(s)})
}

// draw sets the steps. A process of a side is between the tunnel's device and the underlay.
func (p *Path) draw(client, server sandbox, device string) {
	step := func(at pathspec.Place, name string) pathspec.Step {
		return pathspec.DeviceStep(at, pathspec.Device{Name: name})
	}
	steps := []pathspec.Step{pathspec.ProcessStep(client.Place), pathspec.PerPair(step(client.Place, eth)), pathspec.PerPair(step(p.Near.Place, lab.VethName(0))), step(p.Near.Place, br)}
	steps = append(steps, p.crossing(p.Near, device)...)
	steps = append(steps, step(p.Near.Place, eth), step(p.Far.Place, eth))
	far := p.crossing(p.Far, device)
	for i := range far {
		steps = append(steps, far[len(far)-1-i])
	}
	p.SetSteps(append(steps, step(p.Far.Place, br), pathspec.PerPair(step(p.Far.Place, lab.VethName(0))), pathspec.PerPair(step(server.Place, eth)), pathspec.ProcessStep(server.Place))...)
}

// crossing returns the tunnel's steps on a side, towards the underlay.
func (p *Path) crossing(s *Side, device string) (steps []pathspec.Step) {
	if device != "" {
		steps = append(steps, pathspec.DeviceStep(s.Place, pathspec.Device{Name: device}))
	}
	for _, w := range p.handlers {
		if w.side == s {
			steps = append(steps, pathspec.ProvenBy(pathspec.RuleStep(s.Place, w.kind, w.what), s.At+"/"+w.of))
		}
	}
	return steps
}
