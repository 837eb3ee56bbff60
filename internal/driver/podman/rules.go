package podman

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rule is a rule of iptables' table nat with its counter, as far as verification needs it.
type rule struct {
	chain, target string
	source        netip.Prefix   // invalid for all
	port          uint16         // destination port, 0 for all
	to            netip.AddrPort // of a DNAT rule; invalid otherwise
	packets       uint64
}

// parseRules parses the output of iptables-save -c -t nat: comments, the table's name, its chains
// and, in brackets, packets and bytes before each rule.
func parseRules(text string) ([]rule, error) {
	var rules []rule
	for line := range strings.Lines(text) {
		counts, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]")
		if !ok || !strings.HasPrefix(line, "[") {
			continue
		}
		packets, _, _ := strings.Cut(counts, ":")
		n, err := strconv.ParseUint(packets, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse the rule %q: %w", strings.TrimSpace(line), err)
		}
		rules = append(rules, parseRule(strings.Fields(rest), n))
	}
	return rules, nil
}

// parseRule reads the words of a rule. The words of a comment are read too, which does no harm: the
// only ones before a rule's own are those of Podman's names. A negated or unreadable value is left
// out, so that a rule is not found rather than taken for another.
func parseRule(words []string, packets uint64) rule {
	r := rule{packets: packets}
	for i := 0; i+1 < len(words); i++ {
		value := words[i+1]
		if i > 0 && words[i-1] == "!" {
			continue
		}
		switch words[i] {
		case "-A":
			r.chain = value
		case "-j":
			r.target = value
		case "-s":
			r.source, _ = netip.ParsePrefix(value) // invalid is left out
		case "--dport":
			n, _ := strconv.ParseUint(value, 10, 16) // a range is left out
			r.port = uint16(n)
		case "--to-destination":
			r.to, _ = netip.ParseAddrPort(value) // without a port it is no published port
		}
	}
	return r
}

// translating returns the rules of netavark, or of the CNI plugin portmap, that translate a published
// port to a container: one for TCP and one for UDP.
func translating(rules []rule, port uint16, to netip.Addr) []rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool {
		own := strings.HasPrefix(r.chain, "NETAVARK-DN-") || strings.HasPrefix(r.chain, "CNI-DN-")
		return !own || r.target != "DNAT" || r.port != port || r.to.Addr() != to
	})
}

// masquerading returns the rules that masquerade what a container sends: those in chains to which
// POSTROUTING jumps for its address.
func masquerading(rules []rule, from netip.Addr) []rule {
	var chains []string
	for _, r := range rules {
		if r.chain == "POSTROUTING" && r.source.IsValid() && r.source.Contains(from) {
			chains = append(chains, r.target)
		}
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool {
		return r.target != "MASQUERADE" || !slices.Contains(chains, r.chain)
	})
}

func sum(rules []rule) (packets uint64) {
	for _, r := range rules {
		packets += r.packets
	}
	return packets
}
