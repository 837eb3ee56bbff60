package docker

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"tare/internal/driver"
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

// Guest builds modes on one or two engines that exist, as their guest: it needs no
// right but to speak to them, touches nothing that it has not made, and takes all
// of that away. Counters are read by agents: one in a container with each host's
// own network, one in each end's.
//
// The ends of the baselines, and every process "of the host", are processes in
// such a container with the host's own network: they have its network stack and no
// other, but they are started by the engine.
type Guest struct {
	hosts []Host
	swarm bool
	mu    sync.Mutex       // of open
	open  []*engine.Engine // by host, nil until spoken to

	entering sync.Mutex // of runs
	runs     map[string]*visit
}

// Existing is the driver of modes on one existing engine, or on two. A Swarm is
// made, and left again, only where allowed.
func Existing(hosts []Host, allowSwarm bool) *Guest {
	g := &Guest{swarm: allowSwarm, open: make([]*engine.Engine, len(hosts)), runs: map[string]*visit{}}
	for i, h := range hosts {
		if h.Name == "" {
			h.Name = string(rune('a' + i))
		}
		g.hosts = append(g.hosts, h)
	}
	return g
}

// Modes lists the modes. With one engine all are compared with the host's own
// loopback, with two those that cross the wire with the raw hosts.
func (g *Guest) Modes() []driver.Mode {
	far := host
	if len(g.hosts) == 1 {
		far = hostLocal
	}
	return toldOfGuest([]driver.Mode{
		{ID: host, Title: "process on one host to process on the other, started by their engines"},
		{ID: hostLocal, Title: "two processes of one host, through its own address, started by its engine"},
		{ID: "docker/host", Title: "both ends in containers on their host's own network", Baseline: far},
		{ID: "docker/published", Title: "raw client, server in a container with a published port", Baseline: far},
		{ID: "docker/bridge", Title: "both ends in containers on the default bridge, masqueraded and published", Baseline: far},
		{ID: "docker/colocated", Title: "two containers on one bridge", Baseline: hostLocal},
		{ID: "docker/to-host", Title: "container to a process of its own host", Baseline: hostLocal},
		{ID: "docker/userland-proxy", Title: "process to a container of its own host, through docker-proxy", Baseline: hostLocal},
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
func (g *Guest) Hosts() []driver.Host {
	var out []driver.Host
	for _, h := range g.hosts {
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
func (g *Guest) Open(ctx context.Context) error {
	for i := range g.hosts {
		if _, err := g.engine(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of the engines. Paths must have been closed.
func (g *Guest) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for i, e := range g.open {
		if e != nil {
			errs = append(errs, e.Disconnect())
			g.open[i] = nil
		}
	}
	return errors.Join(errs...)
}

// engine is the engine of a host, spoken to once.
func (g *Guest) engine(ctx context.Context, i int) (*engine.Engine, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[i] != nil {
		return g.open[i], nil
	}
	e, err := locate.Connect(ctx, g.hosts[i].Target)
	if err != nil {
		return nil, err
	}
	g.open[i] = e
	return e, nil
}
