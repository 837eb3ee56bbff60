//go:build linux

package linuxnet

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"

	"tare/internal/testkit/must"
)

// Thousands of decoys are installed in batches that the kernel accepts, and read back.
func TestDecoysAreReadBack(t *testing.T) {
	const n = 10000
	own := []netip.AddrPort{netip.MustParseAddrPort("198.18.0.2:5201")}
	for _, tt := range []struct {
		name    string
		install func(*Decoys) error
		count   func(*Decoys) (int, error)
	}{
		{"chain", func(ns *Decoys) error { return ns.AddDecoyChain(n) }, (*Decoys).DecoyChainRules},
		{"map", func(ns *Decoys) error { return ns.AddDecoyMap(n, own) }, (*Decoys).DecoyMapServices},
		{"set", func(ns *Decoys) error { return errors.Join(ns.CreateDecoySet(n), ns.AddToDecoySet(n)) }, (*Decoys).DecoySetEntries},
		{"noop", func(ns *Decoys) error { return ns.AddNoopRules(n, "eth0") }, (*Decoys).NoopRules},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := needNS(t)
			must.Do(t, tt.install(ns.Decoys()))
			must.Equal(t, n, must.Get(tt.count(ns.Decoys()))(t))
		})
	}
}

// Rules of decoys never drop a packet and are not read among those that do: with tens of
// thousands of them that would take a second before and after each trial.
func TestDropRulesWithoutDecoys(t *testing.T) {
	ns := needNS(t)
	must.Do(t, ns.Decoys().AddDecoyChain(1))
	must.Do(t, ns.Decoys().inDecoys("add a rule that drops", func(d decoys) error {
		c := &nftables.Chain{Name: DecoyName, Table: d.table}
		d.rule(c, one(&expr.Verdict{Kind: expr.VerdictDrop}))
		other := d.conn.AddChain(&nftables.Chain{Name: "other", Table: d.table})
		d.rule(other, one(&expr.Verdict{Kind: expr.VerdictDrop}))
		return d.conn.Flush()
	}))
	rules, err := ns.Rules().DropRules()
	must.True(t, err == nil && len(rules) == 1 && strings.Contains(rules[0].Where, "other"), "got %+v, %v; want the rule of the other chain only", rules, err)
}
