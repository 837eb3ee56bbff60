package procpath

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// Path is a mode that stands, with the notes taken while it was built. A driver puts it
// in a type of its own.
type Path struct {
	pathspec.Path
	OnLab *lab.Lab
	Label string // for people, what the processes are: the switch

	own       []*linuxnet.NS    // sandboxes
	at        [][2]*linuxnet.NS // of client and server, by pair
	processes []*daemon.Process
	facts     []result.Fact
}

// DriverPath is the path, with what its driver knows of it beyond the processes and the lab.
// built is what the driver keeps of it.
func (p *Path) DriverPath(own driver.Path, built any) *driver.Path {
	own.Hosts, own.Underlay, own.Facts, own.Internal = labdriver.Hosts(), labdriver.Underlay(p.OnLab.Spec), p.facts, built
	own.Processes, own.Snapshot = p.PIDs, p.Snapshot
	if own.Close == nil {
		own.Close = p.Close
	}
	return p.Path.DriverPath(own)
}

// Lab is the lab that the path stands on.
func (p *Path) Lab() *lab.Lab { return p.OnLab }

// Sandbox makes a namespace of the path's own on a host.
func (p *Path) Sandbox(host, name string) (*linuxnet.NS, error) {
	ns, err := p.OnLab.Namespace(host + "-" + name)
	if err == nil {
		p.own = append(p.own, ns)
	}
	return ns, err
}

// NamespacePlace is a namespace as a place of the path.
func NamespacePlace(ns *linuxnet.NS, host, at string) pathspec.Place {
	return pathspec.Place{At: at, Host: host, Stack: pathspec.NamespaceStack{NS: ns}}
}

// NamespaceEndpoint is where an agent is started.
func NamespaceEndpoint(at pathspec.Place, ns *linuxnet.NS) pathspec.Endpoint {
	return pathspec.Endpoint{Place: at, Launcher: transport.Local{Start: ns.Start}}
}

// AddPairNamespaces notes the namespaces of one more pair.
func (p *Path) AddPairNamespaces(client, server *linuxnet.NS) {
	p.at = append(p.at, [2]*linuxnet.NS{client, server})
}

// PairNamespaces gives the namespaces of the two ends of a pair, counted from 1.
func (p *Path) PairNamespaces(pair int) (client, server *linuxnet.NS) {
	return p.at[pair-1][0], p.at[pair-1][1]
}

// AddProcess notes a process of the mode. It ends with the path.
func (p *Path) AddProcess(d *daemon.Process) { p.processes = append(p.processes, d) }

// MustBeBusy has a process's run time read around each trial, under the name of a counter,
// and wants the traffic of a pair, or that of all, to have kept it busy: what it passes on
// goes through its own memory and shows in no counter of the kernel. Helpers that it has
// for moments do not count.
func (p *Path) MustBeBusy(d *daemon.Process, counter string, pair int) error {
	pid, err := d.ProgramPID()
	if err != nil {
		return err
	}
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		n, err := linuxnet.RunTime(pid)
		if err != nil {
			return fmt.Errorf("read how long %s has run: %w", d.Name, err)
		}
		into[counter] = n
		return nil
	})
	p.AddRules(driver.Rule{Counter: counter, Expect: driver.ProcessBusy, Pair: pair})
	return nil
}

// PIDs are the processes of the mode.
func (p *Path) PIDs() []int {
	var pids []int
	for _, d := range p.processes {
		pids = append(pids, d.PID())
	}
	return pids
}

// AddFact adds to the facts.
func (p *Path) AddFact(name, value string) {
	p.facts = append(p.facts, result.Fact{Name: name, Value: value})
}

// Snapshot reads every counter. What keeps it from that is most often that a process of
// the mode has ended, and then that is what it says.
func (p *Path) Snapshot(ctx context.Context) (driver.Counters, error) {
	for _, d := range p.processes {
		if err := d.CheckRunning(); err != nil {
			return nil, fmt.Errorf("%s of %s is down: %w", p.Label, p.Mode, err)
		}
	}
	c, err := p.Path.Snapshot(ctx)
	return c, p.ExplainError(err)
}

// ExplainError puts the end of a process before an error that came of it.
func (p *Path) ExplainError(err error) error {
	if err == nil {
		return nil
	}
	for _, d := range p.processes {
		if fate := d.ExitReason(); fate != "" {
			return fmt.Errorf("%s (%w)", fate, err)
		}
	}
	return err
}

// Close ends the processes, the last started first, and takes the sandboxes and the lab
// down, and with them all devices, routes and rules.
func (p *Path) Close(context.Context) error {
	var errs []error
	for i := len(p.processes) - 1; i >= 0; i-- {
		errs = append(errs, p.processes[i].Close())
	}
	for _, ns := range p.own {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.OnLab.Close())...)
}
