// Package split builds the modes of the drivers of labs between two machines, over the real
// link between them. On each machine this program, as root, builds the whole mode with the
// driver, in network namespaces of its own, but attaches only one of the two hosts to the
// machine's network card, by a macvlan device: host a on the first machine, host b on the
// second. The other host of each lab is a phantom that leads nowhere. Addresses, hardware
// addresses and keys are derived from data that both have, so the halves fit. The
// controller joins them: what belongs to a host is read on the machine where it is real.
//
// Rules, settings, addresses and devices of the machines' own network namespaces are not
// changed.
package split

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/remote"
	"tare/internal/machine"
	"tare/internal/plan"
)

// Host is one of the two machines, with the address at which the other reaches it.
type Host struct {
	Machine *machine.Machine
	Name    string // in results; a and b if empty
	Address netip.Addr
}

// Driver builds modes on two machines.
type Driver struct {
	hosts   func(context.Context) ([2]Host, error)
	drivers []labdriver.Driver
	link    time.Duration // takes the place of linkTimeout unless it is 0

	mu     sync.Mutex
	tested map[[2]netip.Addr]error // whether the link between the hosts carries frames of other hardware addresses
}

// New creates a driver that builds the modes of drivers on the two machines that hosts
// returns, the client's first. hosts is called for each mode.
func New(drivers []labdriver.Driver, hosts func(context.Context) ([2]Host, error)) *Driver {
	return &Driver{hosts: hosts, drivers: drivers, tested: map[[2]netip.Addr]error{}}
}

// splitOf returns how a mode of the drivers is built between two machines.
func splitOf(drivers []labdriver.Driver, mode string) driver.Split {
	for _, d := range drivers {
		for _, m := range d.Modes() {
			if m.ID == mode {
				return m.Split
			}
		}
	}
	return driver.SplitHalves
}

// setupTime is roughly how long setting up and removing a mode takes in addition to the time in
// a lab: a process and an agent are started on each machine.
const setupTime = 2 * time.Second

// Modes lists the modes of the drivers that can be split.
func (d *Driver) Modes() []driver.Mode {
	var all []driver.Mode
	for _, one := range d.drivers {
		all = append(all, one.Modes()...)
	}
	for i := range all {
		all[i].SetupTime = cmp.Or(all[i].SetupTime, plan.ModeOverhead) + setupTime
	}
	return slices.DeleteFunc(all, func(m driver.Mode) bool { return m.Split == driver.SplitNever })
}

// Probe builds the mode once, with one pair, and removes it again.
func (d *Driver) Probe(ctx context.Context, o driver.Order) error {
	return remote.ProbeByProvision(ctx, o, func(ctx context.Context, o driver.Order) (*driver.Path, error) {
		o.Label = strings.ReplaceAll(o.Label, "/", ".")
		return d.Provision(ctx, o)
	})
}

// requireRoot returns why a mode cannot be built on the machines.
func requireRoot(mode string, hosts [2]Host) error {
	for _, h := range hosts {
		switch m := h.Machine; {
		case m.System.OS != "linux":
			return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("it is built in network namespaces, which need Linux, and host %s runs %s", h.Name, m.System)}
		case m.Root == nil:
			return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("it is built by root in network namespaces of both hosts, and on host %s root's rights cannot be had: %s", h.Name, m.NoRoot)}
		}
	}
	return nil
}

// named fills in the names of hosts.
func named(hosts [2]Host) [2]Host {
	for i, side := range sides() {
		if hosts[i].Name == "" {
			hosts[i].Name = side
		}
	}
	return hosts
}
