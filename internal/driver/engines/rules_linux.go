package engines

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/engines/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/unit"
)

// withoutDNAT removes the rules of a host's published ports. The client then dials the
// containers' own addresses, over a route to their host.
func (p *path) withoutDNAT(ctx context.Context, s *side, servers []*box) error {
	var ports []publishedPort
	for _, b := range servers {
		ports = append(ports, b.publishedPort())
	}
	n, err := s.firewall().Remove(ctx, "nat", func(r firewall.Rule) bool {
		return slices.ContainsFunc(ports, func(w publishedPort) bool { return len(firewall.Published([]firewall.Rule{r}, w.port, w.to)) > 0 })
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return p.noneToLeaveOut(partDNAT, s)
	}
	if err := s.allowDirect(ctx, ports); err != nil {
		return err
	}
	p.leftOut(partDNAT, "%s removed from %s of host %s; dialled at %s", unit.Count(n, "rule", "rules"), s.firewall().Table(firewall.IPv4, "nat"), s.At, ports[0].to)
	return p.check(func() error {
		rules, err := s.firewall().Rules(context.Background(), firewall.IPv4, "nat")
		for _, w := range ports {
			if found := firewall.Published(rules, w.port, w.to); len(found) > 0 {
				return fmt.Errorf("the engine has put back the DNAT rule of port %d of host %s", w.port, s.At)
			}
		}
		return err
	})
}

// noneToLeaveOut returns the error that an engine has written no such rule.
func (p *path) noneToLeaveOut(part string, s *side) error {
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("there is no %s to leave out: %s of host %s has no such rule", part, s.firewall().Table(firewall.IPv4, "nat"), s.At)}
}

// allowDirect removes the rules with which engines from 28 on drop packets to a container's own
// address before they are tracked.
func (s *side) allowDirect(ctx context.Context, ports []publishedPort) error {
	has, err := s.firewall().HasRaw(firewall.IPv4)
	if err != nil || !has {
		return err
	}
	_, err = s.firewall().Remove(ctx, "raw", func(r firewall.Rule) bool {
		return r.Target == "DROP" && slices.ContainsFunc(ports, func(w publishedPort) bool { return r.Dest == w.to })
	})
	return err
}

// withoutMasquerade removes the masquerade rule of a host's default bridge. The other host then
// has a route to its containers.
func (p *path) withoutMasquerade(ctx context.Context, s, other *side) error {
	n, err := s.firewall().Remove(ctx, "nat", func(r firewall.Rule) bool { return len(firewall.Masquerading([]firewall.Rule{r}, docker0)) > 0 })
	if err != nil {
		return err
	}
	if n == 0 {
		return p.noneToLeaveOut(partMasquerade, s)
	}
	p.leftOut(partMasquerade, "%d rule removed from %s of host %s", n, s.firewall().Table(firewall.IPv4, "nat"), s.At)
	if err := other.ns.Routes().Route(p.lab.Addresses(s.bridgeNet(), 0)[0].Masked(), s.host.Addr[0], ""); err != nil {
		return err
	}
	return p.check(func() error {
		rules, err := s.firewall().Rules(context.Background(), firewall.IPv4, "nat")
		if len(firewall.Masquerading(rules, docker0)) > 0 {
			return fmt.Errorf("the engine has put back the masquerade rule of %s of host %s", docker0, s.At)
		}
		return err
	})
}

// bridgeNet returns the network of a host's default bridge.
func (s *side) bridgeNet() lab.Net {
	if s.At == "a" {
		return lab.NetA
	}
	return lab.NetB
}

// withoutChains bypasses the engine's chains of a host, by a rule before them that accepts all that
// is forwarded. That rule must see all of the traffic, and every other rule of FORWARD none.
func (p *path) withoutChains(ctx context.Context, s *side) error {
	if !p.order.Without(partChains) {
		return nil
	}
	chain, err := s.firewall().Bypass(ctx)
	if err != nil {
		return err
	}
	accepted := pathspec.CounterName(s.At, "FORWARD:accept", "bytes")
	others := pathspec.CounterName(s.At, "FORWARD:engine_chains", "packets")
	read := func(ctx context.Context, into driver.Counters) (err error) {
		into[accepted], into[others], err = s.firewall().Bypassed(ctx)
		return err
	}
	p.leftOut(partChains, "the first rule of %s on host %s accepts all packets", chain, s.At)
	return p.watch(ctx, read, driver.Rule{Counter: accepted, Expect: driver.Both}, driver.Rule{Counter: others, Expect: driver.NoMatch})
}
