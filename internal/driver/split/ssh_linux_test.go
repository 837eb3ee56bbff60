package split_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"tare/internal/driver/split"
	"tare/internal/driver/subcommand"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// Over real ssh servers a mode is built, carried and proven. When the connection to one
// machine ends, the path is lost, and nothing is left on either.
func TestOverSSH(t *testing.T) {
	t.Parallel()
	drivertest.NeedLab(t)
	m := machinetest.Pair(t)
	run := must.Get(runid.New())(t)
	t.Cleanup(run.Release)
	b := &bench{run: run.ID}
	for i, name := range []string{"a", "b"} {
		b.hosts[i] = split.Host{Machine: m.Connect(name), Address: []netip.Addr{m.Machine(name).Link4, m.Machine(name).Link6}[i]}
	}
	b.driver = split.New(subcommand.SplitDrivers(), func(context.Context) ([2]split.Host, error) { return b.hosts, nil })
	s := b.build(t, b.order("wireguard/userspace", 1, nil))
	b.carries(t, s, trial{"tcp_stream", false, false})
	must.Equal(t, nil, s.Path.Lost())
	must.Do(t, b.hosts[1].Machine.Close(t.Context()))
	for until := time.Now().Add(20 * time.Second); s.Path.Lost() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the path is not lost")
		}
	}
	must.Do(t, s.Ends[0].Client.Close())
	must.Do(t, s.Path.Close(t.Context()))
	gone(t, b.run)
}
