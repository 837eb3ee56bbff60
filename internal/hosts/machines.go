package hosts

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/existing"
	"tare/internal/driver/machines"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/split"
	"tare/internal/driver/subcommand"
	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/machine"
	"tare/internal/study"
)

// machinesKind is two machines: this one, or others that the user's ssh reaches.
func machinesKind() Kind {
	return MachinesKind(func(ctx context.Context, run, name string, at machine.Address) (*machine.Machine, error) {
		return machine.Connect(ctx, run, name, at, machine.Options{})
	})
}

// MachinesKind is the kind of target that reaches its machines with connect.
func MachinesKind(connect machines.Connect) Kind {
	return Kind{
		Name: "machines", Machines: true,
		Matches: func(name string) bool { _, err := machine.Parse(name); return err == nil },
		Study:   func(study.Target) string { return "machines" },
		New:     func(t study.Target, o Options) driver.Target { return newMachines(t, o, connect) },
	}
}

// MachineHosts returns the machines of a target, which are not connected yet.
func MachineHosts(t study.Target, connect machines.Connect) *machines.Hosts {
	var named [2]machines.Named
	for i, h := range t.Hosts[:min(len(t.Hosts), len(named))] {
		// The study reports what cannot be read, with its line.
		named[i].Name = h.Name
		named[i].Machine, _ = machine.Parse(h.Machine)
		named[i].Address, _ = netip.ParseAddr(h.Address)
	}
	return machines.NewHosts(named, connect)
}

func newMachines(t study.Target, o Options, connect machines.Connect) driver.Target {
	hosts := MachineHosts(t, connect)
	engines := &onEngines{hosts: hosts, allowSwarm: o.AllowSwarm}
	on := &machinesTarget{hosts, engines}
	drivers := append(driver.Registry{machines.New(hosts), engines}, overLink(hosts)...)
	drivers = append(drivers, labOnly(drivers))
	return driver.Target{
		Hosts: hosts.Hosts(), Drivers: drivers, Unavailable: onlyKube(removed()), Open: hosts.Open, Diagnose: on.diagnose, Begin: on.begin, Close: on.close,
		Restricted:      true, // the user there may be an ordinary one
		DescribeChanges: func(s study.Study) []string { return machineChanges(s, hosts.Named(), o.AllowSwarm) },
	}
}

// overLink lists the drivers whose modes are built on both machines by this program there, and
// attached to the link between them.
func overLink(hosts *machines.Hosts) driver.Registry {
	return driver.Registry{split.New(subcommand.SplitDrivers(), func(ctx context.Context) (both [2]split.Host, err error) {
		addresses, err := hosts.Addresses()
		for i, n := range hosts.Named() {
			if err == nil {
				both[i] = split.Host{Name: n.Name, Address: addresses[i]}
				both[i].Machine, err = hosts.Live(ctx, i)
			}
		}
		return both, err
	})}
}

// lacksLab is the driver of the modes that only a lab has.
type lacksLab []driver.Mode

// labOnly returns the driver of the modes of labs that others do not have.
func labOnly(others driver.Registry) lacksLab {
	return slices.DeleteFunc(Modes(), func(m driver.Mode) bool {
		_, _, err := others.For(m.ID)
		return err == nil
	})
}

// Modes lists the modes.
func (d lacksLab) Modes() []driver.Mode { return d }

// Probe returns the reason why the mode cannot be built.
func (lacksLab) Probe(_ context.Context, o driver.Order) error {
	return &driver.Unsupported{Mode: o.Mode, Reason: "it is built in a lab on one machine, not between two; measure it without --host"}
}

// Provision returns the same error as Probe.
func (d lacksLab) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	return nil, d.Probe(ctx, o)
}

// onEngines is the driver of the docker modes, on the engines of the machines. Its engines are
// reached when the first of its modes is built.
type onEngines struct {
	hosts      *machines.Hosts
	allowSwarm bool
	mu         sync.Mutex // guards driver
	driver     *existing.Driver
}

// Modes lists the docker modes.
func (d *onEngines) Modes() []driver.Mode {
	return slices.DeleteFunc(existing.New(make([]existing.Host, 2), false).Modes(), func(m driver.Mode) bool { return !strings.HasPrefix(m.ID, "docker/") })
}

// Probe builds the mode once and removes it again.
func (d *onEngines) Probe(ctx context.Context, o driver.Order) error {
	on, err := d.engines()
	if err != nil {
		return err
	}
	return lacking(o.Mode, on.Probe(ctx, o))
}

// Provision builds the mode.
func (d *onEngines) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	on, err := d.engines()
	if err != nil {
		return nil, err
	}
	p, err := on.Provision(ctx, o)
	return p, lacking(o.Mode, err)
}

// lacking turns the error that an engine cannot be used into the reason why a mode is
// unsupported.
func lacking(mode string, err error) error {
	if u, is := engine.AsUnavailable(err); is {
		return &driver.Unsupported{Mode: mode, Reason: u.Error()}
	}
	return err
}

// engines returns the driver for the engines of the connected machines.
func (d *onEngines) engines() (*existing.Driver, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.driver != nil {
		return d.driver, nil
	}
	addresses, err := d.hosts.Addresses()
	if err != nil {
		return nil, err
	}
	var hosts []existing.Host
	for i, n := range d.hosts.Named() {
		hosts = append(hosts, existing.Host{Name: n.Name, Address: addresses[i], Machine: &existing.Machine{
			Local: n.Machine.Local(), Launcher: d.hosts.Launcher(i),
			Connect: func(ctx context.Context) (*engine.Engine, error) { return d.connect(ctx, i) },
		}})
	}
	d.driver = existing.New(hosts, d.allowSwarm)
	return d.driver, nil
}

// connect reaches the engine of a machine: that of the docker command on this one, and the
// usual socket on another.
func (d *onEngines) connect(ctx context.Context, i int) (*engine.Engine, error) {
	n := d.hosts.Named()[i]
	if n.Machine.Local() {
		return locate.Connect(ctx, "")
	}
	at := func(asRoot bool) (*engine.Engine, error) {
		return locate.ConnectThrough(ctx, n.Machine.String(), d.hosts.DialEngine(i, asRoot))
	}
	e, err := at(false)
	if m, gone := d.hosts.Machine(i); err != nil && gone == nil && m.Root != nil {
		if asRoot, ok := at(true); ok == nil {
			return asRoot, nil
		}
	}
	return e, err
}

// close ends the connections to the engines.
func (d *onEngines) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.driver == nil {
		return nil
	}
	err := d.driver.Close()
	d.driver = nil
	return err
}

// machineChanges says what a run of the study creates on each machine.
func machineChanges(s study.Study, named [2]machines.Named, allowSwarm bool) []string {
	var lines []string
	for _, n := range named {
		if n.Machine.Local() {
			lines = append(lines, fmt.Sprintf("host %s: this machine; agents run here as processes of this program", n.Name))
			continue
		}
		lines = append(lines, fmt.Sprintf("host %s: %s, reached with your ssh program, without prompts; this program is copied there into a private directory and removed at the end (after kill -9: tare gc --host %s)", n.Name, n.Machine, n.Machine))
	}
	lines = append(lines, fmt.Sprintf("traffic: from host %s to host %s at TCP and UDP port %d and those that follow, one for each pair of each mode; allow them in the firewalls", named[0].Name, named[1].Name, machines.FirstPort))
	if hasMode(s, "docker/") {
		lines = append(lines, fmt.Sprintf("engines: where a host has a Docker Engine, tare creates on it, and removes again, an image of this program, containers and networks, all with the label io.tare.run; published ports are %d and those that follow", pathspec.FirstPort))
		if hasMode(s, "docker/overlay") && allowSwarm {
			lines = append(lines, "Swarm: the existing one; if there is none, tare creates one for the run and removes it again (--yes)")
		}
	}
	rights := "those of the users that are logged in"
	if hasMode(s, "docker/") {
		rights += ", with access to the engine for the docker modes"
	}
	if slices.ContainsFunc(s.Modes, func(m study.Mode) bool { return !ownRights(m.Mode) }) {
		rights += "; root or sudo without a password on both hosts for modes in namespaces, which are unsupported without"
	}
	return append(lines, "rights: "+rights+";\nrules, settings and addresses of the hosts are not changed")
}

// ownRights reports whether a mode between machines needs no root.
func ownRights(mode string) bool {
	return mode == machines.Host || mode == machines.HostLocal || strings.HasPrefix(mode, "docker/")
}
