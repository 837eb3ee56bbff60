//go:build linux

package linuxnet

import (
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// What is routed over a link, also behind a gateway, is routed over its backup while it is down, and over the link before and after.
func TestBackup(t *testing.T) {
	a, b := needNS(t), needNS(t)
	for _, name := range []string{"eth0", "eth1"} {
		must.Do(t, a.Links().Veth(Device{Name: name}, b, Device{Name: name}))
		must.Do(t, a.Links().Up(name))
		must.Do(t, b.Links().Up(name))
	}
	for own, alone := range map[string]string{"198.18.0.1/24": "198.18.0.1/32", "2001:2::1/64": "2001:2::1/128"} {
		must.Do(t, a.Routes().Address("eth0", netip.MustParsePrefix(own)))
		must.Do(t, a.Routes().Address("eth1", netip.MustParsePrefix(alone)))
	}
	for far, gateway := range map[string]string{"198.18.9.0/24": "198.18.0.2", "2001:2:9::/48": "2001:2::2"} {
		must.Do(t, a.Routes().Route(netip.MustParsePrefix(far), netip.MustParseAddr(gateway), ""))
	}
	must.Do(t, a.Routes().Backup("eth0", "eth1"))
	leads := func(device string) {
		t.Helper()
		for _, to := range []string{"198.18.0.2", "198.18.9.9", "2001:2::2", "2001:2:9::9"} {
			got := must.Get(a.Routes().Toward(netip.MustParseAddr(to)))(t)
			must.EqualFor(t, to, device, got.Device)
		}
	}
	leads("eth0")
	restore := must.Get(a.Links().Down("eth0"))(t)
	leads("eth1")
	must.Do(t, restore())
	leads("eth0")
	must.Fail(t, a.Routes().Backup("eth0", "eth7"), "find eth7 in namespace")
}
