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
	"tare/internal/study"
)

// recipe is how a mode is built on existing engines.
type recipe struct {
	near bool // both endpoints are always on the first host
	far  bool // requires two hosts
	raw  bool // the client is a process of its host: a machine needs no engine for it
	// Containers of the mode join the default bridge, or a network that its name says. An engine may lack either.
	bridge, network bool
	build           func(*path, context.Context) error
	// desktop replaces build if the engine runs in a virtual machine on this machine: the
	// client is a process of the desktop, and so is the server if alone is set.
	desktop func(*path, context.Context) error
	alone   bool
}

func recipes() map[string]recipe {
	return map[string]recipe{
		containers.Host:            {far: true, build: (*path).hosts},
		containers.HostLocal:       {near: true, build: (*path).hosts, desktop: (*path).onLoopback, alone: true},
		"docker/host":              {build: (*path).hosts},
		"docker/published":         {bridge: true, raw: true, build: (*path).published, desktop: (*path).fromDesktop},
		"docker/bridge":            {bridge: true, far: true, build: (*path).bridge},
		"docker/colocated":         {bridge: true, near: true, build: (*path).colocated},
		"docker/to-host":           {bridge: true, near: true, build: (*path).toHost},
		"docker/userland-proxy":    {bridge: true, near: true, build: (*path).userlandProxy},
		"docker/macvlan":           {far: true, build: (*path).linkNetwork},
		"docker/ipvlan":            {far: true, build: (*path).linkNetwork},
		"docker/overlay":           {far: true, build: (*path).overlay},
		"docker/overlay-encrypted": {far: true, build: (*path).overlay},
		"docker/network:NAME":      {network: true, build: (*path).network},
		"docker/driver:NAME":       {build: (*path).withDriver},
	}
}

// recipeOf is the recipe of a mode, which may have a parameter.
func recipeOf(mode string) (r recipe, known bool) {
	for id, r := range recipes() {
		if study.Fits(id, mode) {
			return r, true
		}
	}
	return recipe{}, false
}

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.Order) error {
	return remote.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode on the existing engines.
func (d *Driver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	r, err := d.recipe(o)
	if err != nil {
		return nil, err
	}
	session, a, b, err := d.enter(ctx, o.Run, r)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, order: o, driver: d, session: session}
	if r.raw && b != a && a < len(d.hosts) && d.hosts[a].Machine != nil {
		p.a = &host{Host: session.Host(a)}
	} else {
		p.a, err = d.host(ctx, session, a)
	}
	if err == nil {
		p.b = p.a
		if b != a {
			p.b, err = d.host(ctx, session, b)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.sessions.Leave(context.WithoutCancel(ctx), session))
	}
	p.read = remote.Path{Spec: &p.Path, A: p.a.Host, B: p.b.Host}
	build := r.build
	if a == len(d.hosts) {
		build = r.desktop
	}
	if err := build(p, ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explainError(ctx, err)), p.shut(context.WithoutCancel(ctx)))
	}
	return p.DriverPath(driver.Path{Hosts: d.hostsOf(a, b), Facts: p.versionFacts(), Snapshot: p.snapshot, Lost: p.lost, Foreign: p.read.Foreign, Close: p.shut, Internal: p}), nil
}

// enter opens the hosts of a mode. That may show that an engine runs in a virtual machine,
// so that the mode has other hosts.
func (d *Driver) enter(ctx context.Context, run string, r recipe) (session *remote.Session, a, b int, err error) {
	a, b = d.endsOf(r)
	session, err = d.sessions.Enter(ctx, run, a, b)
	if err != nil {
		return nil, a, b, err
	}
	found, other := d.endsOf(r)
	if found == a && other == b {
		return session, a, b, nil
	}
	both, err := d.sessions.Enter(ctx, run, found, other)
	return both, found, other, errors.Join(err, d.sessions.Leave(context.WithoutCancel(ctx), session))
}

// endsOf returns the hosts of the client and the server of a mode, as numbers of the
// session: those of the engines, followed by the desktop.
func (d *Driver) endsOf(r recipe) (a, b int) {
	switch {
	case r.desktop != nil && d.desktop() && r.alone:
		return len(d.hosts), len(d.hosts)
	case r.desktop != nil && d.desktop():
		return len(d.hosts), 0
	case len(d.hosts) > 1 && !r.near:
		return 0, 1
	}
	return 0, 0
}

// hostsOf returns the hosts of a path. The CPU time of a virtual machine is a part of the
// desktop's, so that both belong to a path in it.
func (d *Driver) hostsOf(a, b int) []driver.Host {
	all := d.Hosts()
	switch {
	case !d.desktop():
		return all[:1+b]
	case a == b && a == len(d.hosts):
		return all[:1]
	case a == b:
		return []driver.Host{all[1], all[0]}
	}
	return all
}

// host returns a host of a session with its engine, which is already connected; the desktop
// has none.
func (d *Driver) host(ctx context.Context, s *remote.Session, i int) (*host, error) {
	if i == len(d.hosts) {
		return &host{Host: s.Host(i)}, nil
	}
	e, err := d.engine(ctx, i)
	return &host{s.Host(i), e, d.hosts[i].Machine == nil}, err
}

// recipe returns the recipe of a mode, or an error if these engines cannot provide it.
func (d *Driver) recipe(o driver.Order) (recipe, error) {
	unsupported := func(format string, args ...any) (recipe, error) {
		return recipe{}, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	if err := o.CheckPairs(); err != nil {
		return recipe{}, err
	}
	if len(o.With) > 0 {
		return unsupported("nothing is left out or set on an existing engine, because that would change the user's machine; run it on a lab: --engine lab")
	}
	r, known := recipeOf(o.Mode)
	switch {
	case !known:
		return recipe{}, fmt.Errorf("mode %q is not available on existing engines", o.Mode)
	case r.far && d.desktop():
		return unsupported("this mode requires two hosts with an engine each; the engine runs in a virtual machine on this machine, where docker/published, docker/host and host-local are measured")
	case r.far && len(d.hosts) < 2:
		return unsupported("this mode requires two hosts with an engine each; only one was given")
	}
	return r, nil
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
