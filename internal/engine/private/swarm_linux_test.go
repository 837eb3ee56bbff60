package private_test

import (
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

// Both engines join one Swarm, and can leave it again.
func TestEnginesSwarm(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	a, b := enginetest.Both(t, l)
	began := time.Now()
	must.Do(t, private.Swarm(t.Context(), l, a, b))
	t.Logf("the Swarm was ready in %v", time.Since(began))
	for i, p := range []*private.Engine{a, b} {
		s, err := p.Swarm(t.Context())
		if err != nil || !s.Active() || s.Manager != (i == 0) || s.Addr == "" {
			t.Errorf("engine %s: %+v, %v", p.Name, s, err)
		}
	}
	for _, p := range []*private.Engine{b, a} {
		for range 2 {
			must.Equal(t, nil, p.LeaveSwarm(t.Context()))
		}
		if s, err := p.Swarm(t.Context()); err != nil || s.State != "inactive" {
			t.Errorf("engine %s after it left: %+v, %v", p.Name, s, err)
		}
	}
}
