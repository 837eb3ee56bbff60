//go:build linux

package existing

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/runid"
	"tare/internal/study"
)

// recipe is how a mode is built on existing engines.
type recipe struct {
	near  bool // both endpoints are always on the first host
	far   bool // requires two hosts
	raw   bool // the client is a process of its host: a machine needs no engine for it
	build func(*path, context.Context) error
}

func recipes() map[string]recipe {
	return map[string]recipe{
		containers.Host:            {far: true, build: (*path).hosts},
		containers.HostLocal:       {near: true, build: (*path).hosts},
		"docker/host":              {build: (*path).hosts},
		"docker/published":         {raw: true, build: (*path).published},
		"docker/bridge":            {far: true, build: (*path).bridge},
		"docker/colocated":         {near: true, build: (*path).colocated},
		"docker/to-host":           {near: true, build: (*path).toHost},
		"docker/userland-proxy":    {near: true, build: (*path).userlandProxy},
		"docker/macvlan":           {far: true, build: (*path).linkNetwork},
		"docker/ipvlan":            {far: true, build: (*path).linkNetwork},
		"docker/overlay":           {far: true, build: (*path).overlay},
		"docker/overlay-encrypted": {far: true, build: (*path).overlay},
		"docker/network:NAME":      {build: (*path).network},
		"docker/driver:NAME":       {build: (*path).withDriver},
	}
}

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.ModeSpec) error {
	run, err := runid.New()
	if err != nil {
		return err
	}
	defer run.Release()
	o.Run, o.Label, o.Pairs = run.ID, o.Mode, 1
	p, err := d.Provision(ctx, o)
	if err != nil {
		return err
	}
	return p.Close(ctx)
}

// Provision builds the mode on the existing engines.
func (d *Driver) Provision(ctx context.Context, o driver.ModeSpec) (*driver.Path, error) {
	r, err := d.recipe(o)
	if err != nil {
		return nil, err
	}
	b := 0
	if len(d.hosts) > 1 && !r.near {
		b = 1
	}
	session, err := d.sessions.Enter(ctx, o.Run, 0, b)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, order: o, driver: d, session: session}
	if r.raw && b > 0 && d.hosts[0].Machine != nil {
		p.a = &host{Host: session.Host(0)}
	} else {
		p.a, err = d.host(ctx, session, 0)
	}
	if err == nil {
		p.b = p.a
		if b > 0 {
			p.b, err = d.host(ctx, session, b)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.sessions.Leave(context.WithoutCancel(ctx), session))
	}
	p.read = remote.Path{Spec: &p.Path, A: p.a.Host, B: p.b.Host}
	if err := r.build(p, ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explainError(ctx, err)), p.shut(context.WithoutCancel(ctx)))
	}
	return p.DriverPath(driver.Path{Hosts: d.Hosts()[:1+b], Facts: p.versionFacts(), Snapshot: p.snapshot, Lost: p.lost, Foreign: p.read.Foreign, Close: p.shut, Internal: p}), nil
}

// host returns a host of a session with its engine, which is already connected.
func (d *Driver) host(ctx context.Context, s *remote.Session, i int) (*host, error) {
	e, err := d.engine(ctx, i)
	return &host{s.Host(i), e, d.hosts[i].Machine == nil}, err
}

// recipe returns the recipe of a mode, or an error if these engines cannot provide it.
func (d *Driver) recipe(o driver.ModeSpec) (recipe, error) {
	unsupported := func(format string, args ...any) (recipe, error) {
		return recipe{}, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	if err := o.CheckPairs(); err != nil {
		return recipe{}, err
	}
	if len(o.With) > 0 {
		return unsupported("nothing is left out or set on an existing engine, because that would change the user's machine; run it on a lab: --engine lab")
	}
	for id, r := range recipes() {
		if !study.Fits(id, o.Mode) {
			continue
		}
		switch {
		case r.far && len(d.hosts) < 2:
			return unsupported("this mode requires two hosts with an engine each; only one was given")
		}
		return r, nil
	}
	return recipe{}, fmt.Errorf("mode %q is not available on existing engines", o.Mode)
}

// publish starts a server in a container with a published port, the first free one from the
// other drivers' first port on.
func (p *path) publish(ctx context.Context, pair int, at netip.Addr) (*endpoint, netip.AddrPort, error) {
	for tried := 0; ; tried++ {
		port := p.b.NextPort()
		to, err := p.containerEndpoint(ctx, p.b, containers.Server, pair, engine.ContainerSpec{Publish: []engine.Publish{{Host: netip.AddrPortFrom(at, port), Port: pathspec.FirstPort}}})
		if errors.Is(err, engine.ErrPortTaken) && tried < mostPorts {
			continue
		}
		return to, netip.AddrPortFrom(at, port), err
	}
}

// mostPorts is the maximum number of ports in use that are skipped.
const mostPorts = 100
