//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/driver"
	"tare/internal/driver/notes"
	"tare/internal/engine"
	"tare/internal/runid"
	"tare/internal/study"
)

// guestRecipe is how one mode is made on existing engines.
type guestRecipe struct {
	near  bool // both ends are always on the first host
	far   bool // it takes two hosts to show it
	build func(*guestPath, context.Context) error
}

func guestRecipes() map[string]guestRecipe {
	return map[string]guestRecipe{
		host:                       {far: true, build: (*guestPath).hosts},
		hostLocal:                  {near: true, build: (*guestPath).hosts},
		"docker/host":              {build: (*guestPath).hosts},
		"docker/published":         {build: (*guestPath).published},
		"docker/bridge":            {far: true, build: (*guestPath).bridge},
		"docker/colocated":         {near: true, build: (*guestPath).colocated},
		"docker/to-host":           {near: true, build: (*guestPath).toHost},
		"docker/userland-proxy":    {near: true, build: (*guestPath).userlandProxy},
		"docker/macvlan":           {far: true, build: (*guestPath).onLink},
		"docker/ipvlan":            {far: true, build: (*guestPath).onLink},
		"docker/overlay":           {far: true, build: (*guestPath).overlay},
		"docker/overlay-encrypted": {far: true, build: (*guestPath).overlay},
		"docker/network:NAME":      {build: (*guestPath).network},
		"docker/driver:NAME":       {build: (*guestPath).withDriver},
	}
}

// Probe builds the mode once, with one pair, and takes it down again.
func (g *Guest) Probe(ctx context.Context, o driver.Order) error {
	run, err := runid.New()
	if err != nil {
		return err
	}
	defer run.Release()
	o.Run, o.Label, o.Pairs = run.ID, o.Mode, 1
	p, err := g.Provision(ctx, o)
	if err != nil {
		return err
	}
	return p.Close(ctx)
}

// Provision builds the mode on the existing engines.
func (g *Guest) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	r, err := g.recipe(o)
	if err != nil {
		return nil, err
	}
	b := 0
	if len(g.hosts) > 1 && !r.near {
		b = 1
	}
	v, err := g.enter(ctx, o.Run, 0, b)
	if err != nil {
		return nil, err
	}
	p := &guestPath{Path: notes.Path{Mode: o.Mode, Count: o.Pairs}, order: o, guest: g, visit: v, a: v.sites[0], b: v.sites[b]}
	if err := r.build(p, ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explain(ctx, err)), p.shut(context.WithoutCancel(ctx)))
	}
	return p.Done(driver.Path{Hosts: g.Hosts()[:1+b], Facts: p.about(), Snapshot: p.snapshot, Close: p.shut, Built: p}), nil
}

// recipe finds how a mode is made, and refuses what these engines cannot show.
func (g *Guest) recipe(o driver.Order) (guestRecipe, error) {
	unsupported := func(format string, args ...any) (guestRecipe, error) {
		return guestRecipe{}, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	if err := o.Countable(); err != nil {
		return guestRecipe{}, err
	}
	for id, r := range guestRecipes() {
		if !study.Fits(id, o.Mode) {
			continue
		}
		switch {
		case r.far && len(g.hosts) < 2:
			return unsupported("it takes two hosts with an engine each, and one was named")
		}
		return r, nil
	}
	return guestRecipe{}, fmt.Errorf("existing engines have no mode %q", o.Mode)
}

// reached is the address at which the server's host is dialled.
func (p *guestPath) reached(ctx context.Context) (netip.Addr, error) {
	if p.a != p.b {
		return p.b.host.Address, nil
	}
	return p.b.local(ctx)
}

// listening is where a process of the server's host listens to be reached at an
// address: there, where the host has it, else everywhere.
func (p *guestPath) listening(ctx context.Context, at netip.Addr) netip.Addr {
	if _, err := linkWith(ctx, p.b.eye, at); err == nil {
		return at
	}
	if at.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// joined notes the ends of a pair and has them meet.
func (p *guestPath) joined(ctx context.Context, from, to *guestBox, listen, dial netip.AddrPort, want between) error {
	p.EndsAt(from.end(), to.end(), []netip.AddrPort{listen}, []netip.AddrPort{dial})
	return p.introduce(ctx, meet{client: from, server: to, listen: listen, dial: dial, want: want})
}

// publish starts a server in a container with a published port, the first free one
// from that of the other drivers on.
func (p *guestPath) publish(ctx context.Context, pair int, at netip.Addr) (*guestBox, netip.AddrPort, error) {
	for tried := 0; ; tried++ {
		port := p.b.nextPort
		p.b.nextPort++
		to, err := p.boxed(ctx, p.b, server, pair, engine.ContainerSpec{Publish: []engine.Publish{{Host: netip.AddrPortFrom(at, port), Port: notes.FirstPort}}})
		if errors.Is(err, engine.ErrPortTaken) && tried < mostPorts {
			continue
		}
		return to, netip.AddrPortFrom(at, port), err
	}
}

// mostPorts is how many taken ports are passed over.
const mostPorts = 100
