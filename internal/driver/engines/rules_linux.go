package engines

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/unit"
)

// removeRules removes rules of IPv4 of a table of a host, and returns how many.
func (s *side) removeRules(ctx context.Context, table string, pick func(firewallRule) bool) (n int, err error) {
	commands, err := s.removals(ctx, table, pick)
	if err != nil {
		return 0, err
	}
	for _, c := range commands {
		if _, err := runIn(ctx, s.ns, c...); err != nil {
			return 0, fmt.Errorf("remove a rule from %s of host %s: %w", s.tableOf(ipv4, table), s.At, err)
		}
	}
	return len(commands), nil
}

// removals returns the commands that remove the chosen rules of a table.
func (s *side) removals(ctx context.Context, table string, pick func(firewallRule) bool) (commands [][]string, err error) {
	if s.nftables() {
		rules, err := s.rules(ctx, ipv4, table)
		for _, r := range rules {
			if pick(r) {
				commands = append(commands, []string{"nft", "delete", "rule", string(ipv4), bridgesTable, r.Chain, "handle", strconv.FormatUint(r.Handle, 10)})
			}
		}
		return commands, err
	}
	text, err := s.save(ctx, ipv4, table)
	if err != nil {
		return nil, err
	}
	specs, err := selectRules(text, pick)
	if err != nil {
		return nil, fmt.Errorf("read the table %s of host %s: %w", table, s.At, err)
	}
	for _, spec := range specs {
		commands = append(commands, append([]string{"iptables", "-w", "-t", table, "-D"}, spec[1:]...))
	}
	return commands, nil
}

// withoutDNAT removes the rules of a host's published ports. The client then dials the
// containers' own addresses, over a route to their host.
func (p *path) withoutDNAT(ctx context.Context, s *side, servers []*bridged) error {
	var ports []publishedPort
	for _, b := range servers {
		ports = append(ports, b.publishedPort())
	}
	n, err := s.removeRules(ctx, "nat", func(r firewallRule) bool {
		return slices.ContainsFunc(ports, func(w publishedPort) bool { return len(published([]firewallRule{r}, w.port, w.to)) > 0 })
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
	p.leftOut(partDNAT, "%s removed from %s of host %s; dialled at %s", unit.Count(n, "rule", "rules"), s.tableOf(ipv4, "nat"), s.At, ports[0].to)
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
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("there is no %s to leave out: %s of host %s has no such rule", part, s.tableOf(ipv4, "nat"), s.At)}
}

// allowDirect removes the rules with which engines from 28 on drop packets to a container's own
// address before they are tracked.
func (s *side) allowDirect(ctx context.Context, ports []publishedPort) error {
	has, err := s.hasRaw(ipv4)
	if err != nil || !has {
		return err
	}
	_, err = s.removeRules(ctx, "raw", func(r firewallRule) bool {
		return r.Target == "DROP" && slices.ContainsFunc(ports, func(w publishedPort) bool { return r.Dest == w.to })
	})
	return err
}

// withoutMasquerade removes the masquerade rule of a host's default bridge. The other host then
// has a route to its containers.
func (p *path) withoutMasquerade(ctx context.Context, s, other *side) error {
	n, err := s.removeRules(ctx, "nat", func(r firewallRule) bool { return len(masquerading([]firewallRule{r}, docker0)) > 0 })
	if err != nil {
		return err
	}
	if n == 0 {
		return p.noneToLeaveOut(partMasquerade, s)
	}
	p.leftOut(partMasquerade, "%d rule removed from %s of host %s", n, s.tableOf(ipv4, "nat"), s.At)
	if err := other.ns.Routes().Route(p.lab.Addresses(s.bridgeNet(), 0)[0].Masked(), s.host.Addr[0], ""); err != nil {
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

// nftForward is the chain of the nftables backend for all forwarded packets. Those that it jumps to
// have counters, its own rules have none.
const nftForward = "filter-FORWARD"

// withoutChains bypasses the engine's chains of a host, by a rule before them that accepts all that
// is forwarded. That rule must see all of the traffic, and every other rule of FORWARD none.
func (p *path) withoutChains(ctx context.Context, s *side) error {
	if !p.order.Without(partChains) {
		return nil
	}
	add := []string{"iptables", "-w", "-I", "FORWARD", "1", "-j", "ACCEPT"}
	chain := "FORWARD"
	if s.nftables() {
		chain = nftForward
		add = []string{"nft", "insert", "rule", string(ipv4), bridgesTable, chain, "counter", "accept"}
	}
	if _, err := runIn(ctx, s.ns, add...); err != nil {
		return fmt.Errorf("bypass the engine's chains on host %s: %w", s.At, err)
	}
	accepted := pathspec.CounterName(s.At, "FORWARD:accept", "bytes")
	others := pathspec.CounterName(s.At, "FORWARD:engine_chains", "packets")
	read := func(ctx context.Context, into driver.Counters) error {
		rules, err := s.rules(ctx, ipv4, "filter")
		if err != nil {
			return err
		}
		into[accepted], into[others], err = forwarded(rules, chain)
		return err
	}
	p.AddReader(read)
	p.AddRules(driver.Rule{Counter: accepted, Expect: driver.Both}, driver.Rule{Counter: others, Expect: driver.NoMatch})
	p.leftOut(partChains, "the first rule of %s on host %s accepts all packets", chain, s.At)
	return read(ctx, driver.Counters{})
}

// forwarded returns the bytes that the rule of withoutChains has matched, and the packets that the
// other rules of its chain have matched; for nftables those of the chains that it jumps to.
func forwarded(rules []firewallRule, chain string) (accepted, others uint64, err error) {
	found := false
	for _, r := range rules {
		switch {
		case r.Chain == chain && !found && r.Bare && r.Target == "ACCEPT":
			found, accepted = true, r.Bytes
		case r.Chain == chain || chain == nftForward:
			others += r.Packets
		}
	}
	if !found {
		return 0, 0, fmt.Errorf("the rule that bypasses the engine's chains is gone from %s", chain)
	}
	return accepted, others, nil
}
