//go:build linux

package linuxnet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

// A gateway has the chains and counters of its rules and no others. The query for its
// counters also finds that the kernel accepted the rules.
func TestGatewayRules(t *testing.T) {
	type gateway struct{ chains, counters []string }
	for _, tt := range []struct {
		name  string
		rules GatewayRules
		want  gateway
	}{
		{"all of an engine", EngineRules, gateway{[]string{"forward/forward", "postrouting/postrouting", "prerouting/prerouting"}, []string{CountDNAT, CountIn, CountOut, CountMasquerade}}},
		{"the forward chain", RuleFilter, gateway{[]string{"forward/forward"}, []string{CountIn, CountOut}}},
		{"a published port", RuleDNAT, gateway{[]string{"prerouting/prerouting"}, []string{CountDNAT}}},
		{"masquerading", RuleMasquerade, gateway{[]string{"postrouting/postrouting"}, []string{CountMasquerade}}},
		{"tracking of what arrives", RuleTrackArriving, gateway{[]string{"track/prerouting"}, []string{CountTracked}}},
		{"tracking of what leaves", RuleTrackLeaving, gateway{[]string{"track/postrouting"}, []string{CountTracked}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := needNS(t)
			for _, bridge := range []string{"br0", "veth*"} {
				must.Do(t, ns.Rules().Gateway(Gateway{Table: "tare", Bridge: bridge, Rules: tt.rules, Subnets: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/24")},
					Publish: []Published{{Port: 5201, To: netip.MustParseAddrPort("198.18.0.2:5201")}}}))
				found := must.Get(ns.Rules().Filters())(t)
				counts := must.Get(ns.Rules().Counts("tare"))(t)
				got := gateway{counters: slices.Sorted(maps.Keys(counts))}
				for _, f := range found {
					got.chains = append(got.chains, f.Chain+"/"+f.Hook)
				}
				slices.Sort(got.chains)
				must.EqualFor(t, fmt.Sprintf("inside %s", bridge), tt.want, got, cmp.AllowUnexported(gateway{}))
				must.Do(t, ns.Rules().DropTable("tare"))
			}
		})
	}
}
