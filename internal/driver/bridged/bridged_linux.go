// Package bridged builds paths whose endpoints are processes of a host, or in sandboxes that an installed program connects with a bridge of
// their host. The program's rules of nftables masquerade the clients, and publish a port of each server.
package bridged

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

// Program is what connects sandboxes with their host.
type Program struct {
	Bridge string // its bridge, on each host
	Table  string // of its rules, with the family: "inet netavark"
	// Connect creates the sandbox of a pair and connects it. The endpoint has an address of Address, and the server's Published is reached
	// from outside.
	Connect func(ctx context.Context, s *Side, pair int) (*linuxnet.NS, error)
}

// Path is a mode that is set up.
type Path struct {
	labdriver.Path
	Program
}

// Side is a host with the endpoints of one role, which are processes of the host unless they are inside.
type Side struct {
	pathspec.Place
	Host    *lab.Host
	Role    string // client or server
	inside  bool
	net     lab.Net
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

// Inside says which endpoints are in sandboxes.
type Inside struct{ Client, Server bool }

// Sides returns the sides of the hosts: processes, so far.
func (p *Path) Sides() (client, server *Side) {
	return &Side{Place: labdriver.NamespacePlace(p.OnLab.A.NS, "a", "a"), Host: p.OnLab.A, net: lab.NetA, Role: "client", forward: pathspec.Receives},
		&Side{Place: labdriver.NamespacePlace(p.OnLab.B.NS, "b", "b"), Host: p.OnLab.B, net: lab.NetB, Role: "server", forward: pathspec.Transmits}
}

// Build connects the endpoints, and declares what the path must show.
func (p *Path) Build(ctx context.Context, inside Inside) error {
	a, b := p.Sides()
	a.inside, b.inside = inside.Client, inside.Server
	eth, lo := pathspec.Device{Name: lab.Underlay}, pathspec.Device{Name: "lo"}
	p.MustCarry(pathspec.AllPairs, a.Place, eth, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, b.Place, eth, pathspec.Receives)
	p.MustBeIdle(a.Place, lo)
	p.MustBeIdle(b.Place, lo)
	err := p.ForEachPair(func(pair int) error {
		for _, s := range []*Side{a, b} {
			if err := p.addEnd(ctx, s, pair); err != nil {
				return err
			}
		}
		client, server := a.ends[pair-1], b.ends[pair-1]
		p.AddPairNamespaces(client.ns, server.ns)
		p.AddPairPorts(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns),
			[]netip.AddrPort{netip.AddrPortFrom(server.address, pathspec.FirstPort)}, []netip.AddrPort{netip.AddrPortFrom(b.Host.Addr[0], hostPort(pair))})
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(p.watch(ctx, a), p.watch(ctx, b)); err != nil {
		return err
	}
	underlay := []pathspec.Step{pathspec.DeviceStep(a.Place, eth), pathspec.DeviceStep(b.Place, eth)}
	p.SetSteps(slices.Concat(p.steps(a, "masquerade", firewall.MasqueradeCounter(a.At)), underlay, pathspec.Reversed(p.steps(b, "DNAT", firewall.DNATCounter(b.At, hostPort(1)))))...)
	return nil
}

// steps are those from the first endpoint of a side to the underlay, with the rule that translates.
func (p *Path) steps(s *Side, rule, counter string) []pathspec.Step {
	first := s.ends[0]
	if !s.inside {
		return []pathspec.Step{pathspec.ProcessStep(first.Place)}
	}
	of, _ := result.Of(counter)
	nat := pathspec.ProvenBy(pathspec.RuleStep(s.Place, "nat", rule), of)
	if s.Role == "server" {
		nat = pathspec.PerPair(nat)
	}
	return []pathspec.Step{pathspec.ProcessStep(first.Place), pathspec.PerPair(pathspec.DeviceStep(first.Place, pathspec.Device{Name: lab.Underlay})),
		pathspec.PerPair(pathspec.DeviceStep(s.Place, first.port)), pathspec.DeviceStep(s.Place, pathspec.Device{Name: p.Bridge}), nat}
}

// hostPort is the port of the server's host that is published for a pair.
func hostPort(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) } //nolint:gosec // up to MaxPairs

// Gateway is the address of the bridge of a side, with its subnet.
func (p *Path) Gateway(s *Side) netip.Prefix { return p.OnLab.Addresses(s.net, 1)[0] }

// Address is that of the endpoint of a pair in its sandbox, with its subnet.
func (p *Path) Address(s *Side, pair int) netip.Prefix { return p.OnLab.Addresses(s.net, 1+pair)[0] }

// Published is the port of the server's host that leads to the server of a pair.
func (p *Path) Published(s *Side, pair int) linuxnet.Published {
	return linuxnet.Published{Port: hostPort(pair), To: netip.AddrPortFrom(p.Address(s, pair).Addr(), pathspec.FirstPort)}
}

// addEnd adds the endpoint of a side in a pair.
func (p *Path) addEnd(ctx context.Context, s *Side, pair int) error {
	e := end{Place: s.Place, ns: s.Host.NS, address: s.Host.Addr[0]}
	if s.inside {
		var err error
		if e, err = p.connect(ctx, s, pair); err != nil {
			return err
		}
		p.MustCarry(pair, e.Place, pathspec.Device{Name: lab.Underlay}, !s.forward)
		p.MustCarry(pair, s.Place, e.port, s.forward)
	}
	s.ends = append(s.ends, e)
	return nil
}

// connect lets the program create and connect the sandbox of a pair.
func (p *Path) connect(ctx context.Context, s *Side, pair int) (end, error) {
	name := lab.PairName(s.Role, pair)
	ns, err := p.Connect(ctx, s, pair)
	if err != nil {
		return end{}, err
	}
	e := end{Place: labdriver.NamespacePlace(ns, s.At, s.At+"/"+name), ns: ns, address: p.Address(s, pair).Addr()}
	port, err := ns.Links().PeerIn(s.Host.NS, lab.Underlay)
	if err != nil {
		return e, fmt.Errorf("find what %s is connected with: %w", e.At, err)
	}
	e.port = pathspec.Device{Name: port, Role: name + ".veth"}
	for _, device := range []string{port, p.Bridge} {
		if err := s.Host.NS.Tuning().Segmentation(device, p.OnLab.Spec.Offload); err != nil {
			return e, err
		}
	}
	return e, ns.Tuning().Segmentation(lab.Underlay, p.OnLab.Spec.Offload)
}

// watch requires that the traffic of a side crosses its bridge and that the program's rules translate each connection.
func (p *Path) watch(ctx context.Context, s *Side) error {
	if !s.inside {
		return nil
	}
	p.MustCarry(pathspec.AllPairs, s.Place, pathspec.Device{Name: p.Bridge}, s.forward)
	w := firewall.Translated{Host: s.At, By: p.Table, NS: s.Host.NS, Table: firewall.CountingTable(p.OnLab.Spec.Claim.ID)}
	for i, e := range s.ends {
		if s.Role == "server" {
			w.Ports = append(w.Ports, p.Published(s, i+1))
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

// FlushConnections removes the tracked connections of the hosts.
func (p *Path) FlushConnections(context.Context) error {
	return errors.Join(p.OnLab.A.NS.Rules().FlushConntrack(), p.OnLab.B.NS.Rules().FlushConntrack())
}
