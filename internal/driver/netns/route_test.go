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
			before := s.Snapshot(t)
			listen, dial, err := s.Path.Pairs[0].Server.Reach(ipv6)
			must.Do(t, err)
			p := drivertest.Params("http")
			p.Streams, p.TransactionRate, p.Event, p.Warmup, p.Duration, p.KeepAlive = 8, 200, e.Name, 200*time.Millisecond, 6*time.Second, study.On
			client, server := p, p
			client.Address, server.Address = dial.String(), listen.String()
			trial := must.Get(agent.Begin(t.Context(), s.Ends[0].Client, s.Ends[0].Server, client, server))(t)
			var undo func(context.Context) error
			state := must.Get(e.State(t.Context()))(t)
			made := make(chan error, 1)
			go func() {
				time.Sleep(2 * time.Second) // within the window on a machine of any load
				err := trial.Event(t.Context(), false)
				if err == nil {
					undo, err = e.Do(t.Context())
				}
				made <- errors.Join(err, trial.Event(t.Context(), true))
			}()
			at, to, err := trial.Run(t.Context())
			must.Do(t, errors.Join(err, <-made))
			after := must.Get(e.State(t.Context()))(t)
			must.Do(t, e.Happened(state, after))
			must.Fail(t, e.Happened(after, after), "a/eth1.tx_packets went from")
			must.Do(t, undo(t.Context()))
			must.Do(t, undo(t.Context())) // there is nothing left
			must.Equal(t, state, must.Get(e.State(t.Context()))(t))

			carried := []driver.Carried{driver.CarriedBy(at, to)}
			must.Fail(t, s.Proof(t, before, carried), "counter a/eth0.tx_bytes moved by")
			whole := must.Get(s.Path.Snapshot(t.Context()))(t)
			for from, of := range e.Elsewhere {
				whole[of] += after[from] - state[from]
			}
			must.Do(t, s.Path.Prove(before, whole, carried))
			if seen := at.Window.Event; seen == nil || seen.Due != 1200 || seen.Gap <= 0 {
				t.Fatalf("%+v", seen)
			}
			_, _, err = s.Trial(t, drivertest.Params("http"), ipv6)
			must.Do(t, err)
			t.Logf("a gap of %.3g s, %d connections lost, %v", at.Window.Event.Gap, *at.Window.Event.Lost, at.Window.Event.Failed)
		})
	}
	_, err := drivertest.Provision(t, netns.Driver{}, "netns/routed", nil).Path.EventNamed(labdriver.RouteChange)
	must.Fail(t, err, "it has no event route_change, only link_down, policy_added")
}
