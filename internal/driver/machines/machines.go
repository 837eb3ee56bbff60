package machines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/result"
)

// The modes.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// Driver builds the modes between two machines, and within the first.
type Driver struct {
	hosts    *Hosts
	sessions *remote.Sessions
}

// New creates the driver for two machines, which must be open when a mode is built.
func New(hosts *Hosts) *Driver {
	d := &Driver{hosts: hosts}
	d.sessions = remote.NewSessions(len(hosts.named), d.openHost, func(context.Context, string) error { return nil })
	return d
}

// setupTime is roughly how long setting up and removing a mode takes: four agents are started
// over connections that exist.
const setupTime = 2 * time.Second

// Modes lists the modes.
func (d *Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: Host, Title: "process on one machine to process on the other", SetupTime: setupTime},
		{ID: HostLocal, Title: "two processes on the client's machine, through its own address", SetupTime: setupTime},
	}
}

// openHost starts the agent that reads a machine.
func (d *Driver) openHost(ctx context.Context, run string, i int) (*remote.Host, error) {
	addresses, err := d.hosts.Addresses()
	if err != nil {
		return nil, err
	}
	h, err := remote.Open(ctx, d.hosts.Launcher(i), run, d.hosts.named[i].Name, addresses[i])
	if err != nil {
		return nil, err
	}
	h.UsePortsFrom(FirstPort)
	return h, nil
}

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.Order) error {
	return remote.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode.
func (d *Driver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	if len(o.With) > 0 {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: "nothing is left out or set on machines that tare did not create; run it on a lab: leave out --host"}
	}
	b := 1
	if o.Mode == HostLocal {
		b = 0
	}
	session, err := d.sessions.Enter(ctx, o.Run, 0, b)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}}
	leave := func(ctx context.Context) error { return d.sessions.Leave(ctx, session) }
	p.read = remote.Path{Spec: &p.Path, A: session.Host(0), B: session.Host(b), OnlyCounted: true}
	if err := p.build(ctx, d.hosts.Route()); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, err), leave(context.WithoutCancel(ctx)))
	}
	return p.DriverPath(driver.Path{Hosts: d.hosts.Hosts()[:1+b], Underlay: p.underlay, Lost: p.lost, Foreign: p.read.Foreign, Close: remote.CloseOnce(leave)}), nil
}

// path is a mode between two machines, or within one.
type path struct {
	pathspec.Path
	read     remote.Path // what agents read of its hosts, added to Path
	underlay *driver.Underlay
}

// lost returns why the machines can no longer be read, such as after a connection was cut.
func (p *path) lost() error { return errors.Join(p.read.A.Monitor.Err(), p.read.B.Monitor.Err()) }

// build adds the pairs, and then the devices that must have carried the first exchanges.
func (p *path) build(ctx context.Context, route Route) error {
	a, b := p.read.A, p.read.B
	from := &remote.Endpoint{Place: a.Place, Name: "client", Client: true, Host: a, Launcher: a.Launcher, Agent: a.Monitor}
	to := &remote.Endpoint{Place: b.Place, Name: "server", Host: b, Launcher: b.Launcher, Agent: b.Monitor}
	var dial, listen []netip.Addr
	device := ""
	for _, f := range route {
		at := f.To
		if a == b {
			at = f.From
		} else if by, err := a.DeviceToward(ctx, at); err != nil {
			return err
		} else if device == "" {
			device = by.Name
		} else if by.Name != device { // the rules are for the devices of one link
			p.AddFacts(result.Fact{Name: "not used", Value: fmt.Sprintf("%s, which host %s reaches through %s instead of %s", at, a.At, by.Name, device)})
			continue
		}
		dial, listen = append(dial, at), append(listen, b.ListenAddress(ctx, at))
	}
	var ports []string
	err := p.ForEachPair(func(pair int) error {
		port, err := p.exchange(ctx, from, to, listen[0], dial[0])
		if err != nil {
			return err
		}
		if pair == 1 {
			for i := range dial[1:] {
				x := remote.Exchange{Client: from, Server: to, Listen: netip.AddrPortFrom(listen[1+i], port), Dial: netip.AddrPortFrom(dial[1+i], port)}
				if err := p.read.CheckExchange(ctx, x); err != nil {
					return err
				}
			}
		}
		ports = append(ports, fmt.Sprint(port))
		p.AddPair(from.Spec(), to.Spec(), listen, dial, port)
		return nil
	})
	if err != nil {
		return err
	}
	for _, at := range dial {
		p.AddFacts(result.Fact{Name: "server address", Value: at.String()})
	}
	p.AddFacts(result.Fact{Name: "server ports", Value: strings.Join(ports, ", ")})
	if a != b {
		p.readLink(ctx)
	}
	return p.read.AddUnderlay(ctx, []pathspec.Step{pathspec.ProcessStep(from.Place)}, []pathspec.Step{pathspec.ProcessStep(to.Place)})
}

// exchange lets the endpoints of a pair exchange data over the first free port, and returns it.
func (p *path) exchange(ctx context.Context, from, to *remote.Endpoint, listen, dial netip.Addr) (port uint16, err error) {
	for range mostPorts {
		port = p.read.B.NextPort()
		err = p.read.CheckExchange(ctx, remote.Exchange{Client: from, Server: to, Listen: netip.AddrPortFrom(listen, port), Dial: netip.AddrPortFrom(dial, port)})
		var taken *agent.ListenError
		if !errors.As(err, &taken) {
			return port, err
		}
	}
	return port, err
}

// readLink records the MTU of the link, if both machines have the same.
func (p *path) readLink(ctx context.Context) {
	out, err := p.read.A.DeviceToward(ctx, p.read.B.Address)
	if err != nil {
		return // AddUnderlay reports it
	}
	in, err := p.read.B.DeviceToward(ctx, p.read.A.Address)
	if err == nil && in.MTU == out.MTU {
		p.underlay = &driver.Underlay{MTU: out.MTU}
	}
}
