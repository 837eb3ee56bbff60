package netavark

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/firewall"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// path is a mode that is set up.
type path struct {
	labdriver.Path
	in installed
}

// side is a host with the endpoints of one role, which are processes of the host unless netavark connects them.
type side struct {
	pathspec.Place
	host    *lab.Host
	net     lab.Net
	role    string // client or server
	inside  bool   // the endpoints are in sandboxes
	forward pathspec.Direction
	ends    []end
}

// end is an endpoint.
type end struct {
	pathspec.Place
	ns      *linuxnet.NS
	address netip.Addr
	port    pathspec.Device // of the bridge; without a name for a process of the host
}

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("netavark", o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	if o.Lab.Link != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: "netavark chooses hardware addresses at random, so two machines cannot build halves that fit; measure it in a lab on one machine"}
	}
	in, err := find(ctx, o.Mode)
	if err != nil {
		return nil, err
	}
	base, err := labdriver.Up(o, "netavark")
	if err != nil {
		return nil, err
	}
	p := &path{Path: base, in: in}
	p.AddFact("netavark", in.version+" ("+in.path+")")
	if err := p.build(ctx, row.Build); err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{FlushConnections: p.flushConnections}, p), nil
}

// build connects the endpoints, and declares what the path must show.
func (p *path) build(ctx context.Context, in sandboxed) error {
	a := &side{Place: labdriver.NamespacePlace(p.OnLab.A.NS, "a", "a"), host: p.OnLab.A, net: lab.NetA, role: "client", inside: in.client, forward: pathspec.Receives}
	b := &side{Place: labdriver.NamespacePlace(p.OnLab.B.NS, "b", "b"), host: p.OnLab.B, net: lab.NetB, role: "server", inside: in.server, forward: pathspec.Transmits}
	eth, lo := pathspec.Device{Name: lab.Underlay}, pathspec.Device{Name: "lo"}
	p.MustCarry(pathspec.AllPairs, a.Place, eth, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, b.Place, eth, pathspec.Receives)
	p.MustBeIdle(a.Place, lo)
	p.MustBeIdle(b.Place, lo)
	err := p.ForEachPair(func(pair int) error {
		for _, s := range []*side{a, b} {
			if err := p.addEnd(ctx, s, pair); err != nil {
				return err
			}
		}
		client, server := a.ends[pair-1], b.ends[pair-1]
		p.AddPairNamespaces(client.ns, server.ns)
		p.AddPairPorts(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns),
			[]netip.AddrPort{netip.AddrPortFrom(server.address, pathspec.FirstPort)}, []netip.AddrPort{netip.AddrPortFrom(b.host.Addr[0], hostPort(pair))})
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(p.watch(ctx, a), p.watch(ctx, b)); err != nil {
		return err
	}
	underlay := []pathspec.Step{pathspec.DeviceStep(a.Place, eth), pathspec.DeviceStep(b.Place, eth)}
	p.SetSteps(slices.Concat(a.steps("masquerade", firewall.MasqueradeCounter(a.At)), underlay, pathspec.Reversed(b.steps("DNAT", firewall.DNATCounter(b.At, hostPort(1)))))...)
	return nil
}

// steps are those from the first endpoint of a side to the underlay, with the rule that translates.
func (s *side) steps(rule, counter string) []pathspec.Step {
	first := s.ends[0]
	if !s.inside {
		return []pathspec.Step{pathspec.ProcessStep(first.Place)}
	}
	of, _ := result.Of(counter)
	nat := pathspec.ProvenBy(pathspec.RuleStep(s.Place, "nat", rule), of)
	if s.role == "server" {
		nat = pathspec.PerPair(nat)
	}
	return []pathspec.Step{pathspec.ProcessStep(first.Place), pathspec.PerPair(pathspec.DeviceStep(first.Place, pathspec.Device{Name: lab.Underlay})),
		pathspec.PerPair(pathspec.DeviceStep(s.Place, first.port)), pathspec.DeviceStep(s.Place, pathspec.Device{Name: bridge}), nat}
}

// hostPort is the port of the server's host that is published for a pair.
func hostPort(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) } //nolint:gosec // up to MaxPairs

// addEnd adds the endpoint of a side in a pair.
func (p *path) addEnd(ctx context.Context, s *side, pair int) error {
	e := end{Place: s.Place, ns: s.host.NS, address: s.host.Addr[0]}
	if s.inside {
		var err error
		if e, err = p.attach(ctx, s, pair); err != nil {
			return err
		}
		p.MustCarry(pair, e.Place, pathspec.Device{Name: lab.Underlay}, !s.forward)
		p.MustCarry(pair, s.Place, e.port, s.forward)
	}
	s.ends = append(s.ends, e)
	return nil
}

// attach creates the sandbox of a pair and lets netavark connect it.
func (p *path) attach(ctx context.Context, s *side, pair int) (end, error) {
	name := lab.PairName(s.role, pair)
	ns, err := p.Sandbox(s.At, name)
	if err != nil {
		return end{}, err
	}
	e := end{Place: labdriver.NamespacePlace(ns, s.At, s.At+"/"+name), ns: ns, address: p.OnLab.Addresses(s.net, 1+pair)[0].Addr()}
	a := attachment{run: p.OnLab.Spec.Claim.ID, name: name, sandbox: ns, gateway: p.OnLab.Addresses(s.net, 1)[0], address: e.address, mtu: p.OnLab.Spec.MTU}
	if s.role == "server" {
		a.published = []linuxnet.Published{published(e, pair)}
	}
	if err := p.in.setUp(ctx, s.host, a); err != nil {
		return e, err
	}
	port, err := ns.Links().PeerIn(s.host.NS, lab.Underlay)
	if err != nil {
		return e, fmt.Errorf("find what netavark connected %s with: %w", e.At, err)
	}
	e.port = pathspec.Device{Name: port, Role: name + ".veth"}
	for _, device := range []string{port, bridge} {
		if err := s.host.NS.Tuning().Segmentation(device, p.OnLab.Spec.Offload); err != nil {
			return e, err
		}
	}
	return e, ns.Tuning().Segmentation(lab.Underlay, p.OnLab.Spec.Offload)
}

func published(e end, pair int) linuxnet.Published {
	return linuxnet.Published{Port: hostPort(pair), To: netip.AddrPortFrom(e.address, pathspec.FirstPort)}
}

// watch requires that the traffic of a side crosses its bridge and that netavark's rules translate each
// connection.
func (p *path) watch(ctx context.Context, s *side) error {
	if !s.inside {
		return nil
	}
	p.MustCarry(pathspec.AllPairs, s.Place, pathspec.Device{Name: bridge}, s.forward)
	w := firewall.Netavark{Host: s.At, NS: s.host.NS, Table: firewall.CountingTable(p.OnLab.Spec.Claim.ID)}
	for i, e := range s.ends {
		if s.role == "server" {
			w.Ports = append(w.Ports, published(e, i+1))
			p.AddRules(driver.Rule{Counter: firewall.DNATCounter(s.At, hostPort(i+1)), Expect: driver.Connections, Pair: i + 1})
		} else {
			w.Sources = append(w.Sources, e.address)
		}
	}
	if len(w.Sources) > 0 {
		p.AddRules(driver.Rule{Counter: firewall.MasqueradeCounter(s.At), Expect: driver.Connections})
	}
	if err := w.Count(); err != nil {
		return err
	}
	return p.WatchRules(ctx, w.Read)
}

// flushConnections removes the tracked connections of the hosts.
func (p *path) flushConnections(context.Context) error {
	return errors.Join(p.OnLab.A.NS.Rules().FlushConntrack(), p.OnLab.B.NS.Rules().FlushConntrack())
}
