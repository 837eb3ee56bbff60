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
	order     driver.Order
	driver    *Driver
	session   *remote.Session
	read      remote.Path // what agents read of its hosts, added to Path
	a, b      *host       // of the client and the server; equal in modes within one host
	endpoints []*endpoint
	networks  []madeNetwork
	onSwarm   bool // the network belongs to a Swarm
}

// host is a host of the path with its engine, nil if the path needs none there.
type host struct {
	*remote.Host
	engine   *engine.Engine
	byEngine bool // the engine starts the processes in the host network
}

// madeNetwork is a network that the path has created on an engine.
type madeNetwork struct {
	on *engine.Engine
	id string
}

// endpoint is a container with an agent that reads its network, or a host process.
type endpoint struct {
	remote.Endpoint
	role      string
	host      *host
	container *engine.Container // nil for a host process
	published netip.AddrPort    // where the client reaches it; invalid without a published port
}

// versionFacts returns the versions of the engines and the limits they apply.
func (p *path) versionFacts() []result.Fact {
	var facts []result.Fact
	for i, s := range []*host{p.a, p.b} {
		if i == 1 && p.b == p.a {
			break
		}
		if s.engine == nil {
			continue
		}
		facts = append(facts, result.Deciding(s.At+" engine is", s.engine.Name))
		facts = append(facts, containers.VersionFacts(s.At, s.engine)...)
	}
	for _, e := range p.endpoints {
		if e.container != nil {
			facts = append(facts, containers.LimitFact(e.role, e.container.Limit)...)
		}
	}
	return facts
}

// lost returns why the hosts of the path can no longer be read.
func (p *path) lost() error { return errors.Join(p.a.Monitor.Err(), p.b.Monitor.Err()) }

// end removes what the path has created and, with the last path of a run, what all paths
// shared.
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

// snapshot reads all counters. If it fails because a container has exited, the error says
// so.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explainError(ctx, err)
}

// explainError prepends the exit reason of a container to an error that it caused.
func (p *path) explainError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var same *remote.SameMachine
	if errors.As(err, &same) {
		return fmt.Errorf("host %s has the address %s itself, so both engines are on one machine", same.Host, same.Addr)
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
			return fmt.Errorf("the container of %s exited with code %d (%w)", b.At, s.ExitCode, err)
		}
	}
	return err
}

// starter creates an endpoint of a pair on a host.
type starter func(ctx context.Context, s *host, role string, pair int) (*endpoint, error)

// eachPair creates the endpoints of each pair, and calls build with them.
func (p *path) eachPair(ctx context.Context, client, server starter, build func(pair int, from, to *endpoint) error) error {
	return p.ForEachPair(func(pair int) error {
		from, err := client(ctx, p.a, containers.Client, pair)
		if err != nil {
			return err
		}
		to, err := server(ctx, p.b, containers.Server, pair)
		if err != nil {
			return err
		}
		return build(pair, from, to)
	})
}

// onBridge creates an endpoint in a container on the default bridge.
func (p *path) onBridge(ctx context.Context, s *host, role string, pair int) (*endpoint, error) {
	return p.containerEndpoint(ctx, s, role, pair, engine.ContainerSpec{})
}

// hostEndpoint creates an endpoint that is a host process: in its own container if it has limits,
// otherwise in that of the host's monitor.
func (p *path) hostEndpoint(ctx context.Context, s *host, role string, pair int) (*endpoint, error) {
	e := &endpoint{role: role, host: s}
	e.Endpoint = remote.Endpoint{Place: s.Place, Name: lab.PairName(role, pair), Client: role == containers.Client, Host: s.Host, Launcher: s.Launcher, Agent: s.Monitor}
	if containers.RoleLimit(p.order.Limits, role) == (study.Limit{}) && p.Mode != "docker/host" {
		p.endpoints = append(p.endpoints, e)
		return e, nil
	}
	return e, p.contain(ctx, e, engine.ContainerSpec{Network: engine.HostNetwork})
}

// containerEndpoint creates an endpoint in a container on a network.
func (p *path) containerEndpoint(ctx context.Context, s *host, role string, pair int, spec engine.ContainerSpec) (*endpoint, error) {
	e := &endpoint{role: role, host: s}
	e.Endpoint = remote.Endpoint{Name: lab.PairName(role, pair), Client: role == containers.Client, Host: s.Host}
	settings := lab.SandboxSettings()
	if p.driver.sameKernel(s.engine) {
		settings = append(settings, lab.HereSettings()...)
	}
	spec.Sysctls = containers.Sysctls(settings)
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
		return nil, fmt.Errorf("find the device of container %s: %w", e.container.Name, err)
	}
	return e, nil
}

// discard removes an endpoint of the path.
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

// process returns the step for the endpoint's agent.
func (e *endpoint) process() pathspec.Step {
	if e.container == nil && !e.host.byEngine {
		return pathspec.ProcessStep(e.Place)
	}
	if e.container == nil {
		return pathspec.ProcessStep(e.Place, result.Fact{Name: "started by", Value: "engine " + e.host.engine.Versions.Engine + ", on the host network"})
	}
	return containers.ProcessStep(e.Place, e.host.engine, e.container)
}

// steps returns the steps from a container towards its host.
func (e *endpoint) steps(at remote.Attachment) []pathspec.Step { return e.StepsToHost(e.process(), at) }

// addPair adds a pair and checks its exchange, which shows whether the mode is what it
// should be.
func (p *path) addPair(ctx context.Context, from, to *endpoint, listen, dial netip.AddrPort, want remote.Connectivity) error {
	err := p.read.AddPair(ctx, remote.Exchange{Client: &from.Endpoint, Server: &to.Endpoint, Listen: listen, Dial: dial, Want: want})
	var u *remote.UnexpectedConnectivity
	switch {
	case !errors.As(err, &u):
		return err
	case want == remote.OneConnection:
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"the engine of host %s relays that port through a process instead of translating addresses (server saw %s, client dialled from %s over %s); docker/userland-proxy measures that", p.b.At, u.Result.Seen, u.Result.From, u.Network)}
	}
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
		"the engine of host %s translates addresses here too and runs no docker-proxy, because it was started with userland-proxy off", p.b.At)}
}
