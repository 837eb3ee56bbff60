//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/driver/notes"
	"tare/internal/engine"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// visit is what all paths of one run share on the engines: on each host a container
// with the host's own network, in which an agent reads the host's counters and the
// processes "of the host" run. It ends with the last path.
type visit struct {
	run   string
	paths int
	sites []*site // by host, nil until needed
	named int     // networks so far; paths of a run are made one after the other
}

// site is a host of an existing engine, for the length of a run.
type site struct {
	notes.Place
	host      Host
	engine    *engine.Engine
	container *engine.Container
	eye       *agent.Client
	nextPort  uint16
}

// sight is a network stack as an agent in it sees it.
type sight struct{ eye *agent.Client }

// hostSight is that of a host, which the run shares with whatever else runs there.
type hostSight struct{ *sight }

// Shared marks it so.
func (hostSight) Shared() {}

// Links reads the counters of devices.
func (s *sight) Links(ctx context.Context, names []string) (map[string]notes.Link, error) {
	all, _, err := s.eye.Links(ctx, netip.Addr{})
	if err != nil {
		return nil, err
	}
	out := map[string]notes.Link{}
	for _, l := range all {
		out[l.Name] = notes.Link{TxBytes: l.TxBytes, RxBytes: l.RxBytes, CarrierChanges: l.CarrierChanges}
	}
	return out, nil
}

// Read reads all counters that the agent can see.
func (s *sight) Read(ctx context.Context) (netstack.Reading, error) { return s.eye.Read(ctx) }

// Describe reads what a device is.
func (s *sight) Describe(ctx context.Context, name string) (string, []result.Fact, error) {
	all, _, err := s.eye.Links(ctx, netip.Addr{})
	if err != nil {
		return "", nil, err
	}
	for _, l := range all {
		if l.Name != name {
			continue
		}
		facts := []result.Fact{{Name: "mtu", Value: fmt.Sprint(l.MTU)}}
		for _, a := range l.Addresses {
			if !a.Addr().IsLinkLocalUnicast() {
				facts = append(facts, result.Fact{Name: "address", Value: a.String()})
			}
		}
		return kindOf(l), facts, nil
	}
	return "", nil, fmt.Errorf("there is no device %s any more", name)
}

func kindOf(l wire.Link) string {
	switch {
	case l.Loopback:
		return "loopback"
	case l.Kind == "":
		return "device"
	}
	return l.Kind
}

// enter begins a path on the hosts with those indices, and finds their sites.
func (g *Guest) enter(ctx context.Context, run string, hosts ...int) (*visit, error) {
	g.entering.Lock()
	defer g.entering.Unlock()
	v := g.runs[run]
	if v == nil {
		v = &visit{run: run, sites: make([]*site, len(g.hosts))}
		g.runs[run] = v
	}
	v.paths++
	for _, i := range hosts {
		if v.sites[i] != nil && v.sites[i].eye.Gone() == nil {
			continue
		}
		s, err := g.settle(ctx, run, i)
		if err != nil {
			return nil, errors.Join(err, g.depart(context.WithoutCancel(ctx), v))
		}
		v.sites[i] = s
	}
	return v, nil
}

// settle starts the container and the agent that read a host.
func (g *Guest) settle(ctx context.Context, run string, i int) (*site, error) {
	h := g.hosts[i]
	e, err := g.engine(ctx, i)
	if err != nil {
		return nil, err
	}
	c, err := e.Run(ctx, engine.ContainerSpec{Run: run, Part: "witness", Name: engine.Name(run, h.Name, "witness"), Network: engine.HostNetwork})
	if err != nil {
		return nil, err
	}
	eye, err := agent.Start(ctx, c, run, h.Name)
	if err != nil {
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	s := &site{host: h, engine: e, container: c, eye: eye, nextPort: notes.FirstPort}
	s.Place = notes.Place{At: h.Name, Host: h.Name, Stack: hostSight{&sight{eye}}}
	return s, nil
}

// leave ends a path. With the last one of a run everything of the run goes.
func (g *Guest) leave(ctx context.Context, v *visit) error {
	g.entering.Lock()
	defer g.entering.Unlock()
	return g.depart(ctx, v)
}

func (g *Guest) depart(ctx context.Context, v *visit) error {
	if v.paths--; v.paths > 0 {
		return nil
	}
	delete(g.runs, v.run)
	var errs []error
	for _, s := range v.sites {
		if s != nil {
			errs = append(errs, s.eye.Close())
		}
	}
	for i, s := range v.sites {
		e := g.open[i]
		if s == nil && e == nil {
			continue
		}
		errs = append(errs, e.Forget(ctx, v.run))
	}
	return errors.Join(errs...)
}

// local finds an address of the host's own: the one at which it is reached where
// the host has that, else that of its first device that is not a bridge.
func (s *site) local(ctx context.Context) (netip.Addr, error) {
	links, _, err := s.eye.Links(ctx, netip.Addr{})
	if err != nil {
		return netip.Addr{}, err
	}
	var first netip.Addr
	for _, l := range links {
		for _, a := range l.Addresses {
			if a.Addr() == s.host.Address {
				return a.Addr(), nil
			}
			if !first.IsValid() && l.Up && !l.Loopback && l.Kind != "bridge" && a.Addr().Is4() && !a.Addr().IsLinkLocalUnicast() {
				first = a.Addr()
			}
		}
	}
	if !first.IsValid() {
		return first, fmt.Errorf("host %s has no IPv4 address of its own beside loopback", s.At)
	}
	return first, nil
}
