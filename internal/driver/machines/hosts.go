// Package machines builds the modes that need nothing but two machines on which this program
// can be started: process to process between the two, and within one. It reads the machines
// through agents, so that they may run any system that tare builds for.
package machines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/remote"
	"tare/internal/machine"
	"tare/internal/runid"
	"tare/internal/timelimit"
)

// Named is a machine as the user names it.
type Named struct {
	Name    string // for messages; a or b if empty
	Machine machine.Address
	Address netip.Addr // at which the other machine is to reach it; if invalid it is found
}

// String names the machine for messages: by its name, and how it is reached.
func (n Named) String() string { return fmt.Sprintf("%s (%s)", n.Name, n.Machine) }

// Connect reaches a machine for the run with this id.
type Connect func(ctx context.Context, run, name string, at machine.Address) (*machine.Machine, error)

// Hosts are the two machines of a run, the client's first. They are connected from Open to
// Close.
type Hosts struct {
	named   [2]Named
	connect Connect

	mu       sync.Mutex // guards machines
	machines [2]*machine.Machine
	run      runid.Run
	route    Route
	facts    [2]wire.Machine
	path     remote.PathReport

	reconnecting [2]sync.Mutex // held while a machine is connected again
}

// NewHosts returns the two machines. Nothing is connected before Open.
func NewHosts(named [2]Named, connect Connect) *Hosts {
	for i, other := range []string{named[1].Name, named[0].Name} {
		if named[i].Name != "" {
			continue
		}
		if named[i].Name = string(rune('a' + i)); named[i].Name == other {
			named[i].Name = string(rune('b' - i))
		}
	}
	return &Hosts{named: named, connect: connect}
}

// Named returns the machines as the user names them, each with a name.
func (h *Hosts) Named() [2]Named { return h.named }

// Hosts returns the machines for the paths between them.
func (h *Hosts) Hosts() []driver.Host {
	var out []driver.Host
	for _, n := range h.named {
		out = append(out, driver.Host{Name: n.Name, Local: n.Machine.Local()})
	}
	return out
}

// Open connects both machines, and finds the addresses at which each reaches the other. If it
// fails, nothing is left on them.
func (h *Hosts) Open(ctx context.Context) error {
	if err := h.Join(ctx); err != nil {
		return err
	}
	if err := h.FindRoute(ctx); err != nil {
		return errors.Join(err, h.Close())
	}
	return nil
}

// Join connects both machines, without a look at what is between them.
func (h *Hosts) Join(ctx context.Context) error {
	id, err := runid.New()
	if err != nil {
		return err
	}
	h.run = id
	errs := make([]error, len(h.named))
	var wg sync.WaitGroup
	for i, n := range h.named {
		wg.Go(func() { h.machines[i], errs[i] = h.connect(ctx, id.ID, n.Name, n.Machine) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, h.Close())
	}
	return nil
}

// FindRoute finds the addresses at which each of the connected machines reaches the other,
// describes the machines, and probes the path between them. It fails if that cannot carry
// trials.
func (h *Hosts) FindRoute(ctx context.Context) error {
	var hosts [2]*remote.Host
	var agents [2]*agent.Client
	for i, n := range h.named {
		on, err := remote.Open(ctx, h.Launcher(i), h.run.ID, n.Name, netip.Addr{})
		if err != nil {
			return err
		}
		defer on.Close()
		hosts[i], agents[i] = on, on.Monitor
	}
	var err error
	if h.route, err = findRoute(ctx, h.named, agents); err != nil {
		return err
	}
	var ends []remote.Ends
	for _, f := range h.route {
		ends = append(ends, remote.Ends{A: f.From, B: f.To, Port: f.Port})
	}
	addresses, err := h.Addresses()
	if err != nil {
		return err
	}
	for i := range hosts {
		hosts[i].Address = addresses[i]
		if h.facts[i], err = agents[i].Machine(ctx, addresses[1-i]); err != nil {
			return err
		}
	}
	if h.path, err = remote.ProbePath(ctx, hosts[0], hosts[1], ends); err != nil {
		return err
	}
	if err := h.path.Err(); err != nil {
		return fmt.Errorf("the path between host %s and host %s: %w", h.named[0], h.named[1], err)
	}
	return nil
}

// closeTimeout bounds the removal of what was placed on the machines.
func closeTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// Close removes what was placed on the machines and ends the connections. It may be called
// again, and without Open.
func (h *Hosts) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout())
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	errs := make([]error, len(h.machines))
	var wg sync.WaitGroup
	for i, m := range h.machines {
		if m != nil {
			wg.Go(func() { errs[i] = m.Close(ctx) })
			h.machines[i] = nil
		}
	}
	wg.Wait()
	h.run.Release()
	return errors.Join(errs...)
}

// errNotOpen is returned for machines before Open and after Close.
var errNotOpen = errors.New("the machines are not connected")

// Machine returns a connected machine.
func (h *Hosts) Machine(i int) (*machine.Machine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.machines[i] == nil {
		return nil, errNotOpen
	}
	return h.machines[i], nil
}

// reconnectTimeout bounds how long a machine may be unreachable in a run, such as while it
// boots.
const reconnectTimeout = 3 * time.Minute

// Live returns a machine, which is connected again if its connection was lost.
func (h *Hosts) Live(ctx context.Context, i int) (*machine.Machine, error) {
	h.reconnecting[i].Lock()
	defer h.reconnecting[i].Unlock()
	m, err := h.Machine(i)
	if err != nil || m.Err() == nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(ctx, reconnectTimeout)
	defer cancel()
	return m, m.Reconnect(ctx)
}

// Addresses returns the address at which each machine reaches the other, in the family that
// paths use first.
func (h *Hosts) Addresses() ([2]netip.Addr, error) {
	if len(h.route) == 0 {
		return [2]netip.Addr{}, errNotOpen
	}
	return [2]netip.Addr{h.route[0].From, h.route[0].To}, nil
}

// RunID is the id by which the machines hold what was placed there.
func (h *Hosts) RunID() string { return h.run.ID }

// Hold keeps a run alive on the machines until Close, so that gc there spares what carries its id.
func (h *Hosts) Hold(ctx context.Context, run string) error {
	for i := range h.machines {
		m, err := h.Machine(i)
		if err == nil {
			err = m.Hold(ctx, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Route returns the addresses that Open found.
func (h *Hosts) Route() Route { return h.route }

// Facts returns what is known of a machine and of its link to the other one.
func (h *Hosts) Facts(i int) wire.Machine { return h.facts[i] }

// Path returns what the probes found of the path between the machines.
func (h *Hosts) Path() remote.PathReport { return h.path }

// SameMachine reports whether both hosts run on one kernel, as far as that is known.
func (h *Hosts) SameMachine() bool {
	return h.facts[0].BootID != "" && h.facts[0].BootID == h.facts[1].BootID
}

// Launcher starts agents on a machine, with the rights of the user there.
func (h *Hosts) Launcher(i int) transport.Launcher { return launcher{h, i} }

// launcher starts agents on whatever connection the machine has at the time.
type launcher struct {
	hosts *Hosts
	i     int
}

func (l launcher) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	m, err := l.hosts.Live(ctx, l.i)
	if err != nil {
		return nil, err
	}
	l.hosts.reconnecting[l.i].Lock() // connecting again sets it
	user := m.User
	l.hosts.reconnecting[l.i].Unlock()
	return user.Launch(ctx, args...)
}

// HandshakeTimeout bounds how long an agent may take to complete the handshake.
func (l launcher) HandshakeTimeout() time.Duration {
	wait := agent.HandshakeTimeout()
	if m, err := l.hosts.Machine(l.i); err == nil && !m.Address.Local() {
		wait = farHandshakeTimeout()
	}
	return wait
}

// farHandshakeTimeout is the timeout for a slow machine at the other end of a slow network.
func farHandshakeTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// DialEngine returns a function that dials the Docker Engine of a machine, over its connection.
func (h *Hosts) DialEngine(i int, asRoot bool) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		m, err := h.Live(ctx, i)
		if err != nil {
			return nil, err
		}
		return m.Dial(ctx, machine.EngineSocket, asRoot)
	}
}
