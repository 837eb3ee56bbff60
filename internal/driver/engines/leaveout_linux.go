package engines

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/unit"
)

// checkParts rejects variants that leave out what cannot be left out alone, or here.
func checkParts(m mode, o driver.Order) error {
	unsupported := func(format string, args ...any) error {
		return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	for _, r := range m.needs {
		if r.once != "" && !o.Without(r.once) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(r.with), o.Without)
		if o.Without(r.part) && len(left) > 0 {
			return unsupported("%s: off requires %s: off, because %s", r.part, strings.Join(left, ": off and "), r.why)
		}
	}
	if !o.Without(partCgroup) {
		return nil
	}
	if o.Limits != (study.Limits{}) {
		return unsupported("%s: off requires no limits, because control groups apply them", partCgroup)
	}
	one, err := private.OneGroup()
	if err == nil && one {
		err = unsupported("there is no %s to leave out: with version 2 of control groups, agents are in the run's own group in every mode", partCgroup)
	}
	return err
}

// omissions takes parts off a path, and proves that they are off.
type omissions struct {
	*pathspec.Path
	order driver.Order
}

// note adds to the fact on a part that was left out: what was read back.
func (p *omissions) note(part, format string, args ...any) {
	p.AddToFact("without "+part, fmt.Sprintf(format, args...))
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

// conntrack exempts the path's packets on a host from connection tracking. The rules must
// see all of the traffic.
func (p *omissions) conntrack(s *side, packets ...untracked) error {
	if !p.order.Without(partConntrack) {
		return nil
	}
	counter := func(name string) string { return pathspec.CounterName(s.At, "notrack:"+name, "bytes") }
	var rules []linuxnet.Untracked
	for _, u := range packets {
		rules = append(rules, u.Untracked)
		p.AddRules(driver.Rule{Counter: counter(u.Name), Expect: u.expect})
	}
	if err := s.ns.Rules().Untrack(untrackTable, rules...); err != nil {
		return err
	}
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		counts, err := s.ns.Rules().Counts(untrackTable)
		for name, n := range counts {
			into[counter(name)] = n.Bytes
		}
		return err
	})
	p.note(partConntrack, "%s with notrack on host %s, before connection tracking", unit.Count(len(rules), "rule", "rules"), s.At)
	return nil
}

// resolver removes the rules of the engine's DNS server from the containers' namespaces.
// With them ends connection tracking there, of which nothing else makes use.
func (p *omissions) resolver(ctx context.Context, boxes []*box) error {
	if !p.order.Without(partResolver) {
		return nil
	}
	var at []string
	for _, b := range boxes {
		gone, err := resolverGone(b.ns)
		if err != nil {
			return err
		}
		if gone {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("there are no %s to leave out in container %s", partResolver, b.At)}
		}
		for _, change := range []string{"-F", "-X"} {
			if _, err := firewall.Run(ctx, b.ns, "iptables", "-w", "-t", "nat", change); err != nil {
				return fmt.Errorf("remove the rules of the engine's DNS server in container %s: %w", b.At, err)
			}
		}
		if err := b.ns.Rules().FlushConntrack(); err != nil {
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
	p.note(partResolver, "no rule in table nat and no tracked connection in %s", strings.Join(at, ", "))
	return nil
}

// checkUntracked requires that a container has no nat rules after any trial, and tracks no
// connections beyond those that it tracks now.
func (p *omissions) checkUntracked(ctx context.Context, b *box) error {
	stack := pathspec.NamespaceStack{NS: b.ns}
	start, _, err := stack.ReadTracked(ctx)
	if err != nil {
		return err
	}
	return p.Check(func() error {
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
	filters, err := ns.Rules().Filters()
	return !slices.ContainsFunc(filters, func(f linuxnet.Filter) bool {
		return f.Family == "ip" && f.Table == "nat" && (f.Chain != "" || f.All > 0)
	}), err
}

// dnat removes the rules of a host's published ports. The client then dials the
// containers' own addresses, over a route to their host.
func (p *omissions) dnat(ctx context.Context, s *side, ports []publishedPort) error {
	n, err := s.firewall().Remove(ctx, "nat", func(r firewall.Rule) bool {
		return slices.ContainsFunc(ports, func(w publishedPort) bool { return len(firewall.Published([]firewall.Rule{r}, w.port, w.to)) > 0 })
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return p.none(partDNAT, s)
	}
	if err := s.allowDirect(ctx, ports); err != nil {
		return err
	}
	p.note(partDNAT, "%s removed from %s of host %s; dialled at %s", unit.Count(n, "rule", "rules"), s.firewall().Table(firewall.IPv4, "nat"), s.At, ports[0].to)
	return p.Check(func() error {
		rules, err := s.firewall().Rules(context.Background(), firewall.IPv4, "nat")
		for _, w := range ports {
			if found := firewall.Published(rules, w.port, w.to); len(found) > 0 {
				return fmt.Errorf("the engine has put back the DNAT rule of port %d of host %s", w.port, s.At)
			}
		}
		return err
	})
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

// none returns the error that an engine has written no such rule.
func (p *omissions) none(part string, s *side) error {
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("there is no %s to leave out: %s of host %s has no such rule", part, s.firewall().Table(firewall.IPv4, "nat"), s.At)}
}

// masquerade removes the masquerade rule of a host's default bridge, which has a subnet. The other host
// then has a route to its containers.
func (p *omissions) masquerade(ctx context.Context, s, other *side, subnet netip.Prefix) error {
	n, err := s.firewall().Remove(ctx, "nat", func(r firewall.Rule) bool { return len(firewall.Masquerading([]firewall.Rule{r}, docker0)) > 0 })
	if err != nil {
		return err
	}
	if n == 0 {
		return p.none(partMasquerade, s)
	}
	p.note(partMasquerade, "%d rule removed from %s of host %s", n, s.firewall().Table(firewall.IPv4, "nat"), s.At)
	if err := other.ns.Routes().Route(subnet, s.host.Addr[0], ""); err != nil {
		return err
	}
	return p.Check(func() error {
		rules, err := s.firewall().Rules(context.Background(), firewall.IPv4, "nat")
		if len(firewall.Masquerading(rules, docker0)) > 0 {
			return fmt.Errorf("the engine has put back the masquerade rule of %s of host %s", docker0, s.At)
		}
		return err
	})
}

// chains bypasses the engine's chains of a host, by a rule before them that accepts all that
// is forwarded. That rule must see all of the traffic, and every other rule of FORWARD none.
func (p *omissions) chains(ctx context.Context, s *side) error {
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
	p.note(partChains, "the first rule of %s on host %s accepts all packets", chain, s.At)
	return p.Watch(ctx, read, driver.Rule{Counter: accepted, Expect: driver.Both}, driver.Rule{Counter: others, Expect: driver.NoMatch})
}
