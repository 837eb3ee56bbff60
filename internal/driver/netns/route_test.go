//go:build linux

package netns_test

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// While requests are in progress, what the client's host sends to the server's moves to a second link. The counters of both links
// together prove the path, those of the first alone do not, and afterwards there is no second link.
func TestRouteChange(t *testing.T) {
	for mode, ipv6 := range map[string]bool{"host": true, "netns/published": false, "netns/bridge": true} {
		t.Run(fmt.Sprintf("%s, ipv6 %t", mode, ipv6), func(t *testing.T) {
			t.Parallel()
			s := drivertest.Provision(t, netns.Driver{}, mode, nil)
			e := must.Get(s.Path.EventNamed(labdriver.RouteChange))(t)
			p := drivertest.Params("http")
			p.KeepAlive = study.On
			r := s.TrialWithEvent(t, e, p, 6*time.Second, ipv6)
			must.Fail(t, e.Happened(r.After, r.After), "a/eth1.tx_packets went from")
			must.Do(t, r.Undo(t.Context()))
			must.Do(t, r.Undo(t.Context())) // there is nothing left
			must.Equal(t, r.Before, must.Get(e.State(t.Context()))(t))

			carried := []driver.Carried{driver.CarriedBy(r.Client, r.Server)}
			must.Fail(t, s.Proof(t, r.Counters, carried), "counter a/eth0.tx_bytes moved by")
			whole := must.Get(s.Path.Snapshot(t.Context()))(t)
			for from, of := range e.Elsewhere {
				whole[of] += r.After[from] - r.Before[from]
			}
			must.Do(t, s.Path.Prove(r.Counters, whole, carried))
			if seen := r.Client.Window.Event; seen == nil || seen.Due != 1200 || seen.Gap <= 0 {
				t.Fatalf("%+v", seen)
			}
			_, _, err := s.Trial(t, drivertest.Params("http"), ipv6)
			must.Do(t, err)
			t.Logf("a gap of %.3g s, %d connections lost, %v", r.Client.Window.Event.Gap, *r.Client.Window.Event.Lost, r.Client.Window.Event.Failed)
		})
	}
	_, err := drivertest.Provision(t, netns.Driver{}, "netns/routed", nil).Path.EventNamed(labdriver.RouteChange)
	must.Fail(t, err, "it has no event route_change, only link_down, policy_added")
}
