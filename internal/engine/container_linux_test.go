package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver/drivertest"
	"tare/internal/engine"
	"tare/internal/lab"
)

// private starts an engine on host a of a lab of its own, both gone with the test.
func private(t *testing.T) (*lab.Lab, *engine.Private) {
	t.Helper()
	needEngine(t)
	l := drivertest.Lab(t, nil)
	p, err := engine.Start(t.Context(), l, l.A)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, p
}

// run starts a container that is removed with the test.
func run(t *testing.T, l *lab.Lab, p *engine.Private, part string, change func(*engine.ContainerSpec)) *engine.Container {
	t.Helper()
	spec := engine.ContainerSpec{Run: l.Spec.Claim.ID, Part: part, Name: engine.Name(l.Spec.Claim.ID, l.Spec.Label, part)}
	if change != nil {
		change(&spec)
	}
	c, err := p.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts an agent in a container that ends with the test.
func start(t *testing.T, l *lab.Lab, c *engine.Container) *agent.Client {
	t.Helper()
	a, err := agent.Start(t.Context(), c, l.Spec.Claim.ID, "a/"+c.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// A container has its address, its namespace and its agent; an agent that ends is
// started again in the same place.
func TestRun(t *testing.T) {
	l, p := private(t)
	t.Log(p.Versions)
	began := time.Now()
	if _, err := p.Image(t.Context(), l.Spec.Claim.ID); err != nil {
		t.Fatal(err)
	}
	t.Log("image", time.Since(began))
	began = time.Now()
	c := run(t, l, p, "server", nil)
	t.Log("create+start", time.Since(began), c.Endpoints)
	a := start(t, l, c)
	t.Log("hello", time.Since(began), a.Hello)
	ns, err := c.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	mac, err := ns.Hardware("eth0")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Endpoints) != 1 || c.Endpoints[0].MAC != mac.String() {
		t.Errorf("the device has %v, the engine says %+v", mac, c.Endpoints)
	}
	began = time.Now()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	t.Log("agent ended in", time.Since(began))
	began = time.Now()
	start(t, l, c)
	t.Log("again", time.Since(began))
	began = time.Now()
	if err := c.Remove(context.Background()); err != nil {
		t.Error(err)
	}
	t.Log("remove", time.Since(began))
	if _, err := c.State(t.Context()); err == nil || !strings.Contains(err.Error(), "no such") {
		t.Errorf("%v", err)
	}
}
