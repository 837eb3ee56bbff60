package firewall

import (
	"net/netip"
	"strings"
	"testing"

	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
)

// What is missing of netavark's rules, or may act in their place, is named.
func TestNetavarkMissing(t *testing.T) {
	rules, chains := must.Get2(parseRuleset(savedNetavark))(t)
	alone := func() (out []Rule) {
		for _, r := range rules {
			if r.Table == NetavarkTable {
				out = append(out, r)
			}
		}
		return out
	}()
	port := func(n uint16, to string) []linuxnet.Published {
		return []linuxnet.Published{{Port: n, To: netip.MustParseAddrPort(to)}}
	}
	own := []netip.Addr{netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.1.3")}
	for name, tt := range map[string]struct {
		n     Translated
		rules []Rule
		want  string
	}{
		"all there":              {Translated{By: NetavarkTable, Ports: port(5202, "198.18.1.3:5201"), Sources: own}, alone, ""},
		"sources beside others":  {Translated{By: NetavarkTable, Sources: own}, rules, ""},
		"another rule":           {Translated{By: NetavarkTable, Ports: port(5202, "198.18.1.3:5201")}, rules, "the chain PREROUTING of the table ip nat has some, too"},
		"its own counting table": {Translated{By: NetavarkTable, Ports: port(5202, "198.18.1.3:5201"), Table: "x"}, alone, ""},
		"another port":           {Translated{By: NetavarkTable, Ports: port(5203, "198.18.1.3:5201")}, alone, "find the DNAT rule from port 5203 to 198.18.1.3"},
		"another address":        {Translated{By: NetavarkTable, Ports: port(5202, "198.18.1.2:5201")}, alone, "find the DNAT rule from port 5202 to 198.18.1.2"},
		"another port inside":    {Translated{By: NetavarkTable, Ports: port(5202, "198.18.1.3:5202")}, alone, "find the DNAT rule from port 5202"},
		"another subnet":         {Translated{By: NetavarkTable, Sources: []netip.Addr{netip.MustParseAddr("198.18.2.2")}}, alone, "find the masquerade rule for packets from 198.18.2.2"},
		"no rules":               {Translated{By: NetavarkTable, Sources: own}, nil, "find the masquerade rule"},
	} {
		tt.n.Host = "b"
		got := tt.n.missing(tt.rules, chains)
		must.True(t, (got == "") == (tt.want == "") && strings.Contains(got, tt.want), "%s: %q, want %q", name, got, tt.want)
	}
}
