//go:build linux

package netns_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tare/internal/driver"
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
	_, err := drivertest.Provision(t, netns.Driver{}, "netns/routed", nil).Path.EventNamed(driver.RouteChange)
	must.Fail(t, err, "it has no event route_change, only link_down, policy_added")
}

// Of a variant without masquerading, whose hosts route the sandboxes over the link, the second link carries these, too.
func TestLinkLost(t *testing.T) {
	for _, c := range []struct {
		mode string
		ipv6 bool
		with map[string]string
	}{
		{"host", false, nil}, {"host", true, nil}, {"netns/published", false, nil}, {"netns/published", true, nil}, {"netns/bridge", false, nil}, {"netns/bridge", true, nil},
		{"netns/bridge", true, map[string]string{"masquerade": driver.Off}},
	} {
		t.Run(fmt.Sprintf("%s %v, ipv6 %t", c.mode, c.with, c.ipv6), func(t *testing.T) {
			t.Parallel()
			o := drivertest.Order(t, c.mode, 1, nil)
			o.With = c.with
			drivertest.Build(t, netns.Driver{}, o).CheckLinkLost(t, c.ipv6)
		})
	}
	_, err := drivertest.Provision(t, netns.Driver{}, "netns/routed", nil).Path.EventNamed(driver.LinkLost)
	must.Fail(t, err, "it has no event link_lost, only link_down, policy_added")
}

// An event that takes longer than the trial in which it is made is undone, and made again in a longer one: how fast this machine is does not
// decide a test.
func TestLinkLostLate(t *testing.T) {
	t.Parallel()
	s := drivertest.Provision(t, netns.Driver{}, "host", nil)
	e := must.Get(s.Path.EventNamed(driver.LinkLost))(t)
	const window = time.Second
	do, made := e.Do, 0
	e.Do = func(ctx context.Context) (func(context.Context) error, error) {
		if made++; made == 1 {
			time.Sleep(window)
		}
		return do(ctx)
	}
	before := must.Get(s.Path.Snapshot(t.Context()))(t)
	r := s.TrialWithEvent(t, e, drivertest.Params("http"), window, false)
	must.True(t, made > 1 && r.Due >= 400 && r.Client.Window.Event.Due == r.Due, "made %d times, of %d requests %+v", made, r.Due, r.Client.Window.Event)
	must.True(t, r.Counters["a/eth0.tx_bytes"] > before["a/eth0.tx_bytes"], "the counters are of before the first trial")
	must.Do(t, r.Undo(t.Context()))
}
