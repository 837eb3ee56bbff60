// Package ovs builds modes in which Open vSwitch forwards frames: between a host's
// sandboxes and the underlay without a tunnel, or in a VXLAN or Geneve tunnel between the
// hosts. It forwards in the kernel, with its module, or in userspace, which its manual
// calls the netdev datapath; these are separate modes.
package ovs

import (
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The modes, by encapsulation on the underlay. Userspace modes have the suffix netdev.
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
		{ID: flat, Title: "both endpoints on Open vSwitch, no tunnel, switched by the kernel", Baseline: host, MTU: true, Bounded: true},
		{ID: vxlan, Title: "both endpoints on Open vSwitch, VXLAN between the hosts, switched by the kernel", Baseline: host, MTU: true, Headers: driver.VXLANHeaders},
		{ID: geneve, Title: "both endpoints on Open vSwitch, Geneve between the hosts, switched by the kernel", Baseline: host, MTU: true, Headers: driver.VXLANHeaders},
		{ID: flat + netdev, Title: "both endpoints on Open vSwitch, no tunnel, switched in userspace", Baseline: host, MTU: true, Bounded: true},
		{ID: vxlan + netdev, Title: "both endpoints on Open vSwitch, VXLAN between the hosts, switched in userspace", Baseline: host, MTU: true, Headers: driver.VXLANHeaders},
		{ID: geneve + netdev, Title: "both endpoints on Open vSwitch, Geneve between the hosts, switched in userspace", Baseline: host, MTU: true, Headers: driver.VXLANHeaders},
	}
}

// splitMode returns the encapsulation of a mode, and whether it is switched in userspace.
func splitMode(mode string) (way string, process bool) { return strings.CutSuffix(mode, netdev) }
