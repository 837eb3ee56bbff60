//go:build linux

package engines

import (
	"context"
	"time"

	"tare/internal/driver"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/timelimit"
)

// serviceHostPort: as published, with a task of a service as server, whose port is published in mode
// host. Such a task is on the default bridge, like any container.
func (p *path) serviceHostPort(ctx context.Context) error {
	if err := p.swarm(ctx, p.b); err != nil {
		return err
	}
	if err := p.startAsTasks(p.b, false); err != nil {
		return err
	}
	return p.published(ctx)
}

// settleTimeout bounds the wait for a Swarm's engines to finish what they do in the background, on a
// real CPU. It takes a fraction of a second.
func settleTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// swarm creates a Swarm of the engines of hosts, the first of which is its manager. It waits until they
// have set up the routing mesh, whose devices appear on the hosts and move to other namespaces. An
// engine that cannot set it up, because the kernel lacks VXLAN, runs tasks nevertheless.
func (p *path) swarm(ctx context.Context, nodes ...*side) error {
	var workers []*private.Engine
	for _, s := range nodes[1:] {
		workers = append(workers, s.engine)
	}
	if err := private.Swarm(ctx, p.lab, nodes[0].engine, workers...); err != nil {
		return err
	}
	for _, s := range nodes {
		if _, err := p.findMesh(ctx, s, settleTimeout()); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// startAsTasks makes the containers of the path tasks of services, created by the engine of a manager.
func (p *path) startAsTasks(manager *side, ingress bool) error {
	if err := manager.engine.CheckUnfilteredService(); p.order.Without(partSeccomp) && err != nil {
		return &driver.Unsupported{Mode: p.Mode, Reason: err.Error()}
	}
	p.startContainer = func(ctx context.Context, s *side, spec engine.ContainerSpec) (*engine.Container, error) {
		return manager.engine.RunService(ctx, engine.ServiceSpec{ContainerSpec: spec, Node: s.engine.Engine, Ingress: ingress})
	}
	return nil
}
