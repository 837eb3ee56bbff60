package k8s

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/study"
)

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.Order) error {
	return remote.ProbeByProvision(ctx, o, func(ctx context.Context, o driver.Order) (*driver.Path, error) {
		o.Label = "probe" // a mode's name is no label of a pod
		return d.Provision(ctx, o)
	})
}

// Provision builds the mode on the cluster.
func (d *Driver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	r, err := d.row(o)
	if err != nil {
		return nil, err
	}
	if err := d.Open(ctx); err != nil {
		return nil, err
	}
	c, nodes := d.Cluster()
	b := 1
	if r.near {
		b = 0
	}
	if b >= len(nodes) {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("this mode requires two nodes on which pods can be scheduled, and cluster %s has only %s", c.Context, nodes[0].Name)}
	}
	session, err := d.sessions.Enter(ctx, o.Run, 0, b)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, order: o, driver: d, cluster: c, session: session, a: session.Host(0), b: session.Host(b)}
	p.read = remote.Path{Spec: &p.Path, A: p.a, B: p.b}
	p.pods = pods{spec: &p.Path, order: o, driver: d, cluster: c, session: session}
	p.reached = reached{spec: &p.Path, read: &p.read, pods: &p.pods}
	if err := p.build(ctx, r); err != nil {
		return nil, errors.Join(p.provisionError(ctx, err), p.end(context.WithoutCancel(ctx)))
	}
	own := driver.Path{
		Hosts: d.Hosts()[:1+b], Facts: p.facts(nodes[:1+b]), Snapshot: p.snapshot, Warnings: p.pods.sidecarWarnings(),
		RewritesHeads: p.requests != "", Forwarded: p.requests, Events: p.events(), Lost: p.lost, Foreign: p.read.Foreign, Close: remote.CloseOnce(p.end), Internal: p,
	}
	if p.requests == "" { // a controller carries requests alone
		own.Probe = remote.EndpointProbe(&p.Path, "in the configuration of the cluster's network plugin")
	}
	return p.DriverPath(own), nil
}

func (p *path) build(ctx context.Context, r *row) error {
	if err := p.pods.prepare(ctx); err != nil {
		return err
	}
	return r.build(p, ctx)
}

// provisionError names the mode in an error, unless it already does.
func (p *path) provisionError(ctx context.Context, err error) error {
	if _, ok := driver.AsUnsupported(err); ok {
		return err
	}
	return fmt.Errorf("provision %s: %w", p.Mode, p.explainError(ctx, err))
}

// idOf returns the id of a mode: of one with a name of the user's, that with NAME in its place.
func idOf(mode string) string {
	if stem, _, open := strings.Cut(mode, ":"); open {
		return stem + ":NAME"
	}
	return mode
}

// row returns the row of a mode, or an error if no cluster can provide it.
func (d *Driver) row(o driver.Order) (*row, error) {
	unsupported := func(reason string) (*row, error) {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: reason}
	}
	if err := o.CheckPairs(); err != nil {
		return nil, err
	}
	r := rowOf(o.Mode)
	switch {
	case r == nil:
		return nil, fmt.Errorf("mode %q is not available on a cluster", o.Mode)
	case r.nodes && d.options.NoHostNetwork:
		return unsupported("an endpoint of this mode is a process on the host network of a node, and --no-hostnet leaves that out")
	case len(o.With) > 0:
		return unsupported("nothing is left out or set on a cluster, because that would change the user's nodes; run it on a lab: --engine lab")
	case o.MTU != 0:
		return unsupported("the cluster's network decides the MTU of pods; leave out mtu")
	case o.Limits != (study.Limits{}) && (o.Mode == hostnet || o.Mode == hostnetLocal):
		return unsupported("the host network is read and used by one pod without limits; leave out limits")
	}
	return r, checkOptions(o)
}
