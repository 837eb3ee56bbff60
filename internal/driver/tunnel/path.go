//go:build linux

package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/notes"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// The names of devices inside a lab, as an engine would choose them.
const (
	eth = "eth0"
	br  = "br0"
	lo  = "lo"
)

// table is that of the packet counters at the underlay's devices.
const table = "tare"

// Path is a mode of a tunnel that stands, with the notes taken while it was built.
type Path struct {
	notes.Path
	// Near is the client's host, Far the server's.
	Near, Far *Side
	MTU       int // inside the tunnel
	// Diagnose may say more of why nothing comes through the tunnel. It is optional.
	Diagnose func(error) error

	lab       *lab.Lab
	own       []*linuxnet.NS
	at        [][2]*linuxnet.NS // of client and server, by pair
	processes []*daemon.Process
	talks     []io.Closer // with processes
	works     []work
	facts     []result.Fact
}

// Side is one host with what is behind it.
type Side struct {
	notes.Place
	Host    *lab.Host
	NS      *linuxnet.NS
	Subnets []netip.Prefix // of its sandboxes
	Gateway []netip.Addr   // its own addresses among them
	net     lab.Net
}

// Sides are both, the client's first.
func (p *Path) Sides() []*Side { return []*Side{p.Near, p.Far} }

// Other is the side across the tunnel.
func (p *Path) Other(s *Side) *Side {
	if s == p.Near {
		return p.Far
	}
	return p.Near
}

// Lab is the lab that the path stands on.
func (p *Path) Lab() *lab.Lab { return p.lab }

// Space gives the namespaces of the two ends of a pair, counted from 1.
func (p *Path) Space(pair int) (client, server *linuxnet.NS) { return p.at[pair-1][0], p.at[pair-1][1] }

// work is what handles the tunnel's packets on a side, for the drawing.
type work struct {
	side           *Side
	kind, what, of string
}

// Works notes what handles the tunnel's packets on a side: a process, or a part of the
// kernel. of is what counts them, as for Transfer.
func (p *Path) Works(s *Side, kind, what, of string) {
	p.works = append(p.works, work{s, kind, what, of})
}

// Runs notes a process of the mode. It ends with the path.
func (p *Path) Runs(d *daemon.Process) { p.processes = append(p.processes, d) }

// Talks notes a connection to a process. It is closed with the path.
func (p *Path) Talks(c io.Closer) { p.talks = append(p.talks, c) }

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

// Facts are what the driver told of the tunnel.
func (p *Path) Facts() []result.Fact { return p.facts }

// Forget has nothing to let go of: nothing on the path tracks connections.
func (p *Path) Forget(context.Context) error { return nil }

// Snapshot reads every counter. What keeps it from that is most often that a process of
// the tunnel has ended, and then that is what it says.
func (p *Path) Snapshot(ctx context.Context) (driver.Counters, error) {
	for _, d := range p.processes {
		if err := d.Running(); err != nil {
			return nil, fmt.Errorf("the tunnel of %s is down: %w", p.Mode, err)
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

// Close ends the mode's processes and takes the sandboxes and the lab down, and with
// them the tunnel's devices, routes and rules.
func (p *Path) Close(context.Context) error {
	var errs []error
	for _, d := range p.processes {
		errs = append(errs, d.Close())
	}
	for _, c := range p.talks {
		_ = c.Close() // the other end is gone
	}
	for _, ns := range p.own {
		errs = append(errs, ns.Close())
	}
	return errors.Join(append(errs, p.lab.Close())...)
}

// end is where an agent is started.
func end(b box) notes.End {
	return notes.End{Place: b.Place, Launcher: transport.Local{Start: b.ns.Start}}
}
