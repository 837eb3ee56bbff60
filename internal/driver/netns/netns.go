// Package netns builds network modes out of the kernel's own parts: each is the
// data path that Docker builds under that name, made with netlink and nftables,
// with no engine needed.
package netns

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// The two baselines, named for what the other modes are compared with.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package. Each is built by the function that
// builder names.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: Host, Title: "process on a to process on b"},
		{ID: HostLocal, Title: "two processes on a, through its own address"},
		{ID: "netns/published", Title: "raw client, server behind a bridge and a published port", Baseline: Host},
		{ID: "netns/bridge", Title: "both ends behind bridges, masqueraded and published", Baseline: Host},
		{ID: "netns/colocated", Title: "two sandboxes on one bridge", Baseline: HostLocal},
		{ID: "netns/macvlan", Title: "both ends on macvlan devices of the underlay", Baseline: Host},
		{ID: "netns/ipvlan", Title: "both ends on ipvlan devices of the underlay", Baseline: Host},
		{ID: "netns/vxlan", Title: "both ends on bridges joined by a VXLAN tunnel", Baseline: Host, MTU: true},
	}
}
