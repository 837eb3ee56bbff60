package firewall

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver/daemon"
	"tare/internal/linuxnet"
)

// Host is where an engine writes its rules.
type Host struct {
	Name     string // for messages
	NS       *linuxnet.NS
	Nftables bool // the engine writes its rules with nftables, else with iptables
}

// Family is an address family of packet filters, as nft names it.
type Family string

// The families.
const (
	IPv4 Family = "ip"
	IPv6 Family = "ip6"
)

// iptables returns the name of a program of iptables for the family.
func (f Family) iptables(suffix string) string {
	if f == IPv6 {
		return "ip6tables" + suffix
	}
	return "iptables" + suffix
}

// Rules reads the rules of a table of a host with the same program that its engine used to write
// them. table is that of iptables; the nftables backend has one table for all.
func (h Host) Rules(ctx context.Context, f Family, table string) ([]Rule, error) {
	fail := func(err error) ([]Rule, error) {
		return nil, fmt.Errorf("read the table %s of host %s: %w", table, h.Name, err)
	}
	if !h.Nftables {
		text, err := h.save(ctx, f, table)
		if err != nil {
			return nil, err
		}
		rules, err := ParseIptables(text)
		if err != nil {
			return fail(err)
		}
		return rules, nil
	}
	text, err := Run(ctx, h.NS, "nft", "--json", "list", "table", string(f), bridgesTable)
	if err != nil {
		return fail(err)
	}
	rules, err := parseNftables(text)
	if err != nil {
		return fail(err)
	}
	return slices.DeleteFunc(rules, func(r Rule) bool { return !strings.HasPrefix(r.Chain, table+"-") }), nil
}

// Table names for people where a host's rules of a family are that iptables has in a table.
func (h Host) Table(f Family, table string) string {
	if h.Nftables {
		return "the chains " + table + " of table " + string(f) + " " + bridgesTable
	}
	return "table " + table + " of " + f.iptables("")
}

// Tables names where the rules for addresses are.
func (h Host) Tables(addresses []netip.Addr, table string) string {
	var all []string
	for _, a := range addresses {
		all = append(all, fmt.Sprintf("to %s in %s", a, h.Table(FamilyOf(a), table)))
	}
	return strings.Join(all, "; ")
}

// save returns a table of a host with its counters, as iptables-save prints it.
func (h Host) save(ctx context.Context, f Family, table string) (string, error) {
	text, err := Run(ctx, h.NS, f.iptables("-save"), "-c", "-t", table)
	if err != nil {
		return "", fmt.Errorf("read the table %s of host %s: %w", table, h.Name, err)
	}
	return text, nil
}

// Run runs a program of a packet filter in a namespace and returns its output. The program is
// searched for where a private engine finds it, too, not only in PATH.
func Run(ctx context.Context, ns *linuxnet.NS, args ...string) (string, error) {
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

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

// Remove removes rules of IPv4 of a table of a host, and returns how many.
func (h Host) Remove(ctx context.Context, table string, pick func(Rule) bool) (n int, err error) {
	commands, err := h.removals(ctx, table, pick)
	if err != nil {
		return 0, err
	}
	for _, c := range commands {
		if _, err := Run(ctx, h.NS, c...); err != nil {
			return 0, fmt.Errorf("remove a rule from %s of host %s: %w", h.Table(IPv4, table), h.Name, err)
		}
	}
	return len(commands), nil
}

// removals returns the commands that remove the chosen rules of a table.
func (h Host) removals(ctx context.Context, table string, pick func(Rule) bool) (commands [][]string, err error) {
	if h.Nftables {
		rules, err := h.Rules(ctx, IPv4, table)
		for _, r := range rules {
			if pick(r) {
				commands = append(commands, []string{"nft", "delete", "rule", string(IPv4), bridgesTable, r.Chain, "handle", strconv.FormatUint(r.Handle, 10)})
			}
		}
		return commands, err
	}
	text, err := h.save(ctx, IPv4, table)
	if err != nil {
		return nil, err
	}
	specs, err := selectRules(text, pick)
	if err != nil {
		return nil, fmt.Errorf("read the table %s of host %s: %w", table, h.Name, err)
	}
	for _, spec := range specs {
		commands = append(commands, append([]string{"iptables", "-w", "-t", table, "-D"}, spec[1:]...))
	}
	return commands, nil
}

// HasRaw reports whether the rules that iptables has in a host's table raw can be read. Reading a table
// of iptables that does not exist would create it, and it would then process every packet.
func (h Host) HasRaw(f Family) (bool, error) {
	if h.Nftables {
		return true, nil
	}
	filters, err := h.NS.Rules().Filters()
	return slices.ContainsFunc(filters, func(x linuxnet.Filter) bool { return x.Family == string(f) && x.Table == "raw" && x.All > 0 }), err
}

// nftForward is the chain of the nftables backend for all forwarded packets. Those that it jumps to
// have counters, its own rules have none.
const nftForward = "filter-FORWARD"

// forward is the chain of all forwarded packets.
func (h Host) forward() string {
	if h.Nftables {
		return nftForward
	}
	return "FORWARD"
}

// Bypass bypasses the engine's chains of a host, by a rule before them that accepts all that is
// forwarded. It returns the chain with that rule.
func (h Host) Bypass(ctx context.Context) (chain string, err error) {
	chain = h.forward()
	add := []string{"iptables", "-w", "-I", chain, "1", "-j", "ACCEPT"}
	if h.Nftables {
		add = []string{"nft", "insert", "rule", string(IPv4), bridgesTable, chain, "counter", "accept"}
	}
	if _, err := Run(ctx, h.NS, add...); err != nil {
		return "", fmt.Errorf("bypass the engine's chains on host %s: %w", h.Name, err)
	}
	return chain, nil
}

// Bypassed returns the bytes that the rule of Bypass has matched, and the packets that the other rules
// of its chain have matched.
func (h Host) Bypassed(ctx context.Context) (accepted, others uint64, err error) {
	rules, err := h.Rules(ctx, IPv4, "filter")
	if err != nil {
		return 0, 0, err
	}
	return forwarded(rules, h.forward())
}

// forwarded returns the bytes that the rule of Bypass has matched, and the packets that the
// other rules of its chain have matched; for nftables those of the chains that it jumps to.
func forwarded(rules []Rule, chain string) (accepted, others uint64, err error) {
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
