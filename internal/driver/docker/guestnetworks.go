//go:build linux

package docker

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/engine"
)

// parameter is the name that a mode has in the place of NAME.
func parameter(mode string) string {
	_, name, _ := strings.Cut(mode, ":")
	return name
}

// The options of docker/driver:NAME that are not the driver's own: what docker
// network create has flags for.
const (
	optionSubnet  = "subnet"   // IPv4 prefix of the network
	optionRange   = "ip-range" // within it, addresses that nobody else has
	optionGateway = "gateway"
)

// onLink: a network of the macvlan or ipvlan driver on a link of each host.
func (p *guestPath) onLink(ctx context.Context) error {
	kind := strings.TrimPrefix(p.Mode, "docker/")
	if p.order.Options["parent"] == "" {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"which link of your hosts to use, and with which free addresses, nobody can guess: weigh docker/driver:%s with the options parent, %s and %s", kind, optionSubnet, optionRange)}
	}
	return p.made(ctx, kind)
}

// withDriver: a network made with a driver that the engines have.
func (p *guestPath) withDriver(ctx context.Context) error { return p.made(ctx, parameter(p.Mode)) }

// made makes a network with a driver on the engines of both ends, or once where it
// is a Swarm's, and joins both ends to it.
func (p *guestPath) made(ctx context.Context, kind string) error {
	spec := engine.NetworkSpec{Run: p.visit.run, Name: p.networkName(), Driver: kind, Options: maps.Clone(p.order.Options)}
	if err := addressing(&spec); err != nil {
		return fmt.Errorf("mode %s: %w", p.Mode, err)
	}
	n, err := p.create(ctx, p.a, spec)
	if err != nil {
		return err
	}
	p.gossips = n.Scope == scopeSwarm
	if p.a != p.b && !p.gossips {
		if !spec.Range.IsValid() {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
				"each engine gives out addresses of a %s network by itself, and so the same twice: name free ones with the options %s and %s", kind, optionSubnet, optionRange)}
		}
		if _, err := p.create(ctx, p.b, spec); err != nil {
			return err
		}
	}
	return p.onNetworkAt(ctx, spec.Name, oneConnection, func(role string, pair int) []netip.Addr {
		if p.a == p.b || !spec.Range.IsValid() {
			return nil
		}
		number := 2 * (pair - 1)
		if role == server {
			number++
		}
		at := spec.Range.Masked().Addr()
		for range number + 1 { // the first of a range may be the network's own
			at = at.Next()
		}
		return []netip.Addr{at}
	})
}

// networkName is a name that every engine allows and no other path of the run has.
// A Swarm's must be a component of a name in DNS, which a mode's is not.
func (p *guestPath) networkName() string {
	p.visit.named++
	return engine.Name(p.visit.run, "network"+strconv.Itoa(p.visit.named))
}

func (p *guestPath) create(ctx context.Context, s *site, spec engine.NetworkSpec) (engine.Network, error) {
	n, err := s.engine.CreateNetwork(ctx, spec)
	if err != nil {
		if strings.Contains(err.Error(), "operation not supported") {
			return n, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the kernel of host %s lacks what the driver %s needs: %v", s.At, spec.Driver, err)}
		}
		return n, err
	}
	p.networks = append(p.networks, leftNetwork{s.engine, n.ID})
	return n, nil
}

// addressing takes the options that are not the driver's own.
func addressing(spec *engine.NetworkSpec) error {
	prefix := func(name string) (out netip.Prefix, err error) {
		if v, ok := spec.Options[name]; ok {
			delete(spec.Options, name)
			if out, err = netip.ParsePrefix(v); err != nil || !out.Addr().Is4() {
				return out, fmt.Errorf("option %s is %q; want an IPv4 prefix such as 192.0.2.0/24", name, v)
			}
		}
		return out, nil
	}
	var err error
	if spec.Subnet, err = prefix(optionSubnet); err != nil {
		return err
	}
	if spec.Range, err = prefix(optionRange); err != nil {
		return err
	}
	if v, ok := spec.Options[optionGateway]; ok {
		delete(spec.Options, optionGateway)
		if spec.Gateway, err = netip.ParseAddr(v); err != nil {
			return fmt.Errorf("option %s is %q; want an address", optionGateway, v)
		}
	}
	if spec.Range.IsValid() && (!spec.Subnet.IsValid() || !spec.Subnet.Contains(spec.Range.Addr())) {
		return fmt.Errorf("option %s is %s; want a part of the network's %s", optionRange, spec.Range, optionSubnet)
	}
	return nil
}

// overlay: an attachable overlay of the Swarm that both engines are in.
func (p *guestPath) overlay(ctx context.Context) error {
	if strings.HasSuffix(p.Mode, "-encrypted") {
		return &driver.Unsupported{Mode: p.Mode, Reason: "whether packets were encrypted cannot be proven through an engine's API; weigh it on a lab (--engine lab)"}
	}
	manager, err := p.inSwarm(ctx)
	if err != nil {
		return err
	}
	p.gossips = true
	spec := engine.NetworkSpec{Run: p.visit.run, Name: p.networkName(), Driver: "overlay", Attachable: true}
	if _, err := p.create(ctx, manager, spec); err != nil {
		return err
	}
	return p.onNetwork(ctx, spec.Name, oneConnection)
}

// inSwarm finds the manager of the Swarm that both engines are in. Where they are
// in none, one is made for the run if that is allowed; it goes with the last path of
// the run, by the note that is left on each engine.
func (p *guestPath) inSwarm(ctx context.Context) (*site, error) {
	p.guest.entering.Lock()
	defer p.guest.entering.Unlock()
	states := map[*site]engine.SwarmState{}
	for _, s := range []*site{p.a, p.b} {
		state, err := s.engine.Swarm(ctx)
		if err != nil {
			return nil, err
		}
		states[s] = state
	}
	switch a, b := states[p.a], states[p.b]; {
	case a.Active() && b.Active() && (a.Manager || b.Manager):
		if a.Manager {
			return p.a, nil
		}
		return p.b, nil
	case a.Active() && b.Active():
		return nil, p.noSwarm(p.a, "both engines are workers of a Swarm, and only a manager makes networks", "name a manager of it as one of the two hosts")
	case a.Active() || b.Active():
		other, in := p.a, p.b
		if a.Active() {
			other, in = p.b, p.a
		}
		return nil, p.noSwarm(other, "the Swarm of host "+in.At+" does not have this engine in it", "on a manager: docker swarm join-token worker, and run there what it says")
	case !p.guest.swarm:
		return nil, p.noSwarm(p.a, "Swarm is not active", fmt.Sprintf("docker swarm init --advertise-addr %s there and what it prints on host %s, or let tare make one and leave it again: --yes", p.a.host.Address, p.b.At))
	}
	both := []*site{p.a, p.b}
	for _, s := range both {
		if err := s.engine.NoteSwarm(ctx, p.visit.run); err != nil {
			return nil, err
		}
	}
	err := engine.NewSwarm(ctx, engine.Pool{}, engine.SwarmNode{Engine: p.a.engine, Addr: p.a.host.Address}, engine.SwarmNode{Engine: p.b.engine, Addr: p.b.host.Address})
	if err != nil {
		return nil, err
	}
	for _, s := range both {
		if err := s.engine.SettleSwarm(ctx, p.visit.run); err != nil {
			return nil, err
		}
	}
	return p.a, nil
}

func (p *guestPath) noSwarm(s *site, why, mend string) error {
	u := &engine.Unavailable{Engine: s.engine.Name, Tried: "its Swarm, for an overlay network", Why: why, Mend: mend}
	return &driver.Unsupported{Mode: p.Mode, Reason: u.Error()}
}
