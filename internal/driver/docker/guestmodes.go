//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/notes"
	"tare/internal/engine"
	"tare/internal/result"
)

// hosts: processes of the hosts, or of the one host through its own address.
func (p *guestPath) hosts(ctx context.Context) error {
	at, err := p.reached(ctx)
	if err != nil {
		return err
	}
	return p.Each(func(pair int) error {
		from, err := p.raw(ctx, p.a, client, pair)
		if err != nil {
			return err
		}
		to, err := p.raw(ctx, p.b, server, pair)
		if err != nil {
			return err
		}
		if pair == 1 {
			err = p.wire(ctx, []notes.Step{from.process()}, []notes.Step{to.process()})
		}
		if err != nil {
			return err
		}
		return p.joined(ctx, from, to, netip.AddrPortFrom(p.listening(ctx, at), notes.AnyPort), netip.AddrPortFrom(at, notes.AnyPort), oneConnection)
	})
}

// wire declares what lies between two hosts, or loopback on one, and draws the
// path with the steps before and behind it. Both have other traffic than ours, so
// there is only a least.
func (p *guestPath) wire(ctx context.Context, before, behind []notes.Step) error {
	if p.a == p.b {
		links, _, err := p.a.eye.Links(ctx, netip.Addr{})
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Loopback {
				lo := notes.Device{Name: l.Name}
				p.least(notes.All, p.a.Place, lo, driver.BothAtLeast, driver.BothAtLeast)
				before = append(before, notes.DeviceAt(p.a.Place, lo))
			}
		}
		p.Draw(append(before, behind...)...)
		return nil
	}
	out, in, err := p.underlay(ctx)
	if err != nil {
		return err
	}
	p.least(notes.All, p.a.Place, out, driver.ForwardAtLeast, driver.ReverseAtLeast)
	p.least(notes.All, p.b.Place, in, driver.ReverseAtLeast, driver.ForwardAtLeast)
	p.Draw(append(append(before, notes.DeviceAt(p.a.Place, out), notes.DeviceAt(p.b.Place, in)), behind...)...)
	return nil
}

// least declares what a device must at least send and receive of the traffic of a
// pair, or of All.
func (p *guestPath) least(pair int, at notes.Place, dev notes.Device, tx, rx driver.Expect) {
	p.Link(at, dev)
	p.Must(
		driver.Rule{Counter: notes.Counter(at.At, dev.Name, "tx_bytes"), Expect: tx, Pair: pair},
		driver.Rule{Counter: notes.Counter(at.At, dev.Name, "rx_bytes"), Expect: rx, Pair: pair})
}

// underlay finds the device of each host that leads to the other: by the routing
// table, and on the server's side by the address that is dialled where the host
// has it itself.
func (p *guestPath) underlay(ctx context.Context) (a, b notes.Device, err error) {
	from, err := p.toward(ctx, p.a, p.b.host.Address)
	if err != nil {
		return a, b, err
	}
	to, err := linkWith(ctx, p.b.eye, p.b.host.Address)
	if err != nil {
		to, err = p.toward(ctx, p.b, p.a.host.Address)
	}
	return notes.Device{Name: from.Name}, notes.Device{Name: to.Name}, err
}

func (p *guestPath) toward(ctx context.Context, s *site, addr netip.Addr) (wire.Link, error) {
	_, from, err := s.eye.Links(ctx, addr)
	if err != nil {
		return wire.Link{}, fmt.Errorf("host %s has no way to %s: %w", s.At, addr, err)
	}
	l, err := linkWith(ctx, s.eye, from)
	if err == nil && l.Loopback {
		err = fmt.Errorf("host %s has the address %s itself: both engines are on one machine", s.At, addr)
	}
	return l, err
}

// plugged is the far side of a container's device on its host.
type plugged struct {
	veth, bridge notes.Device
	found        bool // else the container hangs on something else, such as an overlay's own namespace
}

// carries declares that a container's own device, and its veth on the host where it
// has one, carry the pair's traffic and nothing else, and that the bridge carries
// at least that. out says whether the container sends the payload.
func (p *guestPath) carries(ctx context.Context, b *guestBox, pair int, relayed bool) (plugged, error) {
	eth := notes.Device{Name: b.link.Name}
	forward := notes.Direction(b.role == client)
	links, _, err := b.site.eye.Links(ctx, netip.Addr{})
	if err != nil {
		return plugged{}, err
	}
	var at plugged
	for _, l := range links {
		if l.Kind == "veth" && b.link.Kind == "veth" && l.Index == b.link.Peer && l.Peer == b.link.Index {
			at.veth, at.found = notes.Device{Name: l.Name, Role: numbered(b.role, pair) + ".veth"}, true
			for _, m := range links {
				if l.Master != 0 && m.Index == l.Master {
					at.bridge = notes.Device{Name: m.Name}
				}
			}
		}
	}
	if relayed {
		// The relay packs anew what it passes on: only the payload is known.
		p.least(pair, b.Place, eth, driver.ReverseAtLeast, driver.ForwardAtLeast)
		return at, nil
	}
	p.Carries(pair, b.Place, eth, forward)
	if at.found {
		p.Carries(pair, b.site.Place, at.veth, !forward)
	}
	return at, nil
}

// draw gives the steps of a container towards its host, from the inside out.
func (b *guestBox) draw(at plugged) []notes.Step {
	steps := []notes.Step{b.process(), notes.Own(notes.DeviceAt(b.Place, notes.Device{Name: b.link.Name}))}
	if at.found {
		steps = append(steps, notes.Own(notes.DeviceAt(b.site.Place, at.veth)))
	}
	if at.bridge.Name != "" {
		steps = append(steps, notes.DeviceAt(b.site.Place, at.bridge))
	}
	return steps
}

func reversed(steps []notes.Step) []notes.Step {
	out := slices.Clone(steps)
	slices.Reverse(out)
	return out
}

// published: a process of the client's host, a port of the server's that its
// engine translates to a container's.
func (p *guestPath) published(ctx context.Context) error { return p.behindPort(ctx, p.raw) }

// bridge: the same from a container, which its host masquerades.
func (p *guestPath) bridge(ctx context.Context) error {
	return p.behindPort(ctx, func(ctx context.Context, s *site, role string, pair int) (*guestBox, error) {
		return p.boxed(ctx, s, role, pair, engine.ContainerSpec{})
	})
}

func (p *guestPath) behindPort(ctx context.Context, begin func(context.Context, *site, string, int) (*guestBox, error)) error {
	at, err := p.reached(ctx)
	if err != nil {
		return err
	}
	return p.Each(func(pair int) error {
		from, err := begin(ctx, p.a, client, pair)
		if err != nil {
			return err
		}
		to, dial, err := p.publish(ctx, pair, at)
		if err != nil && !p.holds(ctx, at) {
			// The host is reached at an address that is another machine's, which passes
			// it on: the port has to be published on whatever it passes it on to.
			to, dial, err = p.publish(ctx, pair, netip.IPv4Unspecified())
			dial = netip.AddrPortFrom(at, dial.Port())
		}
		if err != nil {
			return err
		}
		var left []notes.Step
		if from.own {
			plug, err := p.carries(ctx, from, pair, false)
			if err != nil {
				return err
			}
			left = append(from.draw(plug), notes.Rule(p.a.Place, "nat", "masquerade"))
		} else {
			left = []notes.Step{from.process()}
		}
		plug, err := p.carries(ctx, to, pair, false)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.port(dial)
			right := append([]notes.Step{p.met("nat", "DNAT")}, reversed(to.draw(plug))...)
			if p.a == p.b {
				p.Draw(append(left, right...)...)
			} else if err := p.wire(ctx, left, right); err != nil {
				return err
			}
		}
		return p.joined(ctx, from, to, netip.AddrPortFrom(to.addr, notes.FirstPort), dial, oneConnection)
	})
}

func (p *guestPath) holds(ctx context.Context, addr netip.Addr) bool {
	_, err := linkWith(ctx, p.b.eye, addr)
	return err == nil
}

// port notes which port was published, since others may have been taken.
func (p *guestPath) port(at netip.AddrPort) {
	p.facts = append(p.facts, result.Fact{Name: "published port", Value: at.String()})
}

// colocated: two containers on the default bridge of the first host.
func (p *guestPath) colocated(ctx context.Context) error {
	return p.onNetwork(ctx, "", oneConnection)
}

// toHost: a container on the default bridge to a process of its host.
func (p *guestPath) toHost(ctx context.Context) error {
	at, err := p.reached(ctx)
	if err != nil {
		return err
	}
	return p.Each(func(pair int) error {
		from, err := p.boxed(ctx, p.a, client, pair, engine.ContainerSpec{})
		if err != nil {
			return err
		}
		to, err := p.raw(ctx, p.b, server, pair)
		if err != nil {
			return err
		}
		plug, err := p.carries(ctx, from, pair, false)
		if err != nil {
			return err
		}
		if plug.bridge.Name != "" && pair == 1 {
			p.least(notes.All, p.a.Place, plug.bridge, driver.ReverseAtLeast, driver.ForwardAtLeast)
		}
		if pair == 1 {
			p.Draw(append(from.draw(plug), to.process())...)
		}
		return p.joined(ctx, from, to, netip.AddrPortFrom(at, notes.AnyPort), netip.AddrPortFrom(at, notes.AnyPort), oneConnection)
	})
}

// userlandProxy: a process of the host to a port published on loopback, which the
// engine's rules leave to docker-proxy.
func (p *guestPath) userlandProxy(ctx context.Context) error {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return p.Each(func(pair int) error {
		from, err := p.raw(ctx, p.a, client, pair)
		if err != nil {
			return err
		}
		to, dial, err := p.publish(ctx, pair, loopback)
		if err != nil {
			return err
		}
		plug, err := p.carries(ctx, to, pair, true)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.port(dial)
			right := append([]notes.Step{p.met("process", "docker-proxy")}, reversed(to.draw(plug))...)
			if err := p.wire(ctx, []notes.Step{from.process()}, right); err != nil {
				return err
			}
		}
		return p.joined(ctx, from, to, netip.AddrPortFrom(to.addr, notes.FirstPort), dial, twoOfThem)
	})
}

// network: both ends on a network that exists on the engines.
func (p *guestPath) network(ctx context.Context) error {
	name := parameter(p.Mode)
	for _, s := range []*site{p.a, p.b} {
		n, err := s.engine.Network(ctx, name)
		if errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("the engine of host %s has no network %s: docker network ls there shows those it has", s.At, name)
		}
		if err != nil {
			return err
		}
		p.gossips = p.gossips || n.Scope == scopeSwarm
		switch {
		case n.Driver == "host" || n.Driver == "null":
			return fmt.Errorf("network %s of host %s is none that containers have an address on (driver %s)", name, s.At, n.Driver)
		case n.Scope == scopeSwarm && !n.Attachable:
			return fmt.Errorf("network %s belongs to a Swarm's services: single containers may join only one made with --attachable", name)
		}
	}
	return p.onNetwork(ctx, name, whatever)
}

// onNetwork: both ends in containers on a network, the server dialled at its
// address there.
func (p *guestPath) onNetwork(ctx context.Context, name string, want between) error {
	return p.onNetworkAt(ctx, name, want, func(string, int) []netip.Addr { return nil })
}

// onNetworkAt is onNetwork with addresses that the engines do not choose.
func (p *guestPath) onNetworkAt(ctx context.Context, name string, want between, at func(role string, pair int) []netip.Addr) error {
	return p.Each(func(pair int) error {
		boxed := func(role string) (*guestBox, error) {
			s := p.a
			if role == server {
				s = p.b
			}
			return p.boxed(ctx, s, role, pair, engine.ContainerSpec{Network: name, Addresses: at(role, pair)})
		}
		from, err := boxed(client)
		if err != nil {
			return err
		}
		to, err := boxed(server)
		if err == nil && p.gossips && p.a != p.b {
			from, to, err = p.acquainted(ctx, name, from, to, boxed)
		}
		if err != nil {
			return err
		}
		near, err := p.carries(ctx, from, pair, false)
		if err != nil {
			return err
		}
		far, err := p.carries(ctx, to, pair, false)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.drawBetween(from, to, near, far)
			if p.a != p.b {
				p.leaves(p.a, driver.ForwardAtLeast)
				p.leaves(p.b, driver.ReverseAtLeast)
			}
		}
		at := netip.AddrPortFrom(to.addr, notes.FirstPort)
		return p.joined(ctx, from, to, at, at, want)
	})
}

func (p *guestPath) drawBetween(from, to *guestBox, near, far plugged) {
	left, right := from.draw(near), reversed(to.draw(far))
	if p.a == p.b && near.bridge == far.bridge && near.bridge.Name != "" {
		right = right[1:] // the one bridge between them
	}
	if p.a != p.b {
		left, right = append(left, wired(p.a)), append([]notes.Step{wired(p.b)}, right...)
	}
	p.Draw(append(left, right...)...)
}

// met is what the server's host does with a connection to a published port: that the
// ends meet as they should shows it.
func (p *guestPath) met(kind, label string) notes.Step {
	return notes.By(notes.Rule(p.b.Place, kind, label), p.b.At+"/connections")
}

// wired is whichever device of a host leads to the other.
func wired(s *site) notes.Step {
	return notes.By(notes.Rule(s.Place, "devices", "the host's own"), s.At+"/devices")
}

// leaves declares that the traffic of a container also leaves its host, by which
// of its devices only the network's driver knows: what all of them together send
// must be at least that, without loopback and what containers hang on.
func (p *guestPath) leaves(s *site, e driver.Expect) {
	counter := notes.Counter(s.At, "devices", "tx_bytes")
	p.Watch(func(ctx context.Context, into driver.Counters) error {
		links, _, err := s.eye.Links(ctx, netip.Addr{})
		if err != nil {
			return err
		}
		var sum uint64
		for _, l := range links {
			switch {
			case l.Loopback, l.Kind == "bridge", l.Kind == "vxlan", l.Kind == "veth" && l.Master != 0:
			default:
				sum += l.TxBytes
			}
		}
		into[counter] = sum
		return nil
	})
	p.Must(driver.Rule{Counter: counter, Expect: e})
}
