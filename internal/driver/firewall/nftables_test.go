package firewall

import (
	_ "embed"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// savedBridges is the output of nft --json list table ip docker-bridges for an engine of version 29
// with a published port on docker0 and a network br3 with the gateway mode nat-unprotected. Each
// counter has another value.
//
//go:embed testdata/bridges.json
var savedBridges string

// savedNetavark is the output of nft --json list ruleset on a host where netavark 2.1.0 has published the ports
// 5201 and 5202 of 198.18.1.2 and .3, and where iptables translates port 5202 in a table of its own.
//
//go:embed testdata/netavark.json
var savedNetavark string

func TestParseNftables(t *testing.T) {
	rules := must.Get(parseNftables(savedBridges))(t)
	only := func(what string, pick func(Rule) bool) Rule {
		t.Helper()
		found := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !pick(r) })
		must.Require(t, len(found) == 1, "%s: %d rules: %+v", what, len(found), found)
		return found[0]
	}
	dnat := only("DNAT", func(r Rule) bool { return r.Target == "DNAT" })
	want := Rule{Table: "ip docker-bridges", Chain: "nat-prerouting-and-output", Target: "DNAT", Comment: "DNAT", Handle: dnat.Handle, Proto: "tcp", Port: 5202,
		To: netip.MustParseAddrPort("198.18.1.2:5202"), NotIn: "docker0", Packets: 3, Bytes: 180}
	must.True(t, dnat == want && dnat.Handle != 0, "%+v, want %+v", dnat, want)
	if got := Published(rules, 5202, netip.MustParseAddr("198.18.1.2")); len(got) != 1 || got[0] != want {
		t.Errorf("published: %+v", got)
	}
	masquerade := only("masquerade", func(r Rule) bool { return r.Target == "MASQUERADE" && r.NotOut == "docker0" })
	must.True(t, masquerade.Chain == "nat-postrouting-out__docker0" && masquerade.Source == netip.MustParsePrefix("198.18.1.0/24") && masquerade.Packets != 0, "%+v", masquerade)
	direct := only("direct access", func(r Rule) bool { return r.Target == "DROP" && r.Dest.IsValid() })
	must.True(t, direct.Chain == "raw-PREROUTING" && direct.Dest == netip.MustParseAddr("198.18.1.2") && !direct.Bare, "%+v", direct)
	accept := only("published port", func(r Rule) bool { return r.Target == "ACCEPT" && r.Port == 5202 })
	must.True(t, accept.Dest == netip.MustParseAddr("198.18.1.2") && !accept.Bare, "%+v", accept)
	all := only("unprotected", func(r Rule) bool { return r.Bare && r.Chain == "filter-forward-in__br3" })
	must.True(t, all.Comment == "UNPROTECTED" && all.Packets != 0, "%+v", all)
	if _, err := parseNftables("{"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// Whatever nft prints, parsing ends, and no rule is found that has not a destination of its own.
func FuzzParseNftables(f *testing.F) {
	f.Add(savedBridges)
	f.Add(savedNetavark)
	f.Add(`{"nftables":[{"rule":{"chain":"x","expr":[{"dnat":{"addr":"::","port":-1}},{"match":null}]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parseNftables(text)
		must.True(t, err == nil || len(rules) == 0, "rules beside the error %v", err)
		to := netip.MustParseAddr("198.18.1.2")
		for _, r := range Published(rules, 5202, to) {
			must.True(t, r.To.Addr() == to && r.Port == 5202 && r.Target == "DNAT", "%+v", r)
		}
	})
}
