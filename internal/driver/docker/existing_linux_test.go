package docker_test

import (
	"context"
	"testing"

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

// only is a driver with some of its modes.
type only struct {
	driver.Driver
	modes []string
}

func (o only) Modes() []driver.Mode {
	var out []driver.Mode
	for _, id := range o.modes {
		_, m, err := driver.Registry{o.Driver}.For(id)
		if err != nil {
			panic(err)
		}
		out = append(out, m)
	}
	return out
}

func TestExistingPair(t *testing.T) {
	s := stand(t)
	g := guest(t, true, s.hosts...)
	drivertest.Conformance(t, only{g, []string{"host", "host-local", "docker/host", "docker/published", "docker/bridge", "docker/colocated",
		"docker/to-host", "docker/userland-proxy", "docker/overlay"}})
	untouched(t, s.a, s.b)
}

func TestExistingOne(t *testing.T) {
	s := stand(t)
	g := guest(t, false, docker.Host{Target: s.hosts[0].Target})
	drivertest.Conformance(t, only{g, []string{"host-local", "docker/host", "docker/published", "docker/bridge", "docker/colocated",
		"docker/to-host", "docker/userland-proxy"}})
	untouched(t, s.a)
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
	}
}
