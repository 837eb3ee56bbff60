package engines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/driver/setting"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
)

// path is a mode in a lab, with its specification: the hosts with their engines, the containers on them,
// what the engines' rules and the parts left out must show, and whether the endpoints reach each other.
type path struct {
	pathspec.Path
	hosts
	order   driver.Order
	boxes   boxes
	without omissions
	reach   reach
	restart *restart // nil unless the server's engine writes its rules again in an event
}

// newPath returns a path that has nothing yet.
func newPath(o labdriver.Order, config private.Config, parallel int, patience time.Duration) *path {
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs, Clock: o.Clock}, hosts: hosts{config: config}, order: o.Order}
	p.boxes = boxes{hosts: &p.hosts, order: o.Order}
	p.without = omissions{Path: &p.Path, order: o.Order}
	p.reach = reach{spec: &p.Path, run: o.Lab.Claim.ID, parallel: parallel, patience: patience}
	return p
}

// provision builds the mode in a lab of its own on the engines that start starts. On error nothing of it
// is left.
func (p *path) provision(ctx context.Context, m mode, o labdriver.Order, start func() error) (_ *driver.Path, err error) {
	o.Clock.LabBegins()
	if p.lab, err = lab.Up(o.Lab); err != nil {
		return nil, err
	}
	p.a, p.b = hostOf(p.lab.A), hostOf(p.lab.B)
	if p.restart != nil && p.restart.successor != nil {
		p.b.Stack = p.restart.successor.outlive(p.b.ns)
	}
	if err = start(); err == nil {
		err = m.build.build(ctx, p)
	}
	var facts []result.Fact
	if err == nil {
		err = errors.Join(p.proveSandboxes(), p.without.resolver(ctx, p.boxes.all), p.without.confinement(p.boxes.all))
	}
	if err == nil {
		versions, runtimes := p.facts(ctx)
		facts = append(versions, p.boxes.limitFacts()...)
		p.AddFacts(runtimes...)
		err = setting.Apply(&p.Path, o.With)
	}
	if err == nil && !p.reach.done && !o.Clock.FindsOut() {
		err = p.reach.all(ctx, p.reach.patience)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explainError(ctx, err)), p.close(context.WithoutCancel(ctx)))
	}
	made := p.DriverPath(driver.Path{
		Hosts: labdriver.Hosts(), Underlay: labdriver.Underlay(o.Lab), Facts: facts, Processes: p.processes, Snapshot: p.snapshot, FlushConnections: p.flush, Probe: remote.EndpointProbe(&p.Path, containers.MTUKey), Close: p.close, Internal: p,
	})
	made.Events = labdriver.Events(p.lab, made.Rules, made.Pairs)
	if p.restart != nil {
		made.Events, made.Lost = append(made.Events, p.restart.events()...), p.restart.lost
	}
	return made, nil
}

// Lab returns the lab of the path, for tests that interrupt the path.
func (p *path) Lab() *lab.Lab { return p.lab }

// snapshot reads all counters. If it fails because an engine or a container has exited, the
// error says so.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explainError(ctx, err)
}

// flush flushes the connection tracking of both hosts.
func (p *path) flush(ctx context.Context) error {
	return p.explainError(ctx, p.flushConnections())
}

// explainError prepends the exit reason of an engine or a container to an error that it caused.
func (p *path) explainError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if reason := p.exitReason(); reason != "" {
		return fmt.Errorf("%s (%w)", reason, err)
	}
	for _, b := range p.boxes.all {
		if reason := b.exitReason(ctx); reason != "" {
			return fmt.Errorf("the container of %s has ended%s (%w)", b.At, reason, err)
		}
	}
	return err
}

// close stops the engines with everything that runs on them, and removes the lab with
// everything that the engines created on its hosts.
func (p *path) close(context.Context) error {
	return errors.Join(private.CloseAll(p.a.engine, p.b.engine), p.boxes.close(), p.closeSpaces(), p.lab.Close())
}

// proveSandboxes adds what proves that the sandboxes carry the traffic of their pairs.
func (p *path) proveSandboxes() error {
	for _, b := range p.boxes.all {
		if b.sandbox == nil {
			continue
		}
		if err := b.proveSandbox(&p.Path); err != nil {
			return err
		}
	}
	return nil
}

// underlay requires that the traffic of all pairs crosses the underlay.
func (p *path) underlay() {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: eth}, pathspec.Receives)
}

// sharedUnderlay is underlay without an upper bound: because a Swarm's managers communicate over it all
// the time, or because a process on the path has connections of its own, so that only the payload is known.
func (p *path) sharedUnderlay() {
	p.MustCarryAtLeast(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: eth}, pathspec.Transmits)
	p.MustCarryAtLeast(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: eth}, pathspec.Receives)
}

// relayedUnderlay requires that the traffic crosses the underlay and no loopback device of the hosts.
func (p *path) relayedUnderlay() {
	p.sharedUnderlay()
	p.idle(p.a.Place, lo)
	p.idle(p.b.Place, lo)
}

// idle requires that no traffic crosses devices.
func (p *path) idle(at pathspec.Place, devices ...string) {
	for _, d := range devices {
		p.MustBeIdle(at, pathspec.Device{Name: d})
	}
}

// bypassOthers requires that no traffic of the trials uses any device of a container except the given one.
func (p *path) bypassOthers(b *box, but string) error {
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return err
	}
	p.idle(b.Place, slices.DeleteFunc(devices, func(d string) bool { return d == but })...)
	return nil
}

// steps returns the steps up to a rule, the rule unless it was left out, and the steps after it.
func (p *path) steps(before []pathspec.Step, part string, rule pathspec.Step, after ...pathspec.Step) []pathspec.Step {
	if p.order.Without(part) {
		return append(before, after...)
	}
	return append(append(before, rule), after...)
}

// proven returns the step for a rule or a process that a counter proves.
func proven(at pathspec.Place, kind, label, counter string) pathspec.Step {
	of, _ := result.Of(counter)
	return pathspec.ProvenBy(pathspec.RuleStep(at, kind, label), of)
}
