// Package ovs builds modes in which Open vSwitch forwards frames: between a host's
// sandboxes and the underlay without a tunnel, or in a VXLAN or Geneve tunnel between the
// hosts. It forwards in the kernel, with its module, or in userspace, which its manual
// calls the netdev datapath; these are separate modes.
package ovs

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// How frames are on the underlay.
const (
	flat   = "flat"
	vxlan  = "vxlan"
	geneve = "geneve"
)

// netdev is the suffix of modes in userspace.
const netdev = "-netdev"

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// way is how the switches forward.
type way struct {
	encapsulation string
	process       bool // in userspace
}

// rows are the modes of this package.
func rows() labdriver.Rows[way] {
	row := func(id, title string, w way) labdriver.Row[way] {
		m := driver.Mode{ID: id, Title: title, Baseline: "host", MTU: true, Headers: driver.VXLANHeaders, Detour: "a/eth0.tx_bytes"}
		if w.encapsulation == flat {
			m.Headers, m.Bounded = 0, true
		}
		return labdriver.Row[way]{Mode: m, Build: w}
	}
	return labdriver.Rows[way]{
		row("ovs/flat", "both endpoints on Open vSwitch, no tunnel, switched by the kernel", way{flat, false}),
		row("ovs/vxlan", "both endpoints on Open vSwitch, VXLAN between the hosts, switched by the kernel", way{vxlan, false}),
		row("ovs/geneve", "both endpoints on Open vSwitch, Geneve between the hosts, switched by the kernel", way{geneve, false}),
		row("ovs/flat"+netdev, "both endpoints on Open vSwitch, no tunnel, switched in userspace", way{flat, true}),
		row("ovs/vxlan"+netdev, "both endpoints on Open vSwitch, VXLAN between the hosts, switched in userspace", way{vxlan, true}),
		row("ovs/geneve"+netdev, "both endpoints on Open vSwitch, Geneve between the hosts, switched in userspace", way{geneve, true}),
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
