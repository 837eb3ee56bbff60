// Package firewall reads the rules that container engines write on their hosts, with iptables or nftables,
// and removes some of them. It knows which rules an engine writes for what, and no path.
package firewall

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rule is a rule of an engine with its counters, as far as verification needs it.
type Rule struct {
	Table   string // of nftables, with its family, as in inet netavark
	Chain   string
	Target  string // DNAT, MASQUERADE, ..., or the chain that it jumps to
	Comment string // of nftables
	Handle  uint64 // of nftables: identifies the rule in its table
	Bare    bool   // it has no conditions

	Proto   string // tcp, udp, ...; empty for all
	Port    uint16 // destination port, 0 for all
	To      netip.AddrPort
	Source  netip.Prefix // invalid for all
	Dest    netip.Addr   // invalid for all
	NotIn   string       // excluded input device
	NotOut  string       // excluded output device
	Packets uint64
	Bytes   uint64
}

// ParseIptables parses the output of iptables-save -c for a table. Docker's rules are the same
// whether iptables uses nf_tables or the legacy tables; other engine versions only add
// matches, which are ignored.
func ParseIptables(text string) ([]Rule, error) {
	var rules []Rule
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "[") {
			continue // comments, the table's name, its chains, COMMIT
		}
		r, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("parse rule line %d, %q: %w", n+1, line, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// selectRules returns those rules in the output of iptables-save -c that pick chooses, as
// arguments of iptables: -A, the chain, and so on.
func selectRules(text string, pick func(Rule) bool) (specs [][]string, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "[") {
			continue
		}
		r, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("parse rule %q: %w", line, err)
		}
		_, rest, _ := strings.Cut(line, "]")
		if pick(r) {
			specs = append(specs, split(rest))
		}
	}
	return specs, nil
}

func parseRule(line string) (Rule, error) {
	var r Rule
	counts, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]")
	packets, bytes, colon := strings.Cut(counts, ":")
	if !ok || !colon {
		return r, errors.New("it has no counters")
	}
	var err error
	if r.Packets, err = strconv.ParseUint(packets, 10, 64); err != nil {
		return r, err
	}
	if r.Bytes, err = strconv.ParseUint(bytes, 10, 64); err != nil {
		return r, err
	}
	words := split(rest)
	r.Bare = len(words) == 4 // -A CHAIN -j TARGET
	not := false
	for i := 0; i < len(words); i++ {
		word, value := words[i], ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch word {
		case "!":
			not = true
			continue
		case "-A":
			r.Chain = value
		case "-j":
			r.Target = value
		case "-p":
			r.Proto = value
		case "-o":
			if not {
				r.NotOut = value
			}
		case "-i":
			if not {
				r.NotIn = value
			}
		case "-s":
			if !not {
				r.Source, err = netip.ParsePrefix(value)
			}
		case "-d":
			if p, bad := netip.ParsePrefix(value); bad == nil && !not && p.IsSingleIP() {
				r.Dest = p.Addr()
			}
		case "--dport":
			r.Port = port(value)
		case "--to-destination":
			r.To = destination(value)
		default:
			not = false
			continue // a match that is not needed, or its value
		}
		if err != nil {
			return r, fmt.Errorf("%s %s: %w", word, value, err)
		}
		not = false
		i++
	}
	return r, nil
}

// port parses one port. A range, which Docker does not use, returns 0.
func port(s string) uint16 {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// destination parses an address with a port. An address without a port is not that of a
// published port.
func destination(s string) netip.AddrPort {
	to, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return to
}

// split splits a line into words. A quoted word may contain spaces and escaped quotes.
func split(line string) []string {
	var words []string
	var word strings.Builder
	in, quoted, escaped := false, false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted, in = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}

// Published finds the rules that translate a published port to a container. There is one
// for TCP and one for UDP.
func Published(rules []Rule, port uint16, to netip.Addr) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return r.Target != "DNAT" || r.Port != port || r.To.Addr() != to
	})
}

// Masquerading finds the rule that masquerades packets from a bridge.
func Masquerading(rules []Rule, bridge string) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return r.Target != "MASQUERADE" || r.NotOut != bridge
	})
}

// OfPodman keeps the rules of a published port that iptables has and that are those of netavark, or of the CNI
// plugin portmap.
func OfPodman(rules []Rule) []Rule {
	return slices.DeleteFunc(rules, func(r Rule) bool {
		return !strings.HasPrefix(r.Chain, "NETAVARK-DN-") && !strings.HasPrefix(r.Chain, "CNI-DN-")
	})
}

// MasqueradingFrom finds the rules that masquerade what a container sends: those for its address, as Incus has them, and those in
// chains to which POSTROUTING jumps for it, as netavark and CNI have them.
func MasqueradingFrom(rules []Rule, from netip.Addr) []Rule {
	var chains []string
	for _, r := range rules {
		if r.Chain == "POSTROUTING" && r.Source.IsValid() && r.Source.Contains(from) {
			chains = append(chains, r.Target)
		}
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		own := r.Source.IsValid() && r.Source.Contains(from)
		return r.Target != "MASQUERADE" || !own && !slices.Contains(chains, r.Chain)
	})
}

// Packets sums the packets that rules have matched.
func Packets(rules []Rule) (n uint64) {
	for _, r := range rules {
		n += r.Packets
	}
	return n
}
