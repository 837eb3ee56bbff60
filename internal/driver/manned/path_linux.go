package manned

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/notes"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// Path is a mode that stands, with the notes taken while it was built. A driver puts it
// in a type of its own.
type Path struct {
	notes.Path
	Stands *lab.Lab
	What   string // for people, what the processes are: the switch

	own       []*linuxnet.NS    // sandboxes
	at        [][2]*linuxnet.NS // of client and server, by pair
	processes []*daemon.Process
	facts     []result.Fact
}

// Done is the path, with what its driver knows of it beyond the processes and the lab.
// built is what the driver keeps of it.
func (p *Path) Done(own driver.Path, built any) *driver.Path {
	own.Hosts, own.Underlay, own.Facts, own.Built = labdriver.Hosts(), labdriver.Underlay(p.Stands.Spec), p.facts, built
	own.Processes, own.Snapshot = p.Roots, p.Snapshot
	if own.Close == nil {
		own.Close = p.Close
	}
	return p.Path.Done(own)
}

// Lab is the lab that the path stands on.
func (p *Path) Lab() *lab.Lab { return p.Stands }

// Sandbox makes a namespace of the path's own on a host.
func (p *Path) Sandbox(host, name string) (*linuxnet.NS, error) {
	ns, err := p.Stands.Namespace(host + "-" + name)
	if err == nil {
		p.own = append(p.own, ns)
	}
	return ns, err
}

// At is a namespace as a place of the path.
func At(ns *linuxnet.NS, host, at string) notes.Place {
	return notes.Place{At: at, Host: host, Stack: notes.Space{NS: ns}}
}

// End is where an agent is started.
func End(at notes.Place, ns *linuxnet.NS) notes.End {
	return notes.End{Place: at, Launcher: transport.Local{Start: ns.Start}}
}

// Between notes the namespaces of one more pair.
func (p *Path) Between(client, server *linuxnet.NS) {
	p.at = append(p.at, [2]*linuxnet.NS{client, server})
}

// Spaces gives the namespaces of the two ends of a pair, counted from 1.
func (p *Path) Spaces(pair int) (client, server *linuxnet.NS) {
	return p.at[pair-1][0], p.at[pair-1][1]
}

// Runs notes a process of the mode. It ends with the path.
func (p *Path) Runs(d *daemon.Process) { p.processes = append(p.processes, d) }

// Worked has a process's run time read around each trial, under the name of a counter,
// and wants the traffic of a pair, or that of all, to have kept it busy: what it passes on
// goes through its own memory and shows in no counter of the kernel. Helpers that it has
// for moments do not count.
func (p *Path) Worked(d *daemon.Process, counter string, pair int) error {
	pid, err := d.Program()
	if err != nil {
		return err
	}
	p.Watch(func(_ context.Context, into driver.Counters) error {
		n, err := linuxnet.RunTime(pid)
		if err != nil {
			return fmt.Errorf("read how long %s has run: %w", d.Name, err)
		}
		into[counter] = n
		return nil
	})
	p.Must(driver.Rule{Counter: counter, Expect: driver.Works, Pair: pair})
	return nil
}

// Roots are the processes of the mode.
func (p *Path) Roots() []int {
	var pids []int
	for _, d := range p.processes {
		pids = append(pids, d.PID())
	}
	return pids
}

// Tells adds to the facts.
func (p *Path) Tells(name, value string) {
	p.facts = append(p.facts, result.Fact{Name: name, Value: value})
}

// Snapshot reads every counter. What keeps it from that is most often that a process of
// the mode has ended, and then that is what it says.
func (p *Path) Snapshot(ctx context.Context) (driver.Counters, error) {
	for _, d := range p.processes {
		if err := d.Running(); err != nil {
			return nil, fmt.Errorf("%s of %s is down: %w", p.What, p.Mode, err)
		}
	}
	c, err := p.Path.Snapshot(ctx)
	return c, p.Explain(err)
}

// Explain puts the end of a process before an error that came of it.
func (p *Path) Explain(err error) error {
	if err == nil {
		return nil
	}
	for _, d := range p.processes {
		if fate := d.Fate(); fate != "" {
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
	return errors.Join(append(errs, p.Stands.Close())...)
}
