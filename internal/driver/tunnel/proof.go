//go:build linux

package tunnel

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/notes"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// proof declares what must move and what must stand still, but for what only the
// tunnel itself can tell.
func (p *Path) proof(device string) {
	dev := func(name string) notes.Device { return notes.Device{Name: name} }
	p.Carries(notes.All, p.Near.Place, dev(br), notes.Receives)
	p.Carries(notes.All, p.Far.Place, dev(br), notes.Transmits)
	if device != "" {
		p.Carries(notes.All, p.Near.Place, dev(device), notes.Transmits)
		p.Carries(notes.All, p.Far.Place, dev(device), notes.Receives)
	}
	p.Carries(notes.All, p.Near.Place, dev(eth), notes.Transmits)
	p.Carries(notes.All, p.Far.Place, dev(eth), notes.Receives)
	for pair := 1; pair <= p.Count; pair++ {
		p.Carries(pair, p.Near.Place, dev(lab.Veth(pair-1)), notes.Receives)
		p.Carries(pair, p.Far.Place, dev(lab.Veth(pair-1)), notes.Transmits)
	}
	for _, s := range p.Sides() {
		p.Rests(s.Place, dev(lo))
	}
}

// Taps counts at the underlay what comes in of the tunnel and what comes in that should
// have been inside of it, as tunnel describes what a side receives; the inside is added.
func (p *Path) Taps(tunnel func(*Side) linuxnet.Sealed) error {
	for _, s := range p.Sides() {
		sealed := tunnel(s)
		sealed.Inside = append(p.Other(s).Subnets[:len(s.Subnets):len(s.Subnets)], s.Subnets...)
		if err := s.NS.TunnelTap(table, eth, sealed); err != nil {
			return err
		}
		p.Watch(func(_ context.Context, into driver.Counters) error {
			counts, err := s.NS.TapCounts(table)
			for name, n := range counts {
				into[notes.Counter(s.At, eth, name+"_bytes")] = n.Bytes
			}
			return err
		})
		toward := p.Into(s)
		p.Must(driver.Rule{Counter: notes.Counter(s.At, eth, linuxnet.CountSealed+"_bytes"), Expect: toward},
			driver.Rule{Counter: notes.Counter(s.At, eth, linuxnet.CountInside+"_bytes"), Expect: driver.Still})
		if sealed.SPI != 0 {
			p.Must(driver.Rule{Counter: notes.Counter(s.At, eth, linuxnet.CountESPSPI+"_bytes"), Expect: toward})
		}
	}
	return nil
}

// Into is which direction of the traffic comes out of the tunnel at a side; OutOf which
// one goes in.
func (p *Path) Into(s *Side) driver.Expect {
	if s == p.Far {
		return driver.Forward
	}
	return driver.Reverse
}

// OutOf is which direction of the traffic goes into the tunnel at a side.
func (p *Path) OutOf(s *Side) driver.Expect { return p.Into(p.Other(s)) }

// Transfer is what a tunnel says of itself, in bytes, as both rules and counters name
// it: of is what counts them, such as wireguard or esp.
func (p *Path) Transfer(s *Side, of string, read func() (out, in uint64, err error)) {
	p.Watch(func(_ context.Context, into driver.Counters) error {
		out, in, err := read()
		into[notes.Counter(s.At, of, "out_bytes")], into[notes.Counter(s.At, of, "in_bytes")] = out, in
		return err
	})
	p.Must(driver.Rule{Counter: notes.Counter(s.At, of, "out_bytes"), Expect: p.OutOf(s)},
		driver.Rule{Counter: notes.Counter(s.At, of, "in_bytes"), Expect: p.Into(s)})
}

// draw notes the steps. A process of a side stands between the tunnel's device and the
// underlay.
func (p *Path) draw(client, server box, device string) {
	step := func(at notes.Place, name string) notes.Step { return notes.DeviceAt(at, notes.Device{Name: name}) }
	steps := []notes.Step{notes.ProcessAt(client.Place), notes.Own(step(client.Place, eth)), notes.Own(step(p.Near.Place, lab.Veth(0))), step(p.Near.Place, br)}
	steps = append(steps, p.crossing(p.Near, device)...)
	steps = append(steps, step(p.Near.Place, eth), step(p.Far.Place, eth))
	far := p.crossing(p.Far, device)
	for i := range far {
		steps = append(steps, far[len(far)-1-i])
	}
	p.Draw(append(steps, step(p.Far.Place, br), notes.Own(step(p.Far.Place, lab.Veth(0))), notes.Own(step(server.Place, eth)), notes.ProcessAt(server.Place))...)
}

// crossing is the tunnel's part of a side, outwards.
func (p *Path) crossing(s *Side, device string) (steps []notes.Step) {
	if device != "" {
		steps = append(steps, notes.DeviceAt(s.Place, notes.Device{Name: device}))
	}
	for _, w := range p.works {
		if w.side == s {
			steps = append(steps, notes.By(notes.Rule(s.Place, w.kind, w.what), s.At+"/"+w.of))
		}
	}
	return steps
}
