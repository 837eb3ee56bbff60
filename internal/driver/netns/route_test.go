//go:build linux

package netns_test

import (
	"fmt"
	"testing"

	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

func TestRouteChange(t *testing.T) {
	for mode, ipv6 := range map[string]bool{"host": true, "netns/published": false, "netns/bridge": true} {
		t.Run(fmt.Sprintf("%s, ipv6 %t", mode, ipv6), func(t *testing.T) {
			t.Parallel()
			drivertest.Provision(t, netns.Driver{}, mode, nil).CheckRouteChange(t, ipv6)
		})
	}
	_, err := drivertest.Provision(t, netns.Driver{}, "netns/routed", nil).Path.EventNamed(labdriver.RouteChange)
	must.Fail(t, err, "it has no event route_change, only link_down, policy_added")
}
