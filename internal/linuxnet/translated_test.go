//go:build linux

package linuxnet

import (
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// The rules that count translated connections translate none themselves, and leave other rules readable.
func TestCountTranslated(t *testing.T) {
	ns := needNS(t)
	to := netip.MustParseAddrPort("198.18.1.2:5201")
	must.Do(t, ns.Rules().CountTranslated("counted", []Published{{Port: 5201, To: to}}, []netip.Addr{to.Addr()}))
	must.EqualFor(t, "alone it translates", false, must.Get(ns.Rules().Translates())(t))
	must.Do(t, ns.Rules().Gateway(Gateway{Table: "drops", Bridge: "br0", Rules: EngineRules, Publish: []Published{{Port: 5201, To: to}}}))
	must.EqualFor(t, "beside a gateway", true, must.Get(ns.Rules().Translates())(t))
	must.Get(ns.Rules().DropRules())(t)
	must.EqualFor(t, "the counters", map[string]Count{CountDNATOf(5201): {}, CountMasquerade: {}}, must.Get(ns.Rules().Counts("counted"))(t))
}
