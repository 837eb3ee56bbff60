// Package enginetest gives tests a private engine on its own lab, with containers and agents that
// end with the test.
package enginetest

import (
	"context"
	"testing"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
)

// Bench is an engine on host a of a lab. Both end with the test.
type Bench struct {
	*private.Engine
	Lab *lab.Lab
	ID  string // of the run
}

// New starts the engine.
func New(t *testing.T) Bench {
	t.Helper()
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	p, err := private.Start(t.Context(), l, l.A)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return Bench{p, l, l.Spec.Claim.ID}
}

// Both starts the engines of a lab. They end with the test, before the lab.
func Both(t *testing.T, l *lab.Lab) (a, b *private.Engine) {
	t.Helper()
	a, b, err := private.StartBoth(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := private.CloseAll(a, b); err != nil {
			t.Error(err)
		}
	})
	return a, b
}

// Spec describes a container of the bench's run.
func (b Bench) Spec(part string) engine.ContainerSpec {
	return engine.ContainerSpec{Run: b.ID, Part: part, Name: engine.Name(b.ID, b.Lab.Spec.Label, part)}
}

// Container starts a container that is removed with the test.
func (b Bench) Container(t *testing.T, spec engine.ContainerSpec) *engine.Container {
	t.Helper()
	c, err := b.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 { // idempotent
			if err := c.Remove(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// Agent starts an agent that ends with the test.
func (b Bench) Agent(t *testing.T, l transport.Launcher, place string) *agent.Client {
	t.Helper()
	a, err := agent.Start(t.Context(), l, b.ID, place)
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
