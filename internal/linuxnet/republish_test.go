//go:build linux

package linuxnet

import (
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// A published port is translated to another sandbox, and back, while the other ports and the counters stay.
func TestRepublish(t *testing.T) {
	ns := needNS(t)
	first, second := netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.1.3")
	first6, second6 := netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:1::3")
	publish := func(a, a6 netip.Addr, port uint16) []Published {
		return []Published{
			{Port: 5201, To: netip.AddrPortFrom(a, port)}, {Port: 5201, To: netip.AddrPortFrom(a6, port)},
			{Port: 5202, To: netip.AddrPortFrom(second, 5202)}, {Port: 5202, To: netip.AddrPortFrom(second6, 5202)},
		}
	}
	g := Gateway{Table: "tare", Bridge: "br0", Rules: EngineRules, Subnets: []netip.Prefix{netip.MustParsePrefix("198.18.1.0/24")}, Publish: publish(first, first6, 5201)}
	must.Do(t, ns.Rules().Gateway(g))
	behind := func(port uint16, want map[netip.Addr]uint64) {
		t.Helper()
		must.Equal(t, want, must.Get(ns.Rules().Translations("tare", port))(t))
	}
	of := func(a, b netip.Addr) map[netip.Addr]uint64 { return map[netip.Addr]uint64{a: 2, b: 2} } // TCP and UDP
	behind(5201, of(first, first6))
	behind(5202, of(second, second6))
	behind(5203, map[netip.Addr]uint64{})

	other := g
	other.Publish = publish(second, second6, 5202)
	must.Do(t, ns.Rules().Republish(other))
	behind(5201, of(second, second6))
	behind(5202, of(second, second6))
	must.Equal(t, 4, len(must.Get(ns.Rules().Counts("tare"))(t)))
	must.Do(t, ns.Rules().Republish(g))
	behind(5201, of(first, first6))

	other.Table = "absent"
	must.Fail(t, ns.Rules().Republish(other), "replace the published ports: nftables table absent")
}
