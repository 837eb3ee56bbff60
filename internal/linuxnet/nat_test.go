//go:build linux

package linuxnet

import (
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// The rules of a table are one message to the kernel, which must accept that of many sandboxes.
func TestGatewayOfManySandboxes(t *testing.T) {
	ns := needNS(t)
	const pairs = 100
	g := Gateway{Table: "tare", Bridge: "br0", Rules: EngineRules, Subnets: []netip.Prefix{netip.MustParsePrefix("198.18.1.0/24"), netip.MustParsePrefix("2001:2:0:1::/64")}}
	for i := range pairs {
		for _, first := range []string{"198.18.1.2", "2001:2:0:1::2"} {
			at := netip.MustParseAddr(first)
			for range i {
				at = at.Next()
			}
			port := uint16(5201 + i)
			g.Publish = append(g.Publish, Published{Port: port, To: netip.AddrPortFrom(at, port)})
		}
	}
	must.Do(t, ns.Rules().Gateway(g))
}
