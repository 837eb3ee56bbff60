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
)

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.Order) error {
	return remote.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode on the existing engines.
func (d *Driver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	m, err := d.modeFor(o)
	if err != nil {
		return nil, err
	}
	session, a, b, err := d.enter(ctx, o.Run, m)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, order: o, driver: d, session: session}
	if m.raw.Client && b != a && a < len(d.hosts) && d.hosts[a].Machine != nil {
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
	build := m.build
	if a == len(d.hosts) {
		build = m.desktop
	}
	if err := build(p, ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explainError(ctx, err)), p.end(context.WithoutCancel(ctx)))
	}
	return p.DriverPath(driver.Path{Hosts: d.hostsOf(a, b), Facts: p.versionFacts(), Snapshot: p.snapshot, Lost: p.lost, Foreign: p.read.Foreign, Probe: remote.EndpointProbe(&p.Path, containers.MTUKey), Close: remote.CloseOnce(p.end), Internal: p}), nil
}

// enter opens the hosts of a mode. That may show that an engine runs in a virtual machine,
// so that the mode has other hosts.
func (d *Driver) enter(ctx context.Context, run string, m mode) (session *remote.Session, a, b int, err error) {
	a, b = d.endsOf(m)
	session, err = d.sessions.Enter(ctx, run, a, b)
	if err != nil {
		return nil, a, b, err
	}
	found, other := d.endsOf(m)
	if found == a && other == b {
		return session, a, b, nil
	}
	both, err := d.sessions.Enter(ctx, run, found, other)
	return both, found, other, errors.Join(err, d.sessions.Leave(context.WithoutCancel(ctx), session))
}

// endsOf returns the hosts of the client and the server of a mode, as numbers of the
// session: those of the engines, followed by the desktop.
func (d *Driver) endsOf(m mode) (a, b int) {
	switch {
	case m.desktop != nil && d.desktop() && m.alone:
		return len(d.hosts), len(d.hosts)
	case m.desktop != nil && d.desktop():
		return len(d.hosts), 0
	case len(d.hosts) > 1 && !m.near:
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

// publishAt starts a server in a container with a port that is published at an address, the first free one
// from the other drivers' first port on.
func (p *path) publishAt(at netip.Addr) starter {
	return func(ctx context.Context, s *host, role string, pair int) (*endpoint, error) {
		for tried := 0; ; tried++ {
			port := netip.AddrPortFrom(at, s.NextPort())
			to, err := p.containerEndpoint(ctx, s, role, pair, engine.ContainerSpec{Publish: []engine.Publish{{Host: port, Port: pathspec.FirstPort}}})
			if errors.Is(err, engine.ErrPortTaken) && tried < mostPorts {
				continue
			}
			if err == nil {
				to.published = port
			}
			return to, err
		}
	}
}

// mostPorts is the maximum number of ports in use that are skipped.
const mostPorts = 100
