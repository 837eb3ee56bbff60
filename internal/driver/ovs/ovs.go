// Package ovs builds modes in which Open vSwitch carries frames: between a host's
// sandboxes and the underlay as they are, or in a VXLAN or Geneve tunnel between the
// hosts. The switch forwards them in the kernel, by its module, or in its own process,
// which its manual calls the netdev datapath: two very different things, and so two modes.
package ovs

import (
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The modes, by how frames cross the underlay. Those of the process have netdev behind
// their names.
const (
	flat   = "ovs/flat"
	vxlan  = "ovs/vxlan"
	geneve = "ovs/geneve"
	netdev = "-netdev"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	const host = "host"
	return []driver.Mode{
		{ID: flat, Title: "both ends on Open vSwitch, no tunnel, switched by the kernel", Baseline: host, MTU: true},
		{ID: vxlan, Title: "both ends on Open vSwitch, VXLAN between the hosts, switched by the kernel", Baseline: host, MTU: true},
		{ID: geneve, Title: "both ends on Open vSwitch, Geneve between the hosts, switched by the kernel", Baseline: host, MTU: true},
		{ID: flat + netdev, Title: "both ends on Open vSwitch, no tunnel, switched by its process", Baseline: host, MTU: true},
		{ID: vxlan + netdev, Title: "both ends on Open vSwitch, VXLAN between the hosts, switched by its process", Baseline: host, MTU: true},
		{ID: geneve + netdev, Title: "both ends on Open vSwitch, Geneve between the hosts, switched by its process", Baseline: host, MTU: true},
	}
}

// split tells a mode's way over the underlay from who switches.
func split(mode string) (way string, process bool) { return strings.CutSuffix(mode, netdev) }
