//go:build linux

package existing

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
)

// path is a mode on existing engines.
type path struct {
	pathspec.Path
	order     driver.ModeSpec
	driver    *Driver
	session   *remote.Session
	read      remote.Path // what agents read of its hosts, noted in Path
	a, b      *host       // the client's and the server's; one and the same in modes of one host
	endpoints []*endpoint
	networks  []madeNetwork
	gossips   bool // the network is a Swarm's
	facts     []result.Fact
	close     sync.Once
	closed    error
}

// host is one of those of the path, with its engine.
type host struct {
	*remote.Host
	engine *engine.Engine
}

// madeNetwork is a network that the path has made on an engine.
type madeNetwork struct {
	on *engine.Engine
	id string
}

// endpoint is an end: a container with an agent that reads its network, or a
// process of the host.
type endpoint struct {
	remote.Endpoint
	role      string
	host      *host
	container *engine.Container // nil for a process of the host
}

// about are the versions of the engines and the limits they apply.
func (p *path) about() []result.Fact {
	var facts []result.Fact
	for i, s := range []*host{p.a, p.b} {
		if i == 1 && p.b == p.a {
			break
		}
		facts = append(facts, result.Fact{Name: s.At + " engine is", Value: s.engine.Name})
		facts = append(facts, containers.VersionFacts(s.At, s.engine)...)
	}
	for _, e := range p.endpoints {
		if e.container != nil {
			facts = append(facts, containers.LimitFact(e.role, e.container.Limit)...)
		}
	}
	return append(facts, p.facts...)
}

// shut removes what the path has made, and with the last path of a run what they
// shared.
func (p *path) shut(ctx context.Context) error {
	p.close.Do(func() { p.closed = p.end(ctx) })
	return p.closed
}

func (p *path) end(ctx context.Context) error {
	errs := make([]error, len(p.endpoints))
	var wg sync.WaitGroup
	for i, b := range p.endpoints {
		wg.Go(func() { errs[i] = b.remove(ctx) })
	}
	wg.Wait()
	for _, n := range p.networks {
		errs = append(errs, n.on.RemoveNetwork(ctx, n.id))
	}
	return errors.Join(append(errs, p.driver.sessions.Leave(ctx, p.session))...)
}

func (e *endpoint) remove(ctx context.Context) error {
	err := e.Close()
	if e.container != nil {
		err = errors.Join(err, e.container.Remove(ctx))
	}
	return err
}

// snapshot reads every counter. What keeps it from that is most often an engine or
// a container that has ended.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explain(ctx, err)
}

// explain puts the end of a container before an error that came of it.
func (p *path) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var same *remote.SameMachine
	if errors.As(err, &same) {
		return fmt.Errorf("host %s has the address %s itself: both engines are on one machine", same.Host, same.Addr)
	}
	for _, b := range p.endpoints {
		if b.container == nil {
			continue
		}
		s, gone := b.container.State(ctx)
		switch {
		case errors.Is(gone, engine.ErrNotFound):
			return fmt.Errorf("the container of %s was removed (%w)", b.At, err)
		case gone == nil && !s.Running && s.OOM:
			return fmt.Errorf("the container of %s ran out of memory (%w)", b.At, err)
		case gone == nil && !s.Running:
			return fmt.Errorf("the container of %s has ended with exit code %d (%w)", b.At, s.ExitCode, err)
		}
	}
	return err
}

// raw is an end that is a process of the host: in a container of its own where it
// has a limit, else in the one of the host's monitor.
func (p *path) raw(ctx context.Context, s *host, role string, pair int) (*endpoint, error) {
	e := &endpoint{role: role, host: s}
	e.Endpoint = remote.Endpoint{Place: s.Place, Name: containers.ContainerName(role, pair), Client: role == containers.Client, Host: s.Host, Launcher: s.Launcher, Agent: s.Monitor}
	if containers.RoleLimit(p.order.Limits, role) == (study.Limit{}) && p.Mode != "docker/host" {
		p.endpoints = append(p.endpoints, e)
		return e, nil
	}
	return e, p.contain(ctx, e, engine.ContainerSpec{Network: engine.HostNetwork})
}

// boxed is an end in a container on a network.
func (p *path) boxed(ctx context.Context, s *host, role string, pair int, spec engine.ContainerSpec) (*endpoint, error) {
	e := &endpoint{role: role, host: s}
	e.Endpoint = remote.Endpoint{Name: containers.ContainerName(role, pair), Client: role == containers.Client, Host: s.Host}
	spec.Sysctls = containers.Sysctls((&lab.Lab{}).Settings())
	if err := p.contain(ctx, e, spec); err != nil {
		return nil, err
	}
	if err := e.StartAgent(ctx, p.session.Run); err != nil {
		return nil, err
	}
	addr, ok := containers.FirstIPv4(e.container)
	if !ok {
		return nil, fmt.Errorf("the engine of host %s gave container %s no IPv4 address", e.Place.Host, e.container.Name)
	}
	if err := e.FindLink(ctx, addr); err != nil {
		return nil, fmt.Errorf("look for the device of container %s: %w", e.container.Name, err)
	}
	return e, nil
}

// discard removes an end of the path.
func (p *path) discard(ctx context.Context, e *endpoint) error {
	p.endpoints = slices.DeleteFunc(p.endpoints, func(o *endpoint) bool { return o == e })
	return e.remove(ctx)
}

func (p *path) contain(ctx context.Context, e *endpoint, spec engine.ContainerSpec) error {
	s := e.host
	e.Place = pathspec.Place{At: s.At + "/" + e.Name, Host: s.Place.Host, Stack: s.Stack}
	spec.Run, spec.Part, spec.Limit = p.session.Run, e.role, containers.RoleLimit(p.order.Limits, e.role)
	spec.Name = engine.Name(spec.Run, p.order.Label, s.At, e.Name)
	c, err := s.engine.Run(ctx, spec)
	if err != nil {
		return err
	}
	e.container, e.Launcher = c, c
	p.endpoints = append(p.endpoints, e)
	return nil
}

// process is the end's agent in a drawing.
func (e *endpoint) process() pathspec.Step {
	if e.container == nil {
		return pathspec.ProcessStep(e.Place, result.Fact{Name: "started by", Value: "engine " + e.host.engine.Versions.Engine + ", on the host's own network"})
	}
	return containers.ProcessStep(e.Place, e.host.engine, e.container)
}

// draw gives the steps of a container towards its host, from the inside out.
func (e *endpoint) draw(at remote.Attachment) []pathspec.Step { return e.StepsToHost(e.process(), at) }

// joined notes the ends of a pair and has them meet: what is between them shows that it
// is the mode that it should be.
func (p *path) joined(ctx context.Context, from, to *endpoint, listen, dial netip.AddrPort, want remote.Connectivity) error {
	err := p.read.AddPair(ctx, remote.Exchange{Client: &from.Endpoint, Server: &to.Endpoint, Listen: listen, Dial: dial, Want: want})
	var u *remote.UnexpectedConnectivity
	switch {
	case !errors.As(err, &u):
		return err
	case want == remote.OneConnection:
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"the engine of host %s hands that port to a relay (seen from %s, dialled from %s over %s), not to address translation: docker/userland-proxy weighs that", p.b.At, u.Result.Seen, u.Result.From, u.Network)}
	}
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
		"the engine of host %s translates addresses here too, and runs no docker-proxy: it was started with userland-proxy off", p.b.At)}
}
