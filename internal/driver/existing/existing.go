// Package existing builds network modes on one or two Docker Engines that exist, as what
// their user may do there: it needs no right but to speak to them, touches nothing that it
// has not made, and takes all of that away. Counters are read by agents: one in a container
// with each host's own network, one in each end's.
//
// The ends of the baselines, and every process "of the host", are processes in
// such a container with the host's own network: they have its network stack and no
// other, but they are started by the engine.
package existing

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/engine/locate"
)

// Host is a machine with an engine that exists, and the address at which the other
// machine reaches it. With one engine the address may be left out.
type Host struct {
	Name    string // for people; a and b where empty
	Target  string // as locate.Connect takes it
	Address netip.Addr
}

// Driver builds modes on one existing engine, or on two.
type Driver struct {
	hosts    []Host
	swarm    bool             // one may be made
	mu       sync.Mutex       // of open
	open     []*engine.Engine // by host, nil until spoken to
	sessions *remote.Sessions
}

// New is the driver of modes on one existing engine, or on two. A Swarm is
// made, and left again, only where allowed.
func New(hosts []Host, allowSwarm bool) *Driver {
	d := &Driver{swarm: allowSwarm, open: make([]*engine.Engine, len(hosts))}
	for i, h := range hosts {
		if h.Name == "" {
			h.Name = string(rune('a' + i))
		}
		d.hosts = append(d.hosts, h)
	}
	d.sessions = remote.NewSessions(len(hosts), d.read, d.forget)
	return d
}

// Modes lists the modes. With one engine all are compared with the host's own
// loopback, with two those that cross the wire with the raw hosts.
func (d *Driver) Modes() []driver.Mode {
	far := containers.Host
	if len(d.hosts) == 1 {
		far = containers.HostLocal
	}
	return traits([]driver.Mode{
		{ID: containers.Host, Title: "process on one host to process on the other, started by their engines"},
		{ID: containers.HostLocal, Title: "two processes of one host, through its own address, started by its engine"},
		{ID: "docker/host", Title: "both ends in containers on their host's own network", Baseline: far},
		{ID: "docker/published", Title: "raw client, server in a container with a published port", Baseline: far},
		{ID: "docker/bridge", Title: "both ends in containers on the default bridge, masqueraded and published", Baseline: far},
		{ID: "docker/colocated", Title: "two containers on one bridge", Baseline: containers.HostLocal},
		{ID: "docker/to-host", Title: "container to a process of its own host", Baseline: containers.HostLocal},
		{ID: "docker/userland-proxy", Title: "process to a container of its own host, through docker-proxy", Baseline: containers.HostLocal},
		{ID: "docker/macvlan", Title: "both ends on macvlan devices of a link of their hosts", Baseline: far},
		{ID: "docker/ipvlan", Title: "both ends on ipvlan devices of a link of their hosts", Baseline: far},
		{ID: "docker/overlay", Title: "both ends on an overlay network of a Swarm", Baseline: far},
		{ID: "docker/overlay-encrypted", Title: "both ends on an encrypted overlay network of a Swarm", Baseline: far},
		{ID: "docker/network:NAME", Title: "both ends on a network that exists", Baseline: far},
		{ID: "docker/driver:NAME", Title: "both ends on a network made with a driver of the user's", Baseline: far},
	})
}

// Hosts are the machines of the engines. Those on this machine are known by the way in
// which they are spoken to, over a Unix socket; there the engine's programs work for the run, too.
func (d *Driver) Hosts() []driver.Host {
	var out []driver.Host
	for _, h := range d.hosts {
		one := driver.Host{Name: h.Name, Local: locate.Local(h.Target)}
		if one.Local {
			one.Programs = engine.Daemons()
		}
		out = append(out, one)
	}
	return out
}

// Open speaks to every engine, so that what keeps one from being used is known
// before anything is made: an *engine.Unavailable error.
func (d *Driver) Open(ctx context.Context) error {
	for i := range d.hosts {
		if _, err := d.engine(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of the engines. Paths must have been closed.
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

// engine is the engine of a host, spoken to once.
func (d *Driver) engine(ctx context.Context, i int) (*engine.Engine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[i] != nil {
		return d.open[i], nil
	}
	e, err := locate.Connect(ctx, d.hosts[i].Target)
	if err != nil {
		return nil, err
	}
	d.open[i] = e
	return e, nil
}

// takes is how long a mode takes to be made and taken down that is containers and agents,
// about.
const takes = 2 * time.Second

// traits adds what ids tell. Here, macvlan and ipvlan have to be told which link of the
// hosts they are to use.
func traits(modes []driver.Mode) []driver.Mode {
	modes = containers.Traits(modes, takes)
	for i := range modes {
		m := &modes[i]
		m.Options = m.Options || m.ID == "docker/macvlan" || m.ID == "docker/ipvlan"
	}
	return modes
}

// read starts the container and in it the agent that read a host.
func (d *Driver) read(ctx context.Context, run string, i int) (*remote.Host, error) {
	h := d.hosts[i]
	e, err := d.engine(ctx, i)
	if err != nil {
		return nil, err
	}
	c, err := e.Run(ctx, engine.ContainerSpec{Run: run, Part: "witness", Name: engine.Name(run, h.Name, "witness"), Network: engine.HostNetwork})
	if err != nil {
		return nil, err
	}
	read, err := remote.Open(ctx, c, run, h.Name, h.Address)
	if err != nil {
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return read, nil
}

// forget removes everything of a run from the engines that were spoken to.
func (d *Driver) forget(ctx context.Context, run string) error {
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
