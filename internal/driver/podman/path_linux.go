package podman

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// path is a mode in a lab, with its specification.
type path struct {
	pathspec.Path
	order driver.Order
	lab   *lab.Lab
	a, b  *side
	boxes []*box
}

// side is a host of the lab with its Podman.
type side struct {
	pathspec.Place
	host   *lab.Host
	ns     *linuxnet.NS
	podman *private.Engine // nil if the mode needs none
	info   private.PodmanInfo
}

func hostOf(h *lab.Host) *side {
	return &side{Place: pathspec.Place{At: h.Name, Host: h.Name, Stack: pathspec.NamespaceStack{NS: h.NS}}, host: h, ns: h.NS}
}

// sides returns the hosts that have a Podman.
func (p *path) sides() (with []*side) {
	for _, s := range []*side{p.a, p.b} {
		if s.podman != nil {
			with = append(with, s)
		}
	}
	return with
}

// Lab returns the lab of the path, for tests that interrupt the path.
func (p *path) Lab() *lab.Lab { return p.lab }

// versionFacts returns the versions of the Podmans and the limits they apply, as read back.
func (p *path) versionFacts() []result.Fact {
	var facts []result.Fact
	for _, s := range p.sides() {
		facts = append(facts, containers.VersionFacts(s.At, s.podman.Engine)...)
		for _, f := range s.info.Facts() {
			facts = append(facts, result.Fact{Name: s.At + " " + f.Name, Value: f.Value})
		}
		facts = append(facts, result.Fact{Name: s.At + " engine program", Value: s.podman.Program})
	}
	for _, b := range p.boxes {
		if b.pair == 1 {
			facts = append(facts, containers.LimitFact(b.role, b.container.Limit)...)
		}
	}
	return facts
}

// processes returns the init processes of the Podmans.
func (p *path) processes() []int {
	var roots []int
	for _, s := range p.sides() {
		roots = append(roots, s.podman.Root())
	}
	return roots
}

// snapshot reads all counters. If it fails because a Podman or a container has exited, the error
// says so.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explainError(ctx, err)
}

// flushConnections flushes the connection tracking of the hosts that have a Podman.
func (p *path) flushConnections(ctx context.Context) error {
	for _, s := range p.sides() {
		if err := s.ns.Rules().FlushConntrack(); err != nil {
			return p.explainError(ctx, err)
		}
	}
	return nil
}

// explainError prepends the exit reason of a Podman or a container to an error that it caused.
func (p *path) explainError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, s := range p.sides() {
		if reason := s.podman.ExitReason(); reason != "" {
			return fmt.Errorf("%s (%w)", reason, err)
		}
	}
	for _, b := range p.boxes {
		if s, gone := b.container.State(ctx); gone == nil && !s.Running {
			return fmt.Errorf("the container of %s has ended with exit code %d (%w)", b.At, s.ExitCode, err)
		}
	}
	return err
}

// close stops the Podmans with everything that runs on them, and removes the lab with everything
// that they created on its hosts.
func (p *path) close(context.Context) error {
	errs := []error{private.CloseAll(p.a.podman, p.b.podman)}
	for _, b := range p.boxes {
		if b.own {
			errs = append(errs, b.ns.Close())
		}
	}
	return errors.Join(append(errs, p.lab.Close())...)
}
