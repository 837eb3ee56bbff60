package engines

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// path is a mode in a lab, with its specification.
type path struct {
	pathspec.Path
	order            driver.Order
	config           private.Config // of Docker Engines
	parallel         int            // pairs that may be tried for reachability at the same time; 0 is all
	patience         time.Duration  // how long the endpoints may take to reach each other
	lab              *lab.Lab
	a, b             *side
	inner            *side      // the network namespace of a rootless engine; nil without one
	mu               sync.Mutex // guards boxes while they are started in parallel
	boxes            []*box
	spaces           []*linuxnet.NS // opened for reading, in addition to those of boxes
	facts            []result.Fact  // in addition to those of engines and limits
	checks           []func() error // conditions that must hold after a trial
	encryptedOverlay bool           // the overlay must be encrypted
	// startContainer starts a container on a host in another way than by its engine alone; nil for that.
	startContainer func(context.Context, *side, engine.ContainerSpec) (*engine.Container, error)
	reached        bool // client and server reached each other while the path was built
}

// side is a host of the lab with its engine.
type side struct {
	namespace
	host   *lab.Host
	engine *private.Engine     // nil if the mode needs none
	bridge string              // the default bridge of its engine
	podman *private.PodmanInfo // of a Podman, nil for a Docker Engine
}

// namespace is a network namespace on the path: a host's, or one that an engine has created there.
type namespace struct {
	pathspec.Place
	ns *linuxnet.NS
}

func namespaceOf(at, host string, ns *linuxnet.NS) namespace {
	return namespace{pathspec.Place{At: at, Host: host, Stack: pathspec.NamespaceStack{NS: ns}}, ns}
}

func hostOf(h *lab.Host) *side {
	return &side{namespace: namespaceOf(h.Name, h.Name, h.NS), host: h, bridge: docker0}
}

// device returns the step for one of its devices.
func (n namespace) device(name string) pathspec.Step {
	return pathspec.DeviceStep(n.Place, pathspec.Device{Name: name})
}

// sides returns the hosts that have an engine.
func (p *path) sides() (with []*side) {
	for _, s := range []*side{p.a, p.b} {
		if s.engine != nil {
			with = append(with, s)
		}
	}
	return with
}

// Lab returns the lab of the path, for tests that interrupt the path.
func (p *path) Lab() *lab.Lab { return p.lab }

// versionFacts returns the versions of the engines and the limits they apply, as read back.
func (p *path) versionFacts() []result.Fact {
	var facts []result.Fact
	for _, s := range p.sides() {
		facts = append(facts, containers.VersionFacts(s.At, s.engine.Engine)...)
		if s.podman != nil {
			for _, f := range s.podman.Facts() {
				facts = append(facts, result.Fact{Name: s.At + " " + f.Name, Value: f.Value})
			}
		}
		facts = append(facts, result.Fact{Name: s.At + " engine program", Value: s.engine.Program})
	}
	for _, b := range p.boxes {
		if b.pair == 1 {
			facts = append(facts, containers.LimitFact(b.role, b.container.Limit)...)
		}
	}
	return append(facts, p.facts...)
}

// processes returns the init processes of the engines.
func (p *path) processes() []int {
	var roots []int
	for _, s := range p.sides() {
		roots = append(roots, s.engine.Root())
	}
	return roots
}

// snapshot reads all counters. If it fails because an engine or a container has exited, the
// error says so.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explainError(ctx, err)
}

// flushConnections flushes the connection tracking of both hosts.
func (p *path) flushConnections(ctx context.Context) error {
	all := p.sides()
	if p.inner != nil {
		all = append(all, p.inner)
	}
	for _, s := range all {
		if err := s.ns.Rules().FlushConntrack(); err != nil {
			return p.explainError(ctx, err)
		}
	}
	return nil
}

// explainError prepends the exit reason of an engine or a container to an error that it caused.
func (p *path) explainError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, s := range p.sides() {
		if reason := s.engine.ExitReason(); reason != "" {
			return fmt.Errorf("%s (%w)", reason, err)
		}
	}
	for _, b := range p.boxes {
		if reason := b.exitReason(ctx); reason != "" {
			return fmt.Errorf("the container of %s has ended%s (%w)", b.At, reason, err)
		}
	}
	return err
}

// close stops the engines with everything that runs on them, and removes the lab with
// everything that the engines created on its hosts.
func (p *path) close(context.Context) error {
	errs := []error{private.CloseAll(p.a.engine, p.b.engine)}
	for _, b := range p.boxes {
		if b.own {
			errs = append(errs, b.ns.Close())
		}
	}
	for _, ns := range p.spaces {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.lab.Close())...)
}

// underlay requires that the traffic of all pairs crosses the underlay.
func (p *path) underlay() {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: eth}, pathspec.Receives)
}

// sharedUnderlay is underlay without an upper bound, because a Swarm's managers communicate
// over it all the time.
func (p *path) sharedUnderlay() {
	p.MustCarryAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarryAtLeast(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: eth}, pathspec.Receives)
}

// idle requires that no traffic crosses devices.
func (p *path) idle(at pathspec.Place, devices ...string) {
	for _, d := range devices {
		p.MustBeIdle(at, pathspec.Device{Name: d})
	}
}

// proven returns the step for a rule or a process that a counter proves.
func proven(at pathspec.Place, kind, label, counter string) pathspec.Step {
	of, _ := result.Of(counter)
	return pathspec.ProvenBy(pathspec.RuleStep(at, kind, label), of)
}
