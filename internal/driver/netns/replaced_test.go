//go:build linux

package netns_test

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// While requests are in progress, the server of the second pair takes the place of the first one behind the published port. The
// kernel's rules show it, each server answers requests in its turn, and the path is proven for both; it is not for the first server
// alone. Afterwards the first one is back.
func TestFaultsEndpointReplaced(t *testing.T) {
	s := drivertest.ProvisionPairs(t, netns.Driver{}, "netns/published", 2, nil)
	for _, c := range []struct {
		keepAlive, tls string
		ipv6           bool
	}{{study.On, study.Off, false}, {study.Off, study.Off, true}, {study.On, study.On, false}} {
		t.Run(fmt.Sprintf("keep_alive %s, tls %s, ipv6 %t", c.keepAlive, c.tls, c.ipv6), func(t *testing.T) {
			p := drivertest.Params("http")
			p.KeepAlive, p.TLS = c.keepAlive, c.tls
			replacedWithin(t, s, p, c.ipv6)
			_, _, err := s.Trial(t, drivertest.Params("http"), c.ipv6)
			must.Do(t, err)
		})
	}
	one := drivertest.Provision(t, netns.Driver{}, "netns/published", nil)
	_, err := one.Path.EventNamed(study.EndpointReplaced)
	must.Fail(t, err, "it has no event endpoint_replaced, only link_down, policy_added, route_change, link_lost")
	_, err = drivertest.ProvisionPairs(t, netns.Driver{}, "netns/bridge", 2, nil).Path.EventNamed(study.EndpointReplaced)
	must.Fail(t, err, "it has no event endpoint_replaced, only link_down, policy_added, route_change, link_lost")
}

// replacedWithin is a trial in whose middle the server is replaced.
func replacedWithin(t *testing.T, s *drivertest.Setup, p traffic.Params, ipv6 bool) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(study.EndpointReplaced))(t)
	r := s.TrialWithEvent(t, e, p, 6*time.Second, ipv6)
	must.Equal(t, 3, len(r.Endpoints()))
	must.Fail(t, e.Happened(r.Before, r.Before), "b/server/published.rules is still 4")
	must.Do(t, r.Undo(t.Context()))
	must.Equal(t, r.Before, must.Get(e.State(t.Context()))(t))

	one, other := r.Turns()
	if one.Messages == 0 || other.Messages == 0 || one.Messages+other.Messages != r.Server.Messages {
		t.Errorf("%d requests answered, and %d in its place, of %d", one.Messages, other.Messages, r.Server.Messages)
	}
	must.Do(t, s.Proof(t, r.Counters, driver.CarriedInTurn(r.Client, one, other)))
	if s.Proof(t, r.Counters, []driver.Carried{driver.CarriedBy(r.Client, r.Server)}) == nil {
		t.Error("the path is proven for the first server alone")
	}
	if s.Proof(t, r.Counters, driver.CarriedInTurn(r.Client, other, one)) == nil {
		t.Error("the path is proven for the servers in the other order")
	}
	seen := r.Client.Window.Event
	if seen == nil || seen.Due != r.Due || seen.Gap <= 0 || (seen.Lost == nil) != (p.KeepAlive == study.Off) {
		t.Fatalf("%+v", seen)
	}
	if seen.Lost != nil && *seen.Lost < 8 {
		t.Errorf("%d of 8 connections were lost", *seen.Lost)
	}
}
