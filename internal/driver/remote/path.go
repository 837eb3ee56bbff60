package remote

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/result"
)

// Endpoint is one end of a path: a sandbox with its own network and an agent that reads it,
// or a process in the host network.
type Endpoint struct {
	pathspec.Place
	Name     string // client, server2: unique on its host
	Client   bool
	Host     *Host
	Launcher transport.Launcher
	Agent    *agent.Client
	// Sandboxed means that the endpoint has its own network; the following fields are then
	// set.
	Sandboxed bool
	Addr      netip.Addr
	Link      wire.Link // the device with Addr
}

// StartAgent starts an agent in the sandbox of the endpoint's Launcher.
func (e *Endpoint) StartAgent(ctx context.Context, run string) error {
	a, err := agent.Start(ctx, e.Launcher, run, e.At)
	if err != nil {
		return err
	}
	e.Agent, e.Stack, e.Sandboxed = a, &Stack{a}, true
	return nil
}

// FindLink finds the device that has the endpoint's address.
func (e *Endpoint) FindLink(ctx context.Context, addr netip.Addr) (err error) {
	e.Addr = addr
	e.Link, err = LinkWithAddress(ctx, e.Agent, addr)
	return err
}

// Close ends the agent that StartAgent started.
func (e *Endpoint) Close() error {
	if !e.Sandboxed || e.Agent == nil {
		return nil
	}
	return e.Agent.Close()
}

// Spec returns the endpoint for a pathspec.Path.
func (e *Endpoint) Spec() pathspec.Endpoint {
	return pathspec.Endpoint{Place: e.Place, Launcher: e.Launcher}
}

// Path adds to the specification of a path between two hosts, or on one, that agents read.
type Path struct {
	Spec *pathspec.Path
	A, B *Host // of the client and the server; equal on paths within one host
	// OnlyCounted adds no rules for devices of the hosts that have counted nothing: some
	// systems do not count on every device. It is for paths that have exchanged data before
	// AddUnderlay.
	OnlyCounted bool
	exchanges   []Exchange
	foreign     atomic.Int64 // what arrived at the ports of exchanges without their token
}

// ServerAddress returns the address at which the server's host is dialled.
func (p *Path) ServerAddress(ctx context.Context) (netip.Addr, error) {
	if p.A != p.B {
		return p.B.Address, nil
	}
	return p.B.OwnAddress(ctx)
}

// AddPair adds a pair and checks its exchange. Its error is that of CheckExchange.
func (p *Path) AddPair(ctx context.Context, x Exchange) error {
	p.Spec.AddPairPorts(x.Client.Spec(), x.Server.Spec(), []netip.AddrPort{x.Listen}, []netip.AddrPort{x.Dial})
	return p.CheckExchange(ctx, x)
}

// AddUnderlay adds rules for the link between two hosts, or for loopback on one, and sets
// the steps of the path to before, the link, and behind. Both carry other traffic too, so
// the rules are lower bounds.
func (p *Path) AddUnderlay(ctx context.Context, before, behind []pathspec.Step) error {
	if p.A == p.B {
		links, _, err := p.A.Monitor.Links(ctx, netip.Addr{})
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Loopback {
				before = append(before, p.carrier(p.A, l, driver.BothAtLeast, driver.BothAtLeast))
			}
		}
		p.Spec.SetSteps(append(before, behind...)...)
		return nil
	}
	out, in, err := p.underlay(ctx)
	if err != nil {
		return err
	}
	p.Spec.CountersLate = max(countersLate(out), countersLate(in))
	before = append(before, p.carrier(p.A, out, driver.ForwardAtLeast, driver.ReverseAtLeast), p.carrier(p.B, in, driver.ReverseAtLeast, driver.ForwardAtLeast))
	p.Spec.SetSteps(append(before, behind...)...)
	return nil
}

// carrier adds the rules for a device of a host that carries the traffic, and returns its step.
func (p *Path) carrier(h *Host, l wire.Link, tx, rx driver.Expect) pathspec.Step {
	dev := pathspec.Device{Name: l.Name}
	if p.OnlyCounted && l.TxBytes == 0 && l.RxBytes == 0 {
		return pathspec.WithFacts(pathspec.DeviceStep(h.Place, dev), result.Fact{Name: "counters", Value: "none: the system counts nothing on this device"})
	}
	p.MustMoveAtLeast(pathspec.AllPairs, h.Place, dev, tx, rx)
	return pathspec.DeviceStep(h.Place, dev)
}

// MustMoveAtLeast adds lower bounds for what a device sends and receives of the traffic of
// a pair, or of AllPairs.
func (p *Path) MustMoveAtLeast(pair int, at pathspec.Place, dev pathspec.Device, tx, rx driver.Expect) {
	p.Spec.ReadDevice(at, dev)
	p.Spec.AddRules(
		driver.Rule{Counter: pathspec.CounterName(at.At, dev.Name, "tx_bytes"), Expect: tx, Pair: pair},
		driver.Rule{Counter: pathspec.CounterName(at.At, dev.Name, "rx_bytes"), Expect: rx, Pair: pair})
}

// underlay finds the device of each host that leads to the other: by the routing table and,
// on the server's side, by the dialled address if the host has it.
func (p *Path) underlay(ctx context.Context) (a, b wire.Link, err error) {
	if a, err = p.A.DeviceToward(ctx, p.B.Address); err != nil {
		return a, b, err
	}
	if b, err = LinkWithAddress(ctx, p.B.Monitor, p.B.Address); err != nil {
		b, err = p.B.DeviceToward(ctx, p.A.Address)
	}
	return a, b, err
}

// Attachment is the host side of a sandbox's device.
type Attachment struct {
	Veth, Bridge pathspec.Device
	IsVeth       bool // otherwise it is attached to something else, such as an overlay's namespace
	// Bypassed means that programs of the host may redirect packets past the veth into the sandbox, as Cilium's do: what the sandbox
	// receives then does not count as sent there.
	Bypassed bool
}

// MustCarry requires that a sandbox's device, and its veth on the host if there is one,
// carry the pair's traffic and nothing else. For relayed traffic it requires only a lower
// bound.
func (p *Path) MustCarry(ctx context.Context, e *Endpoint, pair int, relayed bool) (Attachment, error) {
	eth := pathspec.Device{Name: e.Link.Name}
	at, err := p.FindAttachment(ctx, e)
	if err != nil {
		return at, err
	}
	if relayed {
		// The relay packetises the data again, so only the payload is known.
		p.MustMoveAtLeast(pair, e.Place, eth, driver.ReverseAtLeast, driver.ForwardAtLeast)
		return at, nil
	}
	sends, receives := driver.Reverse, driver.Forward
	if e.Client {
		sends, receives = receives, sends
	}
	p.Spec.ReadDevice(e.Place, eth)
	p.Spec.AddRules(driver.Rule{Counter: eth.Counter(e.Place, "tx_bytes"), Expect: sends, Pair: pair}, driver.Rule{Counter: eth.Counter(e.Place, "rx_bytes"), Expect: receives, Pair: pair})
	if at.IsVeth {
		p.HostEndMustCarry(pair, e, at, receives, sends)
	}
	return at, nil
}

// HostEndMustCarry requires what the host's end of a sandbox's veth sends and receives of the traffic of a pair; only the second where
// it can be bypassed.
func (p *Path) HostEndMustCarry(pair int, e *Endpoint, at Attachment, tx, rx driver.Expect) {
	p.Spec.ReadDevice(e.Host.Place, at.Veth)
	if !at.Bypassed {
		p.Spec.AddRules(driver.Rule{Counter: at.Veth.Counter(e.Host.Place, "tx_bytes"), Expect: tx, Pair: pair})
	}
	p.Spec.AddRules(driver.Rule{Counter: at.Veth.Counter(e.Host.Place, "rx_bytes"), Expect: rx, Pair: pair})
}

// FindAttachment finds the host side of a sandbox's device. It is empty if the host is not read.
func (p *Path) FindAttachment(ctx context.Context, e *Endpoint) (at Attachment, err error) {
	if e.Host.Monitor == nil {
		return at, nil
	}
	links, _, err := e.Host.Monitor.Links(ctx, netip.Addr{})
	if err != nil {
		return at, err
	}
	for _, l := range links {
		if l.Kind == "veth" && e.Link.Kind == "veth" && l.Index == e.Link.Peer && l.Peer == e.Link.Index {
			at.Veth, at.IsVeth = pathspec.Device{Name: l.Name, Role: e.Name + ".veth"}, true
			at.Bypassed = slices.ContainsFunc(links, func(l wire.Link) bool { return l.Name == "cilium_host" })
			for _, m := range links {
				if l.Master != 0 && m.Index == l.Master {
					at.Bridge = pathspec.Device{Name: m.Name}
				}
			}
		}
	}
	return at, nil
}

// StepsToHost returns the steps from a sandbox's process towards its host.
func (e *Endpoint) StepsToHost(process pathspec.Step, at Attachment) []pathspec.Step {
	steps := []pathspec.Step{process, pathspec.PerPair(pathspec.DeviceStep(e.Place, pathspec.Device{Name: e.Link.Name}))}
	if at.IsVeth {
		steps = append(steps, pathspec.PerPair(pathspec.DeviceStep(e.Host.Place, at.Veth)))
	}
	if at.Bridge.Name != "" {
		steps = append(steps, pathspec.DeviceStep(e.Host.Place, at.Bridge))
	}
	return steps
}

// MustLeaveHost requires that the traffic of a sandbox also leaves its host. Only the
// network's driver knows through which device, so the rule is a lower bound for what all
// devices send.
func (p *Path) MustLeaveHost(h *Host, e driver.Expect) {
	p.Spec.AddReader(h.readSent)
	p.Spec.CountersLate = driver.CardCountersLate
	p.Spec.AddRules(driver.Rule{Counter: h.sentCounter(), Expect: e})
}
