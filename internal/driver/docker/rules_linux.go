package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// removeRules removes rules of a table of a host, and returns how many.
func (s *side) removeRules(ctx context.Context, table string, pick func(r natRule, spec []string) bool) (n int, err error) {
	text, err := s.save(ctx, table)
	if err != nil {
		return 0, err
	}
	specs, err := selectRules(text, pick)
	if err != nil {
		return 0, fmt.Errorf("read the table %s of host %s: %w", table, s.At, err)
	}
	for _, spec := range specs {
		if _, err := iptables(ctx, s.ns, append([]string{"iptables", "-w", "-t", table, "-D"}, spec[1:]...)...); err != nil {
			return 0, fmt.Errorf("remove a rule from the table %s of host %s: %w", table, s.At, err)
		}
	}
	return len(specs), nil
}

// withoutDNAT removes the rules of a host's published ports. The client then dials the
// containers' own addresses, over a route to their host.
func (p *path) withoutDNAT(ctx context.Context, s *side, servers []*bridged) error {
	var ports []publishedPort
	for _, b := range servers {
		ports = append(ports, b.publishedPort())
	}
	n, err := s.removeRules(ctx, "nat", func(r natRule, _ []string) bool {
		return slices.ContainsFunc(ports, func(w publishedPort) bool { return len(published([]natRule{r}, w.port, w.to)) > 0 })
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
	p.leftOut(partDNAT, "%d rules removed from table nat of host %s; dialled at %s", n, s.At, ports[0].to)
	return p.check(func() error {
		rules, err := s.nat(context.Background())
		for _, w := range ports {
			if found := published(rules, w.port, w.to); len(found) > 0 {
				return fmt.Errorf("the engine has put back the DNAT rule of port %d of host %s", w.port, s.At)
			}
		}
		return err
	})
}

// noneToLeaveOut returns the error that an engine has written no such rule.
func (p *path) noneToLeaveOut(part string, s *side) error {
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("there is no %s to leave out: iptables-save shows no such rule in table nat of host %s", part, s.At)}
}

// allowDirect removes the rules with which engines from 28 on drop packets to a container's own
// address before they are tracked.
func (s *side) allowDirect(ctx context.Context, ports []publishedPort) error {
	filters, err := s.ns.Filters()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(filters, func(f linuxnet.Filter) bool { return f.Family == "ip" && f.Table == "raw" && f.All > 0 }) {
		return nil // asking for its rules would create it
	}
	_, err = s.removeRules(ctx, "raw", func(r natRule, spec []string) bool {
		i := slices.Index(spec, "-d")
		return r.Target == "DROP" && i > 0 && i+1 < len(spec) && slices.ContainsFunc(ports, func(w publishedPort) bool { return spec[i+1] == netip.PrefixFrom(w.to, w.to.BitLen()).String() })
	})
	return err
}

// withoutMasquerade removes the masquerade rule of a host's default bridge. The other host then
// has a route to its containers.
func (p *path) withoutMasquerade(ctx context.Context, s, other *side) error {
	n, err := s.removeRules(ctx, "nat", func(r natRule, _ []string) bool { return len(masquerading([]natRule{r}, docker0)) > 0 })
	if err != nil {
		return err
	}
	if n == 0 {
		return p.noneToLeaveOut(partMasquerade, s)
	}
	p.leftOut(partMasquerade, "%d rule removed from table nat of host %s", n, s.At)
	if err := other.ns.Route(p.lab.Addresses(s.bridgeNet(), 0)[0].Masked(), s.host.Addr[0], ""); err != nil {
		return err
	}
	return p.check(func() error {
		rules, err := s.nat(context.Background())
		if len(masquerading(rules, docker0)) > 0 {
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

// The rule that bypasses the engine's chains, as iptables-save prints it.
const acceptAll = "-A FORWARD -j ACCEPT"

// withoutChains bypasses the engine's chains of a host, by a rule before them that accepts all that
// is forwarded. That rule must see all of the traffic, and every other rule of FORWARD none.
func (p *path) withoutChains(ctx context.Context, s *side) error {
	if !p.order.Without(partChains) {
		return nil
	}
	if _, err := iptables(ctx, s.ns, "iptables", "-w", "-I", "FORWARD", "1", "-j", "ACCEPT"); err != nil {
		return fmt.Errorf("bypass the engine's chains on host %s: %w", s.At, err)
	}
	accepted := pathspec.CounterName(s.At, "FORWARD:accept", "bytes")
	others := pathspec.CounterName(s.At, "FORWARD:engine_chains", "packets")
	read := func(ctx context.Context, into driver.Counters) error {
		text, err := s.save(ctx, "filter")
		if err != nil {
			return err
		}
		into[accepted], into[others], err = forwarded(text)
		return err
	}
	p.AddReader(read)
	p.AddRules(driver.Rule{Counter: accepted, Expect: driver.Both}, driver.Rule{Counter: others, Expect: driver.NoMatch})
	p.leftOut(partChains, "the first rule of FORWARD on host %s accepts all packets", s.At)
	return read(ctx, driver.Counters{})
}

// forwarded returns the bytes that the rule acceptAll has matched, and the packets that the other
// rules of FORWARD have, from the output of iptables-save -c.
func forwarded(text string) (accepted, others uint64, err error) {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "[") {
			continue
		}
		r, err := parseRule(line)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case r.Chain != "FORWARD":
		case strings.HasSuffix(line, "] "+acceptAll) && !found:
			found, accepted = true, r.Bytes
		default:
			others += r.Packets
		}
	}
	if !found {
		return 0, 0, errors.New("the rule that bypasses the engine's chains is gone from FORWARD")
	}
	return accepted, others, nil
}
