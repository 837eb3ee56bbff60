package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// nat reads a host's address translation rules of IPv4.
func (s *side) nat(ctx context.Context) ([]firewallRule, error) { return s.rules(ctx, ipv4, "nat") }

// family is an address family of packet filters, as nft names it.
type family string

const (
	ipv4 family = "ip"
	ipv6 family = "ip6"
)

// iptables returns the name of a program of iptables for the family.
func (f family) iptables(suffix string) string {
	if f == ipv6 {
		return "ip6tables" + suffix
	}
	return "iptables" + suffix
}

// rules reads the rules of a table of a host with the same program that its engine used to write
// them. table is that of iptables; the nftables backend has one table for all.
func (s *side) rules(ctx context.Context, f family, table string) ([]firewallRule, error) {
	fail := func(err error) ([]firewallRule, error) {
		return nil, fmt.Errorf("read the table %s of host %s: %w", table, s.At, err)
	}
	if !s.nftables() {
		text, err := s.save(ctx, f, table)
		if err != nil {
			return nil, err
		}
		rules, err := parseIptables(text)
		if err != nil {
			return fail(err)
		}
		return rules, nil
	}
	text, err := runIn(ctx, s.ns, "nft", "--json", "list", "table", string(f), bridgesTable)
	if err != nil {
		return fail(err)
	}
	rules, err := parseNftables(text)
	if err != nil {
		return fail(err)
	}
	return slices.DeleteFunc(rules, func(r firewallRule) bool { return !strings.HasPrefix(r.Chain, table+"-") }), nil
}

// nftables reports whether the engine of a host writes its rules with nftables.
func (s *side) nftables() bool {
	return s.engine != nil && s.podman == nil && s.engine.Firewall() == study.FirewallNftables
}

// tableOf names for people where a host's rules of a family are that iptables has in a table.
func (s *side) tableOf(f family, table string) string {
	if s.nftables() {
		return "the chains " + table + " of table " + string(f) + " " + bridgesTable
	}
	return "table " + table + " of " + f.iptables("")
}

// tablesOf names where the rules for addresses are.
func (s *side) tablesOf(addresses []netip.Addr, table string) string {
	var all []string
	for _, a := range addresses {
		all = append(all, fmt.Sprintf("to %s in %s", a, s.tableOf(familyOf(a), table)))
	}
	return strings.Join(all, "; ")
}

// save returns a table of a host with its counters, as iptables-save prints it.
func (s *side) save(ctx context.Context, f family, table string) (string, error) {
	text, err := runIn(ctx, s.ns, f.iptables("-save"), "-c", "-t", table)
	if err != nil {
		return "", fmt.Errorf("read the table %s of host %s: %w", table, s.At, err)
	}
	return text, nil
}

// runIn runs a program of a packet filter in a namespace and returns its output. The program is
// searched for where a private engine finds it, too, not only in PATH.
func runIn(ctx context.Context, ns *linuxnet.NS, args ...string) (string, error) {
	program, err := daemon.Find(args[0])
	if err != nil {
		return "", err
	}
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &words
	err = ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}

// translation is the part of a host's nat table that is verified.
type translation struct {
	side       *side
	ports      []publishedPort
	masquerade []*bridged // the clients whose packets are masqueraded
}

// publishedPort is a port of a host and the address of the container behind it.
type publishedPort struct {
	port uint16
	to   netip.Addr
}

// dnatCounter returns the name of the counter of connections that matched a published port's
// rules.
func dnatCounter(s *side, port uint16) string {
	return pathspec.CounterName(s.At, fmt.Sprintf("dnat:%d", port), "packets")
}

// masqueradeCounter returns the name of the counter of masqueraded connections from the default
// bridge.
func masqueradeCounter(s *side) string {
	if s.podman != nil {
		return pathspec.CounterName(s.At, "masquerade", "packets")
	}
	return pathspec.CounterName(s.At, docker0+".masquerade", "packets")
}

// watchNAT reads the counters of the rules before and after each trial, and checks that
// the rules exist now: a missing rule means that the mode is not what it claims to be.
func (p *path) watchNAT(ctx context.Context, t translation) error {
	p.AddReader(func(ctx context.Context, into driver.Counters) error {
		_, err := t.read(ctx, into)
		return err
	})
	missing, err := t.read(ctx, driver.Counters{})
	if err == nil && missing != "" {
		err = errors.New(missing)
	}
	return err
}

// read reads the counters. A rule that has disappeared has no counter, which fails
// verification.
func (t translation) read(ctx context.Context, into driver.Counters) (missing string, err error) {
	rules, err := t.side.nat(ctx)
	if err != nil {
		return "", err
	}
	for _, w := range t.ports {
		found := published(rules, w.port, w.to)
		if t.side.podman != nil {
			found = ofPodman(found)
		}
		if len(found) == 0 {
			missing = t.side.missing(fmt.Sprintf("DNAT rule from port %d", w.port), " to "+w.to.String())
			continue
		}
		into[dnatCounter(t.side, w.port)] = packets(found)
	}
	if len(t.masquerade) == 0 {
		return missing, nil
	}
	found, missed := t.masquerading(rules)
	if missed != "" {
		return missed, nil
	}
	into[masqueradeCounter(t.side)] = packets(found)
	return missing, nil
}

// masquerading returns the rules that masquerade what the clients send, or which is missing.
func (t translation) masquerading(rules []firewallRule) (found []firewallRule, missing string) {
	if t.side.podman == nil {
		if found = masquerading(rules, t.side.bridge); len(found) == 0 {
			missing = t.side.missing("masquerade rule for packets from "+t.side.bridge, "")
		}
		return found, missing
	}
	for _, c := range t.masquerade { // netavark has one chain for all containers, CNI one for each
		own := masqueradingFrom(rules, c.address)
		if len(own) == 0 {
			return nil, t.side.missing("masquerade rule for packets from "+c.address.String(), "")
		}
		if !slices.ContainsFunc(found, func(r firewallRule) bool { return r.Chain == own[0].Chain }) {
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
	return fmt.Sprintf("find the %s of host %s%s: %s has none", rule, s.At, to, s.tableOf(ipv4, "nat"))
}
