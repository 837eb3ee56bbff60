package linuxnet

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// Filters lists nothing in a new namespace, and a gateway's chains with their number of
// rules.
func TestFilters(t *testing.T) {
	ns := needNS(t)
	if found, err := ns.Rules().Filters(); err != nil || len(found) != 0 {
		t.Fatalf("a fresh namespace has %v, %v", found, err)
	}
	g := Gateway{Table: "tare", Bridge: "br0", Rules: EngineRules, Subnets: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/24")},
		Publish: []Published{{Port: 5201, To: netip.MustParseAddrPort("198.18.0.2:5201")}}}
	if err := ns.Rules().Gateway(g); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	want := []Filter{
		{Family: "inet", Table: "tare", Chain: "forward", Hook: "forward", Drops: true, Rules: 5, All: 8},
		{Family: "inet", Table: "tare", Chain: "postrouting", Hook: "postrouting", Rules: 1, All: 8},
		{Family: "inet", Table: "tare", Chain: "prerouting", Hook: "prerouting", Rules: 2, All: 8},
	}
	found := must.Get(ns.Rules().Filters())(t)
	slices.SortFunc(found, func(a, b Filter) int { return strings.Compare(a.Chain, b.Chain) })
	must.Equal(t, want, found)
}

// Tables of legacy iptables are counted without the kernel's own entries, and the query
// creates none. Those of iptables-nft are nftables chains.
func TestFiltersOfIptables(t *testing.T) {
	for _, tt := range []struct {
		program string
		old     bool
	}{{"iptables-legacy", true}, {"iptables-nft", false}} {
		t.Run(tt.program, func(t *testing.T) {
			path, err := exec.LookPath(tt.program)
			if err != nil {
				testneed.Missing(t, testneed.Iptables, err)
			}
			ns := needNS(t)
			for _, args := range [][]string{
				{"-w", "-P", "FORWARD", "DROP"}, {"-w", "-A", "FORWARD", "-s", "198.18.0.1", "-j", "ACCEPT"}, {"-w", "-A", "INPUT", "-s", "198.18.0.1", "-j", "ACCEPT"},
				{"-w", "-N", "DOCKER-USER"},
			} {
				cmd := exec.CommandContext(context.Background(), path, args...)
				cmd.Env = append(os.Environ(), "XTABLES_LOCKFILE="+filepath.Join(t.TempDir(), "lock")) // an ordinary user may not lock the machine's
				must.Do(t, ns.Start(cmd))
				if err := cmd.Wait(); err != nil {
					testneed.Missing(t, testneed.Iptables, err)
				}
			}
			found := must.Get(ns.Rules().Filters())(t)
			if tt.old { // a user-defined chain has two entries of its own
				must.Equal(t, []Filter{{Family: "ip", Table: "filter", Rules: 4, All: 4}}, found)
				return
			}
			i := slices.IndexFunc(found, func(f Filter) bool { return f.Hook == "forward" })
			must.Require(t, i >= 0, "no chain at forward among %+v", found)
			must.Equal(t, Filter{Family: "ip", Table: "filter", Chain: "FORWARD", Hook: "forward", Drops: true, Rules: 1, All: 2, Docker: true}, found[i])
		})
	}
}
