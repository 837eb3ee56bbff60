package private_test

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
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

// An engine that gives up waiting for the manager of a Swarm is asked again, and starts the container if the manager can then
// attach it: here as soon as addresses are free.
func TestEnginesLateManager(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	a, b := enginetest.Both(t, l)
	ctx := t.Context()
	must.Do(t, private.Swarm(ctx, l, a, b))
	run := l.Spec.Claim.ID
	small := netip.PrefixFrom(l.Addresses(lab.NetOverlay, 1)[0].Addr(), 29).Masked()
	n := must.Get(a.CreateNetwork(ctx, engine.NetworkSpec{Run: run, Name: engine.Name(run, "net"), Driver: "overlay", Attachable: true, Subnet: small}))(t)
	start := func(p *private.Engine, part string) (*engine.Container, error) {
		return p.Run(ctx, engine.ContainerSpec{Run: run, Part: part, Name: engine.Name(run, part), Network: n.Name})
	}
	var others []*engine.Container
	for i := range 4 { // with the gateway and the manager's load balancer, all addresses of a /29
		others = append(others, must.Get(start(a, "other"+strconv.Itoa(i)))(t))
	}
	ran := make(chan error, 1)
	go func() {
		_, err := start(b, "client")
		ran <- err
	}()
	for late := false; !late; time.Sleep(100 * time.Millisecond) {
		select {
		case err := <-ran:
			t.Fatalf("without a free address: %v", err)
		default:
		}
		late = strings.Contains(string(must.Get(os.ReadFile(b.Log()))(t)), "attaching to network failed")
	}
	// The engine stands still until the addresses are free, so that it is late once more at most.
	dockerd := daemon(t, b.InitPID()).pid
	must.Do(t, syscall.Kill(dockerd, syscall.SIGSTOP))
	for _, c := range others {
		if err := c.Remove(ctx); err != nil {
			t.Error(err)
		}
	}
	must.Do(t, syscall.Kill(dockerd, syscall.SIGCONT))
	must.Do(t, <-ran)
}
