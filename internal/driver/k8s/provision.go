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

// recipe is how a mode is built.
type recipe struct {
	near  bool // both endpoints are on the first node; otherwise it requires two
	nodes bool // an endpoint is a process on the host network
	build func(*path, context.Context) error
}

func recipes() map[string]recipe {
	return map[string]recipe{
		hostnet:              {nodes: true, build: (*path).nodes},
		hostnetLocal:         {near: true, nodes: true, build: (*path).nodes},
		"k8s/pod":            {build: (*path).podToPod},
		podLocal:             {near: true, build: (*path).podToPod},
		"k8s/pod-to-node":    {nodes: true, build: (*path).podToNode},
		"k8s/node-to-pod":    {nodes: true, build: (*path).nodeToPod},
		"k8s/service":        {build: (*path).service},
		"k8s/service-local":  {near: true, build: (*path).service},
		"k8s/nodeport":       {nodes: true, build: (*path).nodePort},
		"k8s/hairpin":        {near: true, build: (*path).hairpin},
		loadBalancer:         {nodes: true, build: (*path).loadBalancer},
		ingressMode + "NAME": {build: (*path).ingress},
		gatewayMode + "NAME": {build: (*path).gateway},
		networkMode + "NAME": {build: (*path).additionalNetwork},
	}
}

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.Order) error {
	return remote.ProbeByProvision(ctx, o, func(ctx context.Context, o driver.Order) (*driver.Path, error) {
		o.Label = "probe" // a mode's name is no label of a pod
		return d.Provision(ctx, o)
	})
}

// Provision builds the mode on the cluster.
func (d *Driver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	r, err := d.recipe(o)
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
		Hosts: d.Hosts()[:1+b], Facts: p.facts(nodes[:1+b]), Snapshot: p.snapshot, Checks: []func() error{p.reached.checkProxied}, Warnings: p.pods.warnings,
		RewritesHeads: p.requests != "", Forwarded: p.requests, Lost: p.lost, Foreign: p.read.Foreign, Close: remote.CloseOnce(p.end), Internal: p,
	}
	if p.requests == "" { // a controller carries requests alone
		own.Probe = remote.EndpointProbe(&p.Path, "in the configuration of the cluster's network plugin")
	}
	return p.DriverPath(own), nil
}

func (p *path) build(ctx context.Context, r recipe) error {
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

// recipe returns the recipe of a mode, or an error if no cluster can provide it.
func (d *Driver) recipe(o driver.Order) (recipe, error) {
	unsupported := func(reason string) (recipe, error) {
		return recipe{}, &driver.Unsupported{Mode: o.Mode, Reason: reason}
	}
	if err := o.CheckPairs(); err != nil {
		return recipe{}, err
	}
	r, ok := recipes()[idOf(o.Mode)]
	switch {
	case !ok:
		return recipe{}, fmt.Errorf("mode %q is not available on a cluster", o.Mode)
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
