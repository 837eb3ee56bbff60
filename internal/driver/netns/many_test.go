//go:build linux

package netns_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// All pairs carry traffic at once, and the path of each is proven. The kernel has one neighbour table for all
// namespaces, which so many pairs nearly fill: other tests could not connect meanwhile.
func TestAloneManyPairs(t *testing.T) {
	s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "netns/bridge", Pairs: driver.ManyPairs}))
	must.Get(s.TrialPairs(t, drivertest.Params("tcp_stream"), false, driver.ManyPairs))(t)
}

// One subnet has addresses for the endpoints of MaxPairs pairs, and not for more.
func TestMaxPairsOnOneSubnet(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"netns/colocated", "netns/macvlan", "netns/vxlan"} {
		t.Run(mode, func(t *testing.T) {
			many := drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: driver.MaxPairs + 1})
			if _, err := (netns.Driver{}).Provision(t.Context(), many); err == nil || !strings.Contains(err.Error(), "use 1 to 100") {
				t.Fatalf("%d pairs: %v", many.Pairs, err)
			}
			if mode != "netns/macvlan" {
				return // so many pairs take long to set up; this subnet has the addresses of the hosts, too
			}
			p := must.Get(netns.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: driver.MaxPairs})))(t)
			seen := map[netip.Addr]bool{}
			for i, pair := range p.Pairs {
				for _, at := range pair.Server.Dial {
					if seen[at.Addr()] {
						t.Errorf("pair %d has the address %s of another", i+1, at.Addr())
					}
					seen[at.Addr()] = true
				}
			}
			must.Equal(t, driver.MaxPairs, len(p.Pairs))
			must.Do(t, p.Close(context.Background()))
		})
	}
}
