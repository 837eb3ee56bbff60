package firewall

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/runid"
)

// NetavarkTable is netavark's table of nftables, for both address families.
const NetavarkTable = "inet netavark"

// Translated is what a program translates on a host with its rules of nftables, which have no counters: another
// table counts the connections, and the program's rules are only read.
type Translated struct {
	Host    string // its name, for messages
	By      string // the program's table, with its family
	NS      *linuxnet.NS
	Table   string // the counting table, of family inet
	Ports   []linuxnet.Published
	Sources []netip.Addr // those that are masqueraded
}

// CountingTable is the name of the counting table of a run.
func CountingTable(run string) string { return runid.Prefix + run }

// Count adds the counting table. It is gone with the namespace.
func (n Translated) Count() error { return n.NS.Rules().CountTranslated(n.Table, n.Ports, n.Sources) }

// Read adds how many connections were translated since Count, under the names of DNATCounter and MasqueradeCounter.
// If a rule of the program is missing, or other rules may have translated the connections, it returns which, and adds nothing.
func (n Translated) Read(ctx context.Context, into driver.Counters) (missing string, err error) {
	text, err := Run(ctx, n.NS, "nft", "--json", "list", "ruleset")
	var rules []Rule
	var chains []natChain
	if err == nil {
		rules, chains, err = parseRuleset(text)
	}
	if err != nil {
		return "", fmt.Errorf("read the rules of host %s: %w", n.Host, err)
	}
	if missing := n.missing(rules, chains); missing != "" {
		return missing, nil
	}
	counts, err := n.NS.Rules().Counts(n.Table)
	if err != nil {
		return "", err
	}
	for _, p := range n.Ports {
		into[DNATCounter(n.Host, p.Port)] = counts[linuxnet.CountDNATOf(p.Port)].Packets
	}
	if len(n.Sources) > 0 {
		into[MasqueradeCounter(n.Host)] = counts[linuxnet.CountMasquerade].Packets
	}
	return "", nil
}

// DNATCounter is the name of the counter of the connections that a host's rules of a published port matched.
func DNATCounter(host string, port uint16) string {
	return pathspec.CounterName(host, fmt.Sprintf("dnat:%d", port), "packets")
}

// MasqueradeCounter is the name of the counter of the connections that a host masqueraded.
func MasqueradeCounter(host string) string {
	return pathspec.CounterName(host, "masquerade", "packets")
}

// missing describes the first rule that the program should have and has not, or a foreign one that may act in its
// place.
func (n Translated) missing(rules []Rule, chains []natChain) string {
	own := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Table != n.By })
	for _, p := range n.Ports {
		if !slices.ContainsFunc(Published(own, p.Port, p.To.Addr()), func(r Rule) bool { return r.To == p.To }) {
			return fmt.Sprintf("find the DNAT rule from port %d to %s of host %s: the table %s of nftables has none", p.Port, p.To.Addr(), n.Host, n.By)
		}
	}
	for _, a := range n.Sources {
		if len(MasqueradingFrom(own, a)) == 0 {
			return fmt.Sprintf("find the masquerade rule for packets from %s of host %s: the table %s of nftables has none", a, n.Host, n.By)
		}
	}
	// Whichever chain of a hook translates a connection first, the others do not see it.
	for _, c := range chains {
		of := c.Hook == "prerouting" && len(n.Ports) > 0 || c.Hook == "postrouting" && len(n.Sources) > 0
		if of && c.Table != n.By && c.Table != "inet "+n.Table && slices.ContainsFunc(rules, func(r Rule) bool { return r.Table == c.Table && r.Chain == c.Name }) {
			return fmt.Sprintf("tell whose rules translate on host %s: the chain %s of the table %s has some, too", n.Host, c.Name, c.Table)
		}
	}
	return ""
}
