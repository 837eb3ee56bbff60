package labdriver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// Path is a mode in a lab of its own, with its sandboxes and processes. A driver embeds it in its own type.
type Path struct {
	pathspec.Path
	OnLab *lab.Lab
	Label string // what the processes are, for messages: "the switch"

	namespaces     []*linuxnet.NS    // sandboxes
	pairNamespaces [][2]*linuxnet.NS // of client and server, by pair
	processes      []*daemon.Process
	closers        []func() error
	facts          []result.Fact
}

// Up creates the lab of an order, with a path on it that has nothing yet. label says what the mode's
// processes are. It returns the error of the lab.
func Up(o Order, label string) (Path, error) {
	o.Clock.LabBegins()
	l, err := lab.Up(o.Lab)
	return Path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs, Clock: o.Clock}, OnLab: l, Label: label}, err
}

// Failed removes what exists of a mode that could not be built, and returns why: an Unsupported error as it
// is, any other after the reason for which a process has exited, if one has.
func (p *Path) Failed(ctx context.Context, err error) error {
	if u, lacking := driver.AsUnsupported(err); lacking {
		return errors.Join(u, p.Close(ctx))
	}
	return errors.Join(fmt.Errorf("provision %s: %w", p.Mode, p.ExplainError(err)), p.Close(ctx))
}

// DriverPath converts the specification and adds lab, processes and facts. own has what
// only the driver knows; internal is the driver's own value.
func (p *Path) DriverPath(own driver.Path, built any) *driver.Path {
	own.Hosts, own.Underlay, own.Facts, own.Internal = Hosts(), Underlay(p.OnLab.Spec), p.facts, built
	own.Snapshot = p.Snapshot
	if len(p.processes) > 0 {
		own.Processes = p.PIDs
	}
	if own.Close == nil {
		own.Close = p.Close
	}
	made := p.Path.DriverPath(own)
	made.Events = append(Events(p.OnLab, made.Rules, made.Pairs), made.Events...)
	return made
}

// Lab returns the lab of the path.
func (p *Path) Lab() *lab.Lab { return p.OnLab }

// Sandbox creates a namespace of the path on a host. The names of those of the first pair are their roles.
func (p *Path) Sandbox(host, name string) (*linuxnet.NS, error) {
	p.Clock.SandboxBegins(name)
	ns, err := p.OnLab.Namespace(host + "-" + name)
	if err == nil {
		p.namespaces = append(p.namespaces, ns)
	}
	return ns, err
}

// AddSandbox adds a sandbox that a program of the mode has created. Closing it only lets go of it.
func (p *Path) AddSandbox(ns *linuxnet.NS) { p.namespaces = append(p.namespaces, ns) }

// NamespacePlace returns a namespace as a place on the path.
func NamespacePlace(ns *linuxnet.NS, host, at string) pathspec.Place {
	return pathspec.Place{At: at, Host: host, Stack: pathspec.NamespaceStack{NS: ns}}
}

// NamespaceEndpoint returns an endpoint whose agent is started in a namespace.
func NamespaceEndpoint(at pathspec.Place, ns *linuxnet.NS) pathspec.Endpoint {
	return pathspec.Endpoint{Place: at, Launcher: transport.Local{Start: ns.Start, Namespace: ns.Path()}}
}

// AddPairNamespaces adds the namespaces of another pair.
func (p *Path) AddPairNamespaces(client, server *linuxnet.NS) {
	p.pairNamespaces = append(p.pairNamespaces, [2]*linuxnet.NS{client, server})
}

// PairNamespaces returns the namespaces of a pair, counted from 1.
func (p *Path) PairNamespaces(pair int) (client, server *linuxnet.NS) {
	return p.pairNamespaces[pair-1][0], p.pairNamespaces[pair-1][1]
}

// AddProcess adds a process of the mode. It ends with the path.
func (p *Path) AddProcess(d *daemon.Process) { p.processes = append(p.processes, d) }

// AtClose calls end first when the path is closed, and again if it is closed again.
func (p *Path) AtClose(end func() error) { p.closers = append(p.closers, end) }

// MustBeBusy reads a process's CPU time before and after each trial as a counter, and
// requires that the traffic that the rule is about has kept it busy: data that a
// process forwards is in no kernel counter. Short-lived child processes do not count.
func (p *Path) MustBeBusy(d *daemon.Process, r driver.Rule) error {
	pid, err := d.ProgramPID()
	if err != nil {
		return err
	}
	p.ReadRunTime(r.Counter, d.Name, pid)
	r.Expect = driver.ProcessBusy
	p.AddRules(r)
	return nil
}

// PIDs returns the ids of the mode's processes.
func (p *Path) PIDs() []int {
	var pids []int
	for _, d := range p.processes {
		pids = append(pids, d.PID())
	}
	return pids
}

// AddFact adds a fact.
func (p *Path) AddFact(name, value string) {
	p.facts = append(p.facts, result.Fact{Name: name, Value: value})
}

// AddDeciding adds a fact that decides the trials of the mode, see [result.Deciding].
func (p *Path) AddDeciding(name, value string) {
	p.facts = append(p.facts, result.Deciding(name, value))
}

// Snapshot reads all counters. If it fails because a process of the mode has exited, the
// error says so.
func (p *Path) Snapshot(ctx context.Context) (driver.Counters, error) {
	for _, d := range p.processes {
		if err := d.CheckRunning(); err != nil {
			return nil, fmt.Errorf("%s of %s is down: %w", p.Label, p.Mode, err)
		}
	}
	c, err := p.Path.Snapshot(ctx)
	return c, p.ExplainError(err)
}

// ExplainError prepends the exit reason of a process to an error that it caused.
func (p *Path) ExplainError(err error) error {
	if err == nil {
		return nil
	}
	if fate := daemon.FirstExit(p.processes...); fate != "" {
		return fmt.Errorf("%s (%w)", fate, err)
	}
	return err
}

// Close ends the processes, the last started first, and removes the sandboxes and the lab,
// with all devices, routes and rules in them.
func (p *Path) Close(context.Context) error {
	var errs []error
	for _, end := range p.closers {
		errs = append(errs, end())
	}
	for _, d := range slices.Backward(p.processes) {
		errs = append(errs, d.Close())
	}
	for _, ns := range p.namespaces {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.OnLab.Close())...)
}
