package docker_test

import (
	"context"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/driver/drivertest"
	"tare/internal/engine"
	"tare/internal/lab"
)

// standing are the engines of a lab that stand for a user's own machines: tare is
// told their sockets and addresses and nothing else.
type standing struct {
	lab   *lab.Lab
	a, b  *engine.Private
	hosts []docker.Host
}

func stand(t *testing.T) standing {
	t.Helper()
	drivertest.NeedLab(t)
	if err := engine.Lacking(t.Context()); err != nil {
		t.Skip(err)
	}
	s := standing{lab: drivertest.Lab(t, nil)}
	var err error
	if s.a, s.b, err = engine.StartBoth(t.Context(), s.lab); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.CloseAll(s.a, s.b); err != nil {
			t.Error(err)
		}
	})
	s.hosts = []docker.Host{
		{Target: "unix://" + s.a.Socket(), Address: s.lab.A.Addr[0]},
		{Target: "unix://" + s.b.Socket(), Address: s.lab.B.Addr[0]},
	}
	return s
}

func guest(t *testing.T, swarm bool, hosts ...docker.Host) *docker.Guest {
	t.Helper()
	g := docker.Existing(hosts, swarm)
	if err := g.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// weighs builds a mode on existing engines, and expects it to be proven for
// streams, datagrams and connections.
func weighs(t *testing.T, g *docker.Guest, o driver.Order) {
	t.Helper()
	o.Lab, o.Pairs = drivertest.Spec(t, func(l *lab.Spec) { l.Label = o.Mode }), max(o.Pairs, 1)
	s := drivertest.Stands(t, g, o)
	top, err := s.Path.Topology()
	if err != nil {
		t.Fatal(err)
	}
	if len(top.Nodes) < 3 || len(top.Edges) != len(top.Nodes)-1 {
		t.Errorf("topology of %d nodes and %d edges is no chain", len(top.Nodes), len(top.Edges))
	}
	for _, kind := range []string{"tcp_stream", "tcp_crr", "udp_stream"} {
		for _, reverse := range []bool{false, true} {
			p := drivertest.Params(kind)
			if kind == "tcp_crr" {
				p.Duration = 500 * time.Millisecond // on a busy machine it carries little
			}
			if p.Reverse = reverse; reverse && kind == "tcp_crr" {
				continue
			}
			reports, err := s.Together(t, p, false, o.Pairs)
			if err != nil {
				t.Errorf("%s, reverse %t: %v", kind, reverse, err)
			}
			for i, r := range reports {
				if r.Client.Received+r.Server.Received == 0 {
					t.Errorf("%s, reverse %t: pair %d carried nothing", kind, reverse, i+1)
				}
			}
		}
	}
}

func TestExistingPair(t *testing.T) {
	s := stand(t)
	g := guest(t, true, s.hosts...)
	t.Cleanup(func() { untouched(t, s.a, s.b) })
	for _, mode := range []string{"host", "host-local", "docker/host", "docker/published", "docker/bridge", "docker/colocated",
		"docker/to-host", "docker/userland-proxy", "docker/overlay"} {
		t.Run(mode, func(t *testing.T) { weighs(t, g, driver.Order{Mode: mode}) })
	}
}

func TestExistingOne(t *testing.T) {
	s := stand(t)
	g := guest(t, false, docker.Host{Target: s.hosts[0].Target})
	t.Cleanup(func() { untouched(t, s.a) })
	for _, mode := range []string{"host-local", "docker/host", "docker/published", "docker/colocated", "docker/to-host", "docker/userland-proxy"} {
		t.Run(mode, func(t *testing.T) { weighs(t, g, driver.Order{Mode: mode, Pairs: 2}) })
	}
}

// untouched fails where anything of a run is left on an engine.
func untouched(t *testing.T, engines ...*engine.Private) {
	t.Helper()
	for _, e := range engines {
		left, err := e.Leftovers(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range left {
			t.Errorf("left: %s", l.What)
		}
		if state, err := e.Swarm(context.Background()); err != nil || state.Active() {
			t.Errorf("engine %s is in a Swarm (%+v, %v)", e.Name, state, err)
		}
	}
}
