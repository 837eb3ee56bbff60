// Package ovs builds modes in which Open vSwitch forwards frames: between a host's
// sandboxes and the underlay without a tunnel, or in a VXLAN or Geneve tunnel between the
// hosts. It forwards in the kernel, with its module, or in userspace, which its manual
// calls the netdev datapath; these are separate modes. In one mode OVN programs the switches, in
// userspace: a logical switch on each host, a logical router between them, and Geneve.
package ovs

import (
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/study"
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
	logical       bool // programmed by OVN
}

// settingACLs is the setting of the logical network.
const settingACLs = "acls"

// maxACLs is the maximum number of access rules: with so many the mode is set up in less than 5 s on 2 CPUs, and the
// arguments of ovn-nbctl, which adds all at once, stay below the 2 MiB that a process may have.
const maxACLs = 10000

// ovnHeaders are what OVN's tunnel adds to a packet: Geneve's headers, which are as long as VXLAN's, and an option of 8
// bytes with the logical ports (ovn-architecture(7), "Tunnel Encapsulations").
const ovnHeaders = driver.VXLANHeaders + 8

// rows are the modes of this package.
func rows() labdriver.Rows[way] {
	row := func(id, title string, w way) labdriver.Row[way] {
		m := driver.Mode{ID: id, Title: title, Baseline: "host", MTU: true, Headers: driver.VXLANHeaders, Detour: "a/eth0.tx_bytes"}
		if w.encapsulation == flat {
			m.Headers, m.Bounded = 0, true
		}
		if w.logical {
			m.Headers = ovnHeaders
			m.Own = []driver.OwnSetting{{
				SettingSpec: study.SettingSpec{Name: settingACLs, Values: "a whole number from 1 to " + strconv.Itoa(maxACLs), Valid: driver.Within(1, maxACLs)},
				Title:       "access rules (ACLs) of the server's logical switch that match nothing, before one that tracks and allows every connection",
			}}
		}
		return labdriver.Row[way]{Mode: m, Build: w}
	}
	return labdriver.Rows[way]{
		row("ovs/flat", "both endpoints on Open vSwitch, no tunnel, switched by the kernel", way{encapsulation: flat}),
		row("ovs/vxlan", "both endpoints on Open vSwitch, VXLAN between the hosts, switched by the kernel", way{encapsulation: vxlan}),
		row("ovs/geneve", "both endpoints on Open vSwitch, Geneve between the hosts, switched by the kernel", way{encapsulation: geneve}),
		row("ovs/flat"+netdev, "both endpoints on Open vSwitch, no tunnel, switched in userspace", way{encapsulation: flat, process: true}),
		row("ovs/vxlan"+netdev, "both endpoints on Open vSwitch, VXLAN between the hosts, switched in userspace", way{encapsulation: vxlan, process: true}),
		row("ovs/geneve"+netdev, "both endpoints on Open vSwitch, Geneve between the hosts, switched in userspace", way{encapsulation: geneve, process: true}),
		row("ovn/logical", "both endpoints on logical switches of OVN, a logical router between them, Geneve between the hosts, switched in userspace",
			way{encapsulation: geneve, process: true, logical: true}),
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
