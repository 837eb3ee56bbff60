//go:build linux

package netns_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// The requested inner MTU is that of the sandboxes; one that leaves no space for VXLAN's
// headers is rejected.
func TestInnerMTU(t *testing.T) {
	s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "netns/vxlan", Pairs: 1, MTU: 1400}))
	client, server := both(s)
	for _, ns := range []interface {
		ReadSysctl(string) (string, error)
	}{client, server} {
		if mtu, err := ns.ReadSysctl("net/ipv6/conf/eth0/mtu"); s.Lab.IPv6 && (err != nil || mtu != "1400") {
			t.Errorf("the MTU of a sandbox is %s, %v", mtu, err)
		}
	}
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Error(err)
	}
	_, err := netns.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "netns/vxlan", Pairs: 1, MTU: 1451}))
	must.FailFor(t, "no room", err, "VXLAN adds 50 bytes")
}
