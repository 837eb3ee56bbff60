package engines

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// firewall returns where the engine of a host writes its rules.
func (s *side) firewall() firewall.Host {
	return firewall.Host{Name: s.At, NS: s.ns, Nftables: s.engine != nil && s.podman == nil && s.engine.Firewall() == study.FirewallNftables}
}

// translation is the part of a host's nat table that is verified.
type translation struct {
	side       *side
	ports      []publishedPort
	masquerade []*box // the clients whose packets are masqueraded
	// counted counts what rules without counters translate; nil if the rules have counters.
	counted *firewall.Translated
}

// publishedPort is a port of a host and the address of the container behind it.
type publishedPort struct {
	port uint16
	to   netip.Addr
}

// dnatCounter returns the name of the counter of connections that matched a published port's
// rules.
func dnatCounter(s *side, port uint16) string {
	return firewall.DNATCounter(s.At, port)
}

// masqueradeCounter returns the name of the counter of masqueraded connections from the default
// bridge.
func masqueradeCounter(s *side) string {
	if s.podman != nil {
		return firewall.MasqueradeCounter(s.At)
	}
	return pathspec.CounterName(s.At, docker0+".masquerade", "packets")
}

// watch reads the counters of the rules before and after each trial, and checks that
// the rules exist now: a missing rule means that the mode is not what it claims to be.
func (t translation) watch(ctx context.Context, p *path) error {
	if t.side.podman != nil && t.side.podman.Firewall == study.FirewallNftables {
		t.counted = t.count(firewall.CountingTable(p.lab.Spec.Claim.ID))
		if err := t.counted.Count(); err != nil {
			return err
		}
	}
	if p.restart != nil && t.side == p.b {
		return t.watchRenewed(ctx, p)
	}
	return p.WatchRules(ctx, t.read)
}

// read reads the counters. A rule that has disappeared has no counter, which fails
// verification.
func (t translation) read(ctx context.Context, into driver.Counters) (missing string, err error) {
	if t.counted != nil {
		return t.counted.Read(ctx, into)
	}
	rules, err := t.side.firewall().Rules(ctx, firewall.IPv4, "nat")
	if err != nil {
		return "", err
	}
	for _, w := range t.ports {
		found := firewall.Published(rules, w.port, w.to)
		if t.side.podman != nil {
			found = firewall.OfPodman(found)
		}
		if len(found) == 0 {
			missing = t.side.missing(fmt.Sprintf("DNAT rule from port %d", w.port), " to "+w.to.String())
			continue
		}
		into[dnatCounter(t.side, w.port)] = firewall.Packets(found)
	}
	if len(t.masquerade) == 0 {
		return missing, nil
	}
	found, missed := t.masquerading(rules)
	if missed != "" {
		return missed, nil
	}
	into[masqueradeCounter(t.side)] = firewall.Packets(found)
	return missing, nil
}

// count returns what counts the connections that Podman's rules of nftables translate.
func (t translation) count(table string) *firewall.Translated {
	n := &firewall.Translated{Host: t.side.At, By: firewall.NetavarkTable, NS: t.side.ns, Table: table}
	for _, w := range t.ports {
		n.Ports = append(n.Ports, linuxnet.Published{Port: w.port, To: netip.AddrPortFrom(w.to, w.port)})
	}
	for _, c := range t.masquerade {
		n.Sources = append(n.Sources, c.address)
	}
	return n
}

// masquerading returns the rules that masquerade what the clients send, or which is missing.
func (t translation) masquerading(rules []firewall.Rule) (found []firewall.Rule, missing string) {
	if t.side.podman == nil {
		if found = firewall.Masquerading(rules, t.side.bridge); len(found) == 0 {
			missing = t.side.missing("masquerade rule for packets from "+t.side.bridge, "")
		}
		return found, missing
	}
	for _, c := range t.masquerade { // netavark has one chain for all containers, CNI one for each
		own := firewall.MasqueradingFrom(rules, c.address)
		if len(own) == 0 {
			return nil, t.side.missing("masquerade rule for packets from "+c.address.String(), "")
		}
		if !slices.ContainsFunc(found, func(r firewall.Rule) bool { return r.Chain == own[0].Chain }) {
			found = append(found, own...)
		}
	}
	return found, ""
}

// missing describes a rule that an engine has not written, to a destination if there is one.
func (s *side) missing(rule, to string) string {
	if s.podman != nil {
		return fmt.Sprintf("find the %s%s of host %s: the table nat of iptables has none", rule, to, s.At)
	}
	return fmt.Sprintf("find the %s of host %s%s: %s has none", rule, s.At, to, s.firewall().Table(firewall.IPv4, "nat"))
}
