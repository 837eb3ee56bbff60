// Package netns builds network modes from the kernel's own parts: each is the data path
// that Docker builds under that name, created with netlink and nftables, without an engine.
package netns

import (
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/setting"
)

// The two baselines.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package. Each is built by the function that
// builder names.
func (Driver) Modes() []driver.Mode {
	modes := []driver.Mode{
		{ID: Host, Title: "process on a to process on b"},
		{ID: HostLocal, Title: "two processes on a, through the address of a"},
		{ID: "netns/published", Title: "raw client, server behind a bridge and a published port", Baseline: Host, Like: "docker/published", Parts: engineParts("the server"), Own: ruleSettings()},
		{ID: "netns/bridge", Title: "both endpoints behind bridges, masqueraded and published", Baseline: Host, Like: "docker/bridge", Parts: engineParts("each endpoint"), Own: ruleSettings()},
		{ID: "netns/ptp", Title: "both endpoints on veth devices of their host, routed without a bridge or address translation", Baseline: Host, Parts: []driver.Part{namespacePart("each endpoint")}},
		{ID: "netns/routed", Title: "both endpoints behind bridges, routed without address translation", Baseline: Host, Like: "docker/routed", Parts: []driver.Part{namespacePart("each endpoint"), bridgePart()}},
		{ID: "netns/colocated", Title: "two sandboxes on one bridge", Baseline: HostLocal, Like: "docker/colocated", Parts: colocatedParts()},
		{ID: "netns/macvlan", Title: "both endpoints on macvlan devices of the underlay", Baseline: Host, Like: "docker/macvlan"},
		{ID: "netns/ipvlan", Title: "both endpoints on ipvlan devices of the underlay", Baseline: Host, Like: "docker/ipvlan"},
		{ID: "netns/vxlan", Title: "both endpoints on bridges joined by a VXLAN tunnel", Baseline: Host, Like: "docker/overlay", MTU: true, Headers: driver.VXLANHeaders, Parts: vxlanParts()},
		{ID: "netns/ebpf", Title: "both endpoints behind veths, redirected past the host's IP stack by eBPF programs", Baseline: Host, Parts: []driver.Part{namespacePart("each endpoint"), programsPart()}},
		{ID: "netns/netkit", Title: "both endpoints on netkit devices, redirected past the host's IP stack by eBPF programs", Baseline: Host, Parts: netkitParts()},
	}
	for i := range modes {
		modes[i].Settings = setting.Names()
	}
	return modes
}
