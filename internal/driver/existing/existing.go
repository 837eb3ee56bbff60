// Package existing builds network modes on one or two existing Docker Engines with the
// access that their user has: it requires only the engine's API, changes nothing that it
// has not created, and removes all of that. Counters are read by agents: one in a container
// in each host's network, and one in each endpoint's.
//
// The endpoints of the baselines, and every host process, run in such a container in the
// host's network: they use its network stack only, but the engine starts them.
package existing

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/engine/locate"
)

// Host is a machine with an existing engine, and the address at which the other machine
// reaches it, which is optional with one engine.
type Host struct {
	Name    string // for messages; if empty a and b, or b in a virtual machine of a desktop
	Target  string // in the form of locate.Connect
	Address netip.Addr
	Machine *Machine // nil for a host that is known by its engine only
}

// Machine is a host on which processes can be started without its engine. Those in the host
// network then are such processes, not containers.
type Machine struct {
	Local    bool // it is this machine
	Launcher transport.Launcher
	// Connect finds the engine of the machine. If it cannot be used, the error is an
	// *engine.Unavailable.
	Connect func(ctx context.Context) (*engine.Engine, error)
}

// Driver builds modes on one or two existing engines.
type Driver struct {
	hosts    []Host
	swarm    bool // creating one is allowed
	here     machineIdentity
	mu       sync.Mutex       // guards open and guest
	open     []*engine.Engine // by host, nil until connected
	guest    []bool           // by host: its kernel was found not to be that of this machine
	sessions *remote.Sessions
}

// New creates a driver for one or two existing engines. It creates a Swarm, and removes it
// again, only if allowSwarm is set.
func New(hosts []Host, allowSwarm bool) *Driver {
	d := &Driver{hosts: hosts, swarm: allowSwarm, here: thisMachine(), open: make([]*engine.Engine, len(hosts)), guest: make([]bool, len(hosts))}
	d.sessions = remote.NewSessions(len(hosts)+1, d.openHost, d.removeRun) // the last one is the desktop
	return d
}

// Hosts returns the machines of the engines. An engine behind a Unix socket is on this
// machine unless it reports another one; its programs there work for the run, too. A desktop
// precedes the virtual machine of its engine.
func (d *Driver) Hosts() []driver.Host {
	if d.desktop() {
		return []driver.Host{d.desktopHost(), {Name: d.name(0), Guest: true}}
	}
	var out []driver.Host
	for i := range d.hosts {
		one := driver.Host{Name: d.name(i), Local: d.onThisMachine(i)}
		if one.Local {
			one.Programs = engine.Daemons()
		}
		out = append(out, one)
	}
	return out
}

// Open connects to every engine, so that an unusable one is known before anything is
// created; the error is an *engine.Unavailable.
func (d *Driver) Open(ctx context.Context) error {
	for i := range d.hosts {
		if _, err := d.engine(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the connections to the engines. All paths must be closed before.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for i, e := range d.open {
		if e != nil {
			errs = append(errs, e.Disconnect())
			d.open[i] = nil
		}
	}
	return errors.Join(errs...)
}

// engine returns the engine of a host, connecting once.
func (d *Driver) engine(ctx context.Context, i int) (*engine.Engine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[i] != nil {
		return d.open[i], nil
	}
	connect := func(ctx context.Context) (*engine.Engine, error) { return locate.Connect(ctx, d.hosts[i].Target) }
	if m := d.hosts[i].Machine; m != nil {
		connect = m.Connect
	}
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	d.open[i] = e
	return e, nil
}

// desktopHost is this machine, as a host with an engine in a virtual machine on it. What
// runs the virtual machine works for the run.
func (d *Driver) desktopHost() driver.Host {
	return driver.Host{Name: desktopName, Local: true, Programs: desktopPrograms()}
}

// openHost starts the agent that reads a host: in a container, if only its engine is known.
func (d *Driver) openHost(ctx context.Context, run string, i int) (*remote.Host, error) {
	if i == len(d.hosts) {
		return d.openDesktop(ctx, run)
	}
	name := d.name(i)
	if m := d.hosts[i].Machine; m != nil {
		return remote.Open(ctx, m.Launcher, run, name, d.hosts[i].Address)
	}
	e, err := d.engine(ctx, i)
	if err != nil {
		return nil, err
	}
	c, err := e.Run(ctx, engine.ContainerSpec{Run: run, Part: "witness", Name: engine.Name(run, name, "witness"), Network: engine.HostNetwork})
	if err != nil {
		return nil, err
	}
	read, err := remote.Open(ctx, c, run, name, d.hosts[i].Address)
	if err == nil {
		err = d.recognise(ctx, i, read)
	}
	if again := d.name(i); err == nil && again != name {
		err = read.Close()
		if err == nil {
			read, err = remote.Open(ctx, c, run, again, d.hosts[i].Address)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return read, nil
}

// removeRun removes everything of a run from the connected engines.
func (d *Driver) removeRun(ctx context.Context, run string) error {
	d.mu.Lock()
	open := slices.Clone(d.open)
	d.mu.Unlock()
	var errs []error
	for _, e := range open {
		if e != nil {
			errs = append(errs, e.RemoveRun(ctx, run))
		}
	}
	return errors.Join(errs...)
}
