//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/notes"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
)

// guestPath is a mode that stands on existing engines.
type guestPath struct {
	notes.Path
	order    driver.Order
	guest    *Guest
	visit    *visit
	a, b     *site // the client's and the server's; one and the same in modes of one host
	boxes    []*guestBox
	networks []leftNetwork
	gossips  bool // the network is a Swarm's
	meets    []meet
	facts    []result.Fact
	close    sync.Once
	closed   error
}

// leftNetwork is a network that the path has made on an engine.
type leftNetwork struct {
	on *engine.Engine
	id string
}

// guestBox is an end: a container with an agent that reads its network, or a
// process of the host.
type guestBox struct {
	notes.Place
	role      string
	site      *site
	launcher  transport.Launcher
	container *engine.Container // nil for a process of the host
	eye       *agent.Client
	own       bool       // it has a network of its own
	addr      netip.Addr // its own there
	link      wire.Link  // that has the address
}

// about are the versions of the engines and the limits they apply.
func (p *guestPath) about() []result.Fact {
	var facts []result.Fact
	for i, s := range []*site{p.a, p.b} {
		if i == 1 && p.b == p.a {
			break
		}
		facts = append(facts, result.Fact{Name: s.At + " engine is", Value: s.engine.Name})
		for _, f := range s.engine.Versions.Facts() {
			facts = append(facts, result.Fact{Name: s.At + " " + f.Name, Value: f.Value})
		}
	}
	for _, b := range p.boxes {
		if b.container != nil && (b.role == client || b.role == server) && limitText(b.container.Limit) != "" {
			facts = append(facts, result.Fact{Name: b.role + " limit", Value: limitText(b.container.Limit)})
		}
	}
	return append(facts, p.facts...)
}

// shut removes what the path has made, and with the last path of a run what they
// shared.
func (p *guestPath) shut(ctx context.Context) error {
	p.close.Do(func() { p.closed = p.end(ctx) })
	return p.closed
}

func (p *guestPath) end(ctx context.Context) error {
	errs := make([]error, len(p.boxes))
	var wg sync.WaitGroup
	for i, b := range p.boxes {
		wg.Go(func() { errs[i] = b.remove(ctx) })
	}
	wg.Wait()
	for _, n := range p.networks {
		errs = append(errs, n.on.RemoveNetwork(ctx, n.id))
	}
	return errors.Join(append(errs, p.guest.leave(ctx, p.visit))...)
}

func (b *guestBox) remove(ctx context.Context) error {
	var errs []error
	if b.own && b.eye != nil {
		errs = append(errs, b.eye.Close())
	}
	if b.container != nil {
		errs = append(errs, b.container.Remove(ctx))
	}
	return errors.Join(errs...)
}

// snapshot reads every counter. What keeps it from that is most often an engine or
// a container that has ended.
func (p *guestPath) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Path.Snapshot(ctx)
	return c, p.explain(ctx, err)
}

// explain puts the end of a container before an error that came of it.
func (p *guestPath) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, b := range p.boxes {
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
// has a limit, else in the one of the host's witness.
func (p *guestPath) raw(ctx context.Context, s *site, role string, pair int) (*guestBox, error) {
	b := &guestBox{Place: s.Place, role: role, site: s, launcher: s.container, eye: s.eye}
	if limitOf(p.order, role) == (study.Limit{}) && p.Mode != "docker/host" {
		p.boxes = append(p.boxes, b)
		return b, nil
	}
	err := p.contain(ctx, b, pair, engine.ContainerSpec{Network: engine.HostNetwork})
	return b, err
}

// boxed is an end in a container on a network.
func (p *guestPath) boxed(ctx context.Context, s *site, role string, pair int, spec engine.ContainerSpec) (*guestBox, error) {
	b := &guestBox{role: role, site: s, own: true}
	spec.Sysctls = sandboxSysctls(&lab.Lab{})
	if err := p.contain(ctx, b, pair, spec); err != nil {
		return nil, err
	}
	eye, err := agent.Start(ctx, b.container, p.visit.run, b.At)
	if err != nil {
		return nil, err
	}
	b.eye, b.Stack = eye, &sight{eye}
	for _, a := range b.container.Addresses() {
		if a.Is4() {
			b.addr = a
			break
		}
	}
	if !b.addr.IsValid() {
		return nil, fmt.Errorf("the engine of host %s gave container %s no IPv4 address", b.Host, b.container.Name)
	}
	b.link, err = linkWith(ctx, eye, b.addr)
	if err != nil {
		return nil, fmt.Errorf("look for the device of container %s: %w", b.container.Name, err)
	}
	return b, nil
}

// discard removes an end of the path.
func (p *guestPath) discard(ctx context.Context, b *guestBox) error {
	p.boxes = slices.DeleteFunc(p.boxes, func(o *guestBox) bool { return o == b })
	return b.remove(ctx)
}

func (p *guestPath) contain(ctx context.Context, b *guestBox, pair int, spec engine.ContainerSpec) error {
	name := numbered(b.role, pair)
	b.Place = notes.Place{At: b.site.At + "/" + name, Host: b.site.Host, Stack: b.site.Stack}
	spec.Run, spec.Part, spec.Limit = p.visit.run, b.role, limitOf(p.order, b.role)
	spec.Name = engine.Name(spec.Run, p.order.Label, b.site.At, name)
	c, err := b.site.engine.Run(ctx, spec)
	if err != nil {
		return err
	}
	b.container, b.launcher = c, c
	p.boxes = append(p.boxes, b)
	return nil
}

func (b *guestBox) end() notes.End { return notes.End{Place: b.Place, Launcher: b.launcher} }

// process is the end's agent in a drawing.
func (b *guestBox) process() notes.Step {
	if b.container == nil {
		return notes.ProcessAt(b.Place, result.Fact{Name: "started by", Value: "engine " + b.site.engine.Versions.Engine + ", on the host's own network"})
	}
	return notes.ProcessAt(b.Place, containerFacts(b.site.engine, b.container)...)
}

func linkWith(ctx context.Context, eye *agent.Client, addr netip.Addr) (wire.Link, error) {
	links, _, err := eye.Links(ctx, netip.Addr{})
	if err != nil {
		return wire.Link{}, err
	}
	for _, l := range links {
		for _, a := range l.Addresses {
			if a.Addr() == addr {
				return l, nil
			}
		}
	}
	return wire.Link{}, fmt.Errorf("no device there has the address %s", addr)
}

// meet is a short exchange by which the path shows what is between its ends, over
// the very port of its trials.
type meet struct {
	client, server *guestBox
	listen, dial   netip.AddrPort
	want           between
}

// between is what may be between two ends.
type between int

const (
	oneConnection between = iota // the server meets the client's own connection, its address translated at most
	twoOfThem                    // a relay ends the client's and begins its own
	whatever                     // a network of the user's may do as it likes
)

// The waits for an answer: when a path has just been made, and later.
const (
	firstMeet = 5 * time.Second
	laterMeet = 2 * time.Second
)

// tries is how often an exchange that shows the unexpected is repeated: a relay
// meets the client's own port by chance once in tens of thousands, and translation
// has to change a port only where another connection has it.
const tries = 3

// apart is what is wrong with ends that ran and got no answer.
const apart = "the ends cannot reach each other (a firewall on a host?)"

// introduce has the ends of a pair meet over TCP and UDP, and at every snapshot
// again over TCP.
func (p *guestPath) introduce(ctx context.Context, m meet) error {
	for _, network := range []string{"tcp", "udp"} {
		fits, met, err := m.try(ctx, network, firstMeet)
		if err != nil {
			return fmt.Errorf("%s: %w", apart, err)
		}
		if !fits && m.want == oneConnection {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
				"the engine of host %s hands that port to a relay (seen from %s, dialled from %s over %s), not to address translation: docker/userland-proxy weighs that", p.b.At, met.Seen, met.From, network)}
		}
		if !fits {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
				"the engine of host %s translates addresses here too, and runs no docker-proxy: it was started with userland-proxy off", p.b.At)}
		}
	}
	if p.meets = append(p.meets, m); len(p.meets) > 1 || m.want == whatever {
		return nil
	}
	counter := notes.Counter(p.b.At, "connections", "unlike")
	var unlike uint64
	p.Watch(func(ctx context.Context, into driver.Counters) error {
		for _, m := range p.meets {
			fits, _, err := m.try(ctx, "tcp", laterMeet)
			if err != nil {
				return err
			}
			if !fits {
				unlike++
			}
		}
		into[counter] = unlike
		return nil
	})
	p.Must(driver.Rule{Counter: counter, Expect: driver.Unmet})
	return nil
}

func (m meet) try(ctx context.Context, network string, wait time.Duration) (fits bool, met agent.Met, err error) {
	for range tries {
		if met, err = agent.Meet(ctx, m.client.eye, m.server.eye, network, m.listen, m.dial, wait); err != nil {
			return false, met, err
		}
		if m.want == whatever || met.Same() == (m.want == oneConnection) {
			return true, met, nil
		}
	}
	return false, met, nil
}
