package existing_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/existing"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// standing are a lab's engines that represent a user's own machines: the driver gets only
// their sockets and addresses.
type standing struct {
	lab   *lab.Lab
	a, b  *private.Engine
	hosts []existing.Host
}

func stand(t *testing.T) standing {
	t.Helper()
	drivertest.NeedEngine(t)
	s := standing{lab: drivertest.Lab(t, nil)}
	var err error
	if s.a, s.b, err = private.StartBoth(t.Context(), s.lab); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must.Do(t, private.CloseAll(s.a, s.b)) })
	s.hosts = []existing.Host{
		{Target: "unix://" + s.a.Socket(), Address: s.lab.A.Addr[0]},
		{Target: "unix://" + s.b.Socket(), Address: s.lab.B.Addr[0]},
	}
	return s
}

func connect(t *testing.T, swarm bool, hosts ...existing.Host) *existing.Driver {
	t.Helper()
	g := existing.New(hosts, swarm)
	must.Do(t, g.Open(t.Context()))
	t.Cleanup(func() { must.Do(t, g.Close()) })
	return g
}

// stay keeps a path set up for the length of a test, and with it what all paths of a run
// share, as other modes do in a run. It returns the run.
func stay(t *testing.T, g *existing.Driver) lab.Spec {
	t.Helper()
	spec := drivertest.Spec(t, func(l *lab.Spec) { l.Label = "first" })
	p := must.Get(g.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "host-local", Pairs: 1}).Order))(t)
	t.Cleanup(func() { must.Do(t, p.Close(context.Background())) })
	return spec
}

// checkMode builds a mode on existing engines, and expects it to be proven for streams,
// datagrams and connections, and with several pairs for clients of one server.
func checkMode(t *testing.T, g *existing.Driver, o driver.Order) {
	t.Helper()
	o.Label, o.Pairs = o.Mode, max(o.Pairs, 1)
	s := drivertest.BuildOn(t, g, o)
	s.CheckTopology(t)
	for _, kind := range []string{"tcp_stream", "tcp_crr", "udp_stream"} {
		for _, reverse := range []bool{false, true} {
			p := drivertest.Params(kind)
			if kind == "tcp_crr" {
				p.RequestSize, p.ResponseSize = 2000, 2000 // a busy machine opens few connections
			}
			if p.Direction = studytest.Direction(reverse); reverse && kind == "tcp_crr" {
				continue
			}
			reports, err := s.TrialPairs(t, p, false, o.Pairs)
			must.EqualFor(t, fmt.Sprintf("%s, reverse %t", kind, reverse), nil, err)
			for i, r := range reports {
				if r.Client.Received+r.Server.Received == 0 {
					t.Errorf("%s, reverse %t: pair %d carried nothing", kind, reverse, i+1)
				}
			}
		}
	}
	if o.Pairs > 1 {
		s.ConformsFanIn(t, "http", false)
	}
}

func TestExistingPair(t *testing.T) {
	t.Parallel()
	s := stand(t)
	g := connect(t, true, s.hosts...)
	t.Cleanup(func() { untouched(t, s.a, s.b) })
	run := stay(t, g)
	for mode, pairs := range map[string]int{"host": 1, "host-local": 1, "docker/host": 1, "docker/published": 2, "docker/bridge": 2, "docker/colocated": 1,
		"docker/to-host": 1, "docker/userland-proxy": 1, "docker/overlay": 2} {
		t.Run(mode, func(t *testing.T) {
			checkMode(t, g, drivertest.SpecOn(run, driver.Order{Mode: mode, Pairs: pairs}).Order)
		})
	}
	// Two networks on one link, as on a user's LAN, with reserved addresses.
	wire := s.lab.Addresses(lab.NetUnderlay, 64)[0]
	t.Run("docker/driver:macvlan", func(t *testing.T) {
		checkMode(t, g, drivertest.SpecOn(run, driver.Order{Mode: "docker/driver:macvlan", Pairs: 2, Options: map[string]string{
			"parent": lab.Underlay, "subnet": wire.Masked().String(), "gateway": s.lab.Addresses(lab.NetUnderlay, 254)[0].Addr().String(),
			"ip-range": netip.PrefixFrom(wire.Addr(), 28).String(),
		}}).Order)
	})
}

func TestExistingOne(t *testing.T) {
	t.Parallel()
	s := stand(t)
	g := connect(t, false, existing.Host{Target: s.hosts[0].Target})
	t.Cleanup(func() { untouched(t, s.a) })
	run := stay(t, g)
	for _, mode := range []string{"host-local", "docker/host", "docker/published", "docker/colocated", "docker/to-host", "docker/userland-proxy"} {
		t.Run(mode, func(t *testing.T) {
			checkMode(t, g, drivertest.SpecOn(run, driver.Order{Mode: mode, Pairs: 2}).Order)
		})
	}
	must.Get(s.a.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "home", Driver: "bridge"}))(t)
	for _, mode := range []string{"docker/network:home", "docker/driver:bridge"} {
		t.Run(mode, func(t *testing.T) { checkMode(t, g, drivertest.SpecOn(run, driver.Order{Mode: mode}).Order) })
	}
}

// untouched fails if something of a run is left on an engine.
func untouched(t *testing.T, engines ...*private.Engine) {
	t.Helper()
	for _, e := range engines {
		left := must.Get(e.Leftovers(context.Background(), nil))(t)
		for _, l := range left {
			t.Errorf("left: %s", l.What)
		}
		if state, err := e.Swarm(context.Background()); err != nil || state.Active() {
			t.Errorf("engine %s is in a Swarm (%+v, %v)", e.Name, state, err)
		}
	}
}
