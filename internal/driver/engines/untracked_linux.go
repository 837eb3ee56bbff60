package engines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/engines/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/unit"
)

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
	p.leftOut(partConntrack, "%s with notrack on host %s, before connection tracking", unit.Count(len(rules), "rule", "rules"), s.At)
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
	filters, err := ns.Rules().Filters()
	return !slices.ContainsFunc(filters, func(f linuxnet.Filter) bool {
		return f.Family == "ip" && f.Table == "nat" && (f.Chain != "" || f.All > 0)
	}), err
}
