package remote

import (
	"context"
	"net/netip"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/notes"
)

// Endpoint is an end of a path: a sandbox with a network of its own and an agent that
// reads it, or a process on its host's network.
type Endpoint struct {
	notes.Place
	Name     string // client, server2: unique on its host
	Client   bool
	Host     *Host
	Launcher transport.Launcher
	Agent    *agent.Client
	// Sandboxed says that it has a network of its own; what follows is then known.
	Sandboxed bool
	Addr      netip.Addr
	Link      wire.Link // that has the address
}

// Enter starts an agent in the sandbox that the endpoint's Launcher leads to, which has
// the address, and finds the device of it.
func (e *Endpoint) Enter(ctx context.Context, run string) error {
	a, err := agent.Start(ctx, e.Launcher, run, e.At)
	if err != nil {
		return err
	}
	e.Agent, e.Stack, e.Sandboxed = a, &Stack{a}, true
	return nil
}

// Locate finds the device that has the endpoint's address.
func (e *Endpoint) Locate(ctx context.Context, addr netip.Addr) (err error) {
	e.Addr = addr
	e.Link, err = LinkWith(ctx, e.Agent, addr)
	return err
}

// Close ends the agent that Enter has started.
func (e *Endpoint) Close() error {
	if !e.Sandboxed || e.Agent == nil {
		return nil
	}
	return e.Agent.Close()
}

// End is the endpoint in the notes of a path.
func (e *Endpoint) End() notes.End { return notes.End{Place: e.Place, Launcher: e.Launcher} }

// Path takes the notes on a path between two hosts that are read by agents, or on one.
type Path struct {
	Notes     *notes.Path
	A, B      *Host // the client's and the server's; one and the same in paths of one host
	exchanges []Exchange
}

// Reached is the address at which the server's host is dialled.
func (p *Path) Reached(ctx context.Context) (netip.Addr, error) {
	if p.A != p.B {
		return p.B.Address, nil
	}
	return p.B.Own(ctx)
}

// Join notes the ends of a pair and has them meet. Its error is as Introduce's.
func (p *Path) Join(ctx context.Context, x Exchange) error {
	p.Notes.EndsAt(x.Client.End(), x.Server.End(), []netip.AddrPort{x.Listen}, []netip.AddrPort{x.Dial})
	return p.Introduce(ctx, x)
}

// Wire declares what lies between two hosts, or loopback on one, and draws the
// path with the steps before and behind it. Both have other traffic than ours, so
// there is only a least.
func (p *Path) Wire(ctx context.Context, before, behind []notes.Step) error {
	if p.A == p.B {
		links, _, err := p.A.Monitor.Links(ctx, netip.Addr{})
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Loopback {
				lo := notes.Device{Name: l.Name}
				p.Least(notes.All, p.A.Place, lo, driver.BothAtLeast, driver.BothAtLeast)
				before = append(before, notes.DeviceAt(p.A.Place, lo))
			}
		}
		p.Notes.Draw(append(before, behind...)...)
		return nil
	}
	out, in, err := p.underlay(ctx)
	if err != nil {
		return err
	}
	p.Least(notes.All, p.A.Place, out, driver.ForwardAtLeast, driver.ReverseAtLeast)
	p.Least(notes.All, p.B.Place, in, driver.ReverseAtLeast, driver.ForwardAtLeast)
	p.Notes.Draw(append(append(before, notes.DeviceAt(p.A.Place, out), notes.DeviceAt(p.B.Place, in)), behind...)...)
	return nil
}

// Least declares what a device must at least send and receive of the traffic of a
// pair, or of All.
func (p *Path) Least(pair int, at notes.Place, dev notes.Device, tx, rx driver.Expect) {
	p.Notes.Link(at, dev)
	p.Notes.Must(
		driver.Rule{Counter: notes.Counter(at.At, dev.Name, "tx_bytes"), Expect: tx, Pair: pair},
		driver.Rule{Counter: notes.Counter(at.At, dev.Name, "rx_bytes"), Expect: rx, Pair: pair})
}

// underlay finds the device of each host that leads to the other: by the routing
// table, and on the server's side by the address that is dialled where the host
// has it itself.
func (p *Path) underlay(ctx context.Context) (a, b notes.Device, err error) {
	from, err := p.A.Toward(ctx, p.B.Address)
	if err != nil {
		return a, b, err
	}
	to, err := LinkWith(ctx, p.B.Monitor, p.B.Address)
	if err != nil {
		to, err = p.B.Toward(ctx, p.A.Address)
	}
	return notes.Device{Name: from.Name}, notes.Device{Name: to.Name}, err
}

// Attachment is the far side of a sandbox's device, on its host.
type Attachment struct {
	Veth, Bridge notes.Device
	Found        bool // else the sandbox hangs on something else, such as an overlay's own namespace
}

// Carries declares that a sandbox's own device, and its veth on the host where it
// has one, carry the pair's traffic and nothing else. Of one that is relayed only a least
// is declared.
func (p *Path) Carries(ctx context.Context, e *Endpoint, pair int, relayed bool) (Attachment, error) {
	eth := notes.Device{Name: e.Link.Name}
	forward := notes.Direction(e.Client)
	links, _, err := e.Host.Monitor.Links(ctx, netip.Addr{})
	if err != nil {
		return Attachment{}, err
	}
	var at Attachment
	for _, l := range links {
		if l.Kind == "veth" && e.Link.Kind == "veth" && l.Index == e.Link.Peer && l.Peer == e.Link.Index {
			at.Veth, at.Found = notes.Device{Name: l.Name, Role: e.Name + ".veth"}, true
			for _, m := range links {
				if l.Master != 0 && m.Index == l.Master {
					at.Bridge = notes.Device{Name: m.Name}
				}
			}
		}
	}
	if relayed {
		// The relay packs anew what it passes on: only the payload is known.
		p.Least(pair, e.Place, eth, driver.ReverseAtLeast, driver.ForwardAtLeast)
		return at, nil
	}
	p.Notes.Carries(pair, e.Place, eth, forward)
	if at.Found {
		p.Notes.Carries(pair, e.Host.Place, at.Veth, !forward)
	}
	return at, nil
}

// Outward gives the steps of a sandbox towards its host behind that of its process, from
// the inside out.
func (e *Endpoint) Outward(process notes.Step, at Attachment) []notes.Step {
	steps := []notes.Step{process, notes.Own(notes.DeviceAt(e.Place, notes.Device{Name: e.Link.Name}))}
	if at.Found {
		steps = append(steps, notes.Own(notes.DeviceAt(e.Host.Place, at.Veth)))
	}
	if at.Bridge.Name != "" {
		steps = append(steps, notes.DeviceAt(e.Host.Place, at.Bridge))
	}
	return steps
}

// Leaves declares that the traffic of a sandbox also leaves its host, by which
// of its devices only the network's driver knows: what all of them together send
// must be at least that.
func (p *Path) Leaves(h *Host, e driver.Expect) {
	p.Notes.Watch(h.watchSent)
	p.Notes.Must(driver.Rule{Counter: h.sent(), Expect: e})
}
