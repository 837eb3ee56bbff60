//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// path is a mode that stands on a lab, with the notes taken while it was built.
type path struct {
	pathspec.Path
	order  driver.ModeSpec
	lab    *lab.Lab
	a, b   *side
	mu     sync.Mutex // of boxes while they are started side by side
	boxes  []*box
	spaces []*linuxnet.NS // opened to be read, beside those of the boxes
	facts  []result.Fact  // beside those of the engines and limits
	sealed bool           // the overlay is to be encrypted
	met    bool           // the ends have reached each other while the path was built
}

// side is a host of the lab with its engine.
type side struct {
	pathspec.Place
	host   *lab.Host
	ns     *linuxnet.NS
	engine *private.Engine // nil where the mode needs none
}

func hostOf(h *lab.Host) *side {
	return &side{Place: pathspec.Place{At: h.Name, Host: h.Name, Stack: pathspec.NamespaceStack{NS: h.NS}}, host: h, ns: h.NS}
}

// sides are the hosts that have an engine.
func (p *path) sides() (with []*side) {
	for _, s := range []*side{p.a, p.b} {
		if s.engine != nil {
			with = append(with, s)
		}
	}
	return with
}

// Lab is the lab that the path is on, for tests that cut across it.
func (p *path) Lab() *lab.Lab { return p.lab }

// about are the versions of the engines and what limits they apply, as read back.
func (p *path) about() []result.Fact {
	var facts []result.Fact
	for _, s := range p.sides() {
		facts = append(facts, containers.VersionFacts(s.At, s.engine.Engine)...)
	}
	for _, b := range p.boxes {
		if b.pair == 1 {
			facts = append(facts, containers.LimitFact(b.role, b.container.Limit)...)
		}
	}
	return append(facts, p.facts...)
}

// processes are the first processes of the engines.
func (p *path) processes() []int {
	var roots []int
	for _, s := range p.sides() {
		roots = append(roots, s.engine.Root())
	}
	return roots
}

// snapshot reads every counter. What keeps it from that is most often an engine or
// a container that has ended, and then that is what it says.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explain(ctx, err)
}

// forget empties the connection tracking of both hosts.
func (p *path) forget(ctx context.Context) error {
	for _, s := range p.sides() {
		if err := s.ns.FlushConntrack(); err != nil {
			return p.explain(ctx, err)
		}
	}
	return nil
}

// explain puts the end of an engine or a container before an error that came of it.
func (p *path) explain(ctx context.Context, err error) error {
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
			return fmt.Errorf("the container of %s has ended: %s (%w)", b.At, reason, err)
		}
	}
	return err
}

// close ends the engines with all that runs on them, and takes the lab down. What
// engines have made on its hosts goes with it.
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
