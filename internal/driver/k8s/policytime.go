package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/agent"
	"tare/internal/driver/pathspec"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/timelimit"
)

// The steps of a set-up in which a network policy takes effect.
const (
	stepEnforced = "network policy enforced"
	stepLifted   = "network policy lifted"
)

// effectTimeout bounds how long a network may take to follow a policy.
func effectTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// timePolicy times how long the network takes until it enforces a policy that closes a port of the server's pod, from the call that creates it,
// and until the port is open again, from the call that removes it. Where that cannot be found out, a fact says why, and no further set-up tries.
func (p *path) timePolicy(ctx context.Context, client, server *endpoint) error {
	why := p.driver.untimed("")
	if why == "" {
		var err error
		if why, err = p.policySteps(ctx, client, server); err != nil {
			return fmt.Errorf("time a network policy: %w", err)
		}
	}
	if p.driver.untimed(why) != "" {
		p.AddFacts(result.Fact{Name: "effect of a network policy", Value: "unknown: " + why})
	}
	return nil
}

// untimed returns why the effect of policies cannot be timed, which is why from now on unless that is empty.
func (d *Driver) untimed(why string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if why != "" {
		d.policies = why
	}
	return d.policies
}

// policySteps times the two steps. It returns why they cannot be timed on this cluster.
func (p *path) policySteps(ctx context.Context, client, server *endpoint) (why string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at := netip.AddrPortFrom(server.Addr, closedPort)
	port, err := agent.OpenPort(ctx, client.Agent, server.Agent, at, at, 4*effectTimeout())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, port.Close(context.WithoutCancel(ctx))) }()
	closed, err := port.Closing(ctx, effectTimeout())
	if err != nil {
		return "", err
	}
	spec := p.pods.policies("timed", 0)
	spec.Open = pathspec.FirstPort
	created := time.Now()
	if err := p.cluster.CreatePolicies(ctx, spec); err != nil {
		_ = p.cluster.RemovePolicies(context.WithoutCancel(ctx), spec) // it may exist although its answer was lost
		return refused(err)
	}
	enforced, err := closed(ctx)
	if err != nil {
		why, failed := refused(p.cluster.RemovePolicies(context.WithoutCancel(ctx), spec))
		if errors.Is(err, agent.ErrStillOpen) {
			return cmp.Or(why, "the cluster's network does not enforce one"), failed
		}
		return "", errors.Join(err, failed)
	}

	type moment struct {
		at  time.Time
		err error
	}
	opened := make(chan moment, 1)
	go func() {
		at, err := port.Opened(ctx, effectTimeout())
		opened <- moment{at, err}
	}()
	removed := time.Now()
	if err := p.cluster.RemovePolicies(context.WithoutCancel(ctx), spec); err != nil {
		return refused(err)
	}
	lifted := <-opened
	if lifted.err != nil {
		return "", fmt.Errorf("it is removed, and its port is still closed: %w", lifted.err)
	}
	p.order.Clock.Step(stepEnforced, enforced.Sub(created))
	p.order.Clock.Step(stepLifted, lifted.at.Sub(removed))
	return "", nil
}

// refused tells that the user may not create or remove policies from another error.
func refused(err error) (why string, _ error) {
	if errors.Is(err, kube.ErrForbidden) {
		return err.Error(), nil
	}
	return "", err
}
