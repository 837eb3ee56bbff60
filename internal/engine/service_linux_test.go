package engine_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

// serviceOf describes a service on the engine of a bench, with a port published in mode host.
func serviceOf(b enginetest.Bench) engine.ServiceSpec {
	spec := engine.ServiceSpec{ContainerSpec: b.Spec("server"), Node: b.Engine.Engine}
	spec.Publish = []engine.Publish{{Host: netip.AddrPortFrom(netip.IPv4Unspecified(), 5201), Port: 5201}}
	return spec
}

// The task of a service is a container like any other, with its namespace, limits, sysctls and agents.
// Its Remove removes the service.
func TestEnginesService(t *testing.T) {
	b := newBench(t)
	must.Do(t, private.Swarm(t.Context(), b.Lab, b.Engine))
	spec := serviceOf(b.Bench)
	spec.Limit = study.Limit{CPUs: 0.5, Memory: 64 << 20}
	spec.Sysctls = map[string]string{"net.ipv4.tcp_no_metrics_save": "1"}
	c := must.Get(b.RunService(t.Context(), spec))(t)
	b.Agent(t, c, "service/server")
	if c.Limit != spec.Limit || len(c.Addresses()) != 1 {
		t.Errorf("limited to %+v, want %+v; addresses %v", c.Limit, spec.Limit, c.Addresses())
	}
	ns := must.Get(c.Namespace())(t)
	defer ns.Close()
	must.EqualFor(t, "the container's sysctl is", "1", must.Get(ns.ReadSysctl("net/ipv4/tcp_no_metrics_save"))(must.Named(t, "the container's sysctl is")))
	if got := leftoverKinds(t, b.Engine); !cmp.Equal(got, []string{"service", "container", "image"}) {
		t.Errorf("a run that is dead would have left %q", got)
	}
	for range 2 { // idempotent
		if err := c.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.State(t.Context()); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a removed container: %v", err)
	}
	if got := leftoverKinds(t, b.Engine); !cmp.Equal(got, []string{"image"}) {
		t.Errorf("beside the service are left %q", got)
	}
}

// leftoverKinds returns the kinds of objects of any run on an engine, in order of removal.
func leftoverKinds(t *testing.T, p *private.Engine) (kinds []string) {
	t.Helper()
	left := must.Get(p.Leftovers(t.Context(), nil))(t)
	for _, l := range left {
		kind, _, _ := strings.Cut(l.What, " ")
		kinds = append(kinds, kind)
	}
	return kinds
}

// A service that cannot run is reported on one line with the Swarm's reason, and nothing of it is left.
func TestEnginesServiceFails(t *testing.T) {
	b := newBench(t)
	must.Fail(t, must.Err(b.RunService(t.Context(), serviceOf(b.Bench))), "swarm")
	must.Do(t, private.Swarm(t.Context(), b.Lab, b.Engine))
	spec := serviceOf(b.Bench)
	spec.Sysctls = map[string]string{"net.ipv4.no_such_setting": "1"}
	_, err := b.RunService(t.Context(), spec)
	must.True(t, err != nil && strings.Contains(err.Error(), "its task has ended") && strings.Contains(err.Error(), "no_such_setting") && !strings.Contains(err.Error(), "\n"),
		"a task that does not start: %v", err)
	if got := leftoverKinds(t, b.Engine); !cmp.Equal(got, []string{"image"}) {
		t.Errorf("after it are left %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.FailFor(t, "a service was started although the run was cancelled", must.Err(b.RunService(ctx, serviceOf(b.Bench))))
}

// A service of a dead run is a leftover on the manager, which removes it with its container on another
// engine.
func TestEnginesLeftoversOfService(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	a, b := enginetest.Both(t, l)
	must.Do(t, private.Swarm(t.Context(), l, a, b))
	const dead = "00000001"
	spec := engine.ServiceSpec{ContainerSpec: engine.ContainerSpec{Run: dead, Part: "server", Name: engine.Name(dead, strings.Repeat("long.", 20), "server")}, Node: b.Engine}
	c := must.Get(a.RunService(t.Context(), spec))(t)
	if got := leftoverKinds(t, b); !cmp.Equal(got, []string{"container", "image"}) {
		t.Errorf("the worker lists %q", got)
	}
	if got := leftoverKinds(t, a); !cmp.Equal(got, []string{"service"}) {
		t.Errorf("the manager lists %q", got)
	}
	must.Do(t, a.RemoveRun(t.Context(), dead))
	if got := leftoverKinds(t, a); len(got) > 0 {
		t.Errorf("the manager still lists %q", got)
	}
	if err := c.Remove(t.Context()); err != nil { // waits for the container
		t.Error(err)
	}
}
