package docker

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
	return s.engine != nil && s.engine.Firewall() == study.FirewallNftables
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
	masquerade bool // of the default bridge
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
		if len(found) == 0 {
			missing = fmt.Sprintf("find the DNAT rule from port %d of host %s to %s: %s has none", w.port, t.side.At, w.to, t.side.tableOf(ipv4, "nat"))
			continue
		}
		into[dnatCounter(t.side, w.port)] = packets(found)
	}
	if !t.masquerade {
		return missing, nil
	}
	found := masquerading(rules, docker0)
	if len(found) == 0 {
		return fmt.Sprintf("find the masquerade rule for packets from %s of host %s: %s has none", docker0, t.side.At, t.side.tableOf(ipv4, "nat")), nil
	}
	into[masqueradeCounter(t.side)] = packets(found)
	return missing, nil
}
