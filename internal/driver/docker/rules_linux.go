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
		return r.Target == "DROP" && i > 0 && slices.ContainsFunc(ports, func(w publishedPort) bool { return spec[i+1] == netip.PrefixFrom(w.to, w.to.BitLen()).String() })
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

// untrackTable is the nftables table of the packets that connection tracking skips.
const untrackTable = "tare_notrack"

// untracked is packets of the path on a host, and the traffic that they must be.
type untracked struct {
	linuxnet.Untracked
	expect driver.Expect
}

// receives and sends are the packets that a device of a host receives, or that the host itself sends.
func receives(device string, expect driver.Expect) untracked {
	return untracked{linuxnet.Untracked{Name: device + "_in", Device: device}, expect}
}

func sends(device string, expect driver.Expect) untracked {
	return untracked{linuxnet.Untracked{Name: device + "_out", Device: device, Sent: true}, expect}
}

// withoutConntrack exempts the path's packets on a host from connection tracking. The rules must
// see all of the traffic.
func (p *path) withoutConntrack(s *side, packets ...untracked) error {
	if !p.order.Without(partConntrack) {
		return nil
	}
	counter := func(name string) string { return pathspec.CounterName(s.At, "notrack:"+name, "bytes") }
	var rules []linuxnet.Untracked
	for _, u := range packets {
		rules = append(rules, u.Untracked)
		p.AddRules(driver.Rule{Counter: counter(u.Name), Expect: u.expect})
	}
	if err := s.ns.Untrack(untrackTable, rules...); err != nil {
		return err
	}
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		counts, err := s.ns.Counts(untrackTable)
		for name, n := range counts {
			into[counter(name)] = n.Bytes
		}
		return err
	})
	p.leftOut(partConntrack, "%d rules with notrack on host %s, before connection tracking", len(rules), s.At)
	return nil
}

// withoutResolver removes the rules of the engine's DNS server from the containers' namespaces.
// With them ends connection tracking there, of which nothing else makes use.
func (p *path) withoutResolver(ctx context.Context) error {
	if !p.order.Without(partResolver) {
		return nil
	}
	var at []string
	for _, b := range p.boxes {
		gone, err := resolverGone(b.ns)
		if err != nil {
			return err
		}
		if gone {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("there are no %s to leave out in container %s", partResolver, b.At)}
		}
		for _, change := range []string{"-F", "-X"} {
			if _, err := iptables(ctx, b.ns, "iptables", "-w", "-t", "nat", change); err != nil {
				return fmt.Errorf("remove the rules of the engine's DNS server in container %s: %w", b.At, err)
			}
		}
		if err := b.ns.FlushConntrack(); err != nil {
			return err
		}
		if err := p.checkUntracked(ctx, b); err != nil {
			return err
		}
		if b.pair == 1 {
			at = append(at, b.At)
		}
	}
	slices.Sort(at)
	p.leftOut(partResolver, "no rule in table nat and no tracked connection in %s", strings.Join(at, ", "))
	return nil
}

// checkUntracked requires that a container has no nat rules after any trial, and tracks no
// connections beyond those that it tracks now.
func (p *path) checkUntracked(ctx context.Context, b *box) error {
	stack := pathspec.NamespaceStack{NS: b.ns}
	start, _, err := stack.ReadTracked(ctx)
	if err != nil {
		return err
	}
	return p.check(func() error {
		gone, err := resolverGone(b.ns)
		if err == nil && !gone {
			err = fmt.Errorf("container %s has rules in its table nat: the engine has put them back, or iptables does not remove them", b.At)
		}
		if err != nil {
			return err
		}
		now, _, err := stack.ReadTracked(context.Background())
		if err == nil && now.Count > start.Count {
			err = fmt.Errorf("container %s tracks %d connections, although it has no nat rules", b.At, now.Count)
		}
		return err
	})
}

// resolverGone reports whether a namespace has no nat rules. An empty table of nftables, or of
// legacy iptables, does not make the kernel track connections; an empty chain of nftables does.
func resolverGone(ns *linuxnet.NS) (bool, error) {
	filters, err := ns.Filters()
	return !slices.ContainsFunc(filters, func(f linuxnet.Filter) bool {
		return f.Family == "ip" && f.Table == "nat" && (f.Chain != "" || f.All > 0)
	}), err
}
