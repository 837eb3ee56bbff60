//go:build linux

package netns_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tare/internal/agent"
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
func TestEndpointReplaced(t *testing.T) {
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
	must.Fail(t, err, "it has no event endpoint_replaced, only link_down, policy_added, route_change")
	_, err = drivertest.ProvisionPairs(t, netns.Driver{}, "netns/bridge", 2, nil).Path.EventNamed(study.EndpointReplaced)
	must.Fail(t, err, "it has no event endpoint_replaced, only link_down, policy_added, route_change")
}

// replacedWithin is a trial in whose middle the server is replaced.
func replacedWithin(t *testing.T, s *drivertest.Setup, p traffic.Params, ipv6 bool) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(study.EndpointReplaced))(t)
	before := s.Snapshot(t)
	listen, dial, err := s.Path.Pairs[0].Server.Reach(ipv6)
	must.Do(t, err)
	listen2, _, err := s.Path.Pairs[1].Server.Reach(ipv6)
	must.Do(t, err)
	p.Streams, p.TransactionRate, p.Event, p.Warmup, p.Duration = 8, 200, e.Name, 200*time.Millisecond, 6*time.Second
	client, server, second := p, p, p
	client.Address, server.Address, second.Address = dial.String(), listen.String(), listen2.String()
	trial := must.Get(agent.Begin(t.Context(), s.Ends[0].Client, s.Ends[0].Server, client, server))(t)
	must.Do(t, trial.Standby(t.Context(), s.Ends[1].Server, second))
	must.Equal(t, 3, len(trial.Endpoints()))
	var undo func(context.Context) error
	state := must.Get(e.State(t.Context()))(t)
	made := make(chan error, 1)
	go func() {
		time.Sleep(2 * time.Second) // within the window on a machine of any load
		err := trial.Event(t.Context(), false)
		if err == nil {
			undo, err = e.Do(t.Context())
		}
		made <- errors.Join(err, trial.Replace(t.Context()), trial.Event(t.Context(), true))
	}()
	at, to, err := trial.Run(t.Context())
	must.Do(t, errors.Join(err, <-made))
	after := must.Get(e.State(t.Context()))(t)
	must.Do(t, e.Happened(state, after))
	must.Fail(t, e.Happened(state, state), "4 rules still translate the port to b/server")
	must.Do(t, undo(t.Context()))
	must.Equal(t, state, must.Get(e.State(t.Context()))(t))

	one, other := trial.Turns()
	if one.Messages == 0 || other.Messages == 0 || one.Messages+other.Messages != to.Messages {
		t.Errorf("%d requests answered, and %d in its place, of %d", one.Messages, other.Messages, to.Messages)
	}
	must.Do(t, s.Proof(t, before, driver.CarriedInTurn(at, one, other)))
	if s.Proof(t, before, []driver.Carried{driver.CarriedBy(at, to)}) == nil {
		t.Error("the path is proven for the first server alone")
	}
	if s.Proof(t, before, driver.CarriedInTurn(at, other, one)) == nil {
		t.Error("the path is proven for the servers in the other order")
	}
	seen := at.Window.Event
	if seen == nil || seen.Due != 1200 || seen.Gap <= 0 || (seen.Lost == nil) != (p.KeepAlive == study.Off) {
		t.Fatalf("%+v", seen)
	}
	if seen.Lost != nil && *seen.Lost < 8 {
		t.Errorf("%d of 8 connections were lost", *seen.Lost)
	}
}
