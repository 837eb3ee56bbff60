package hosts

import (
	"os"

	"tare/internal/driver"
	"tare/internal/driver/cni"
	"tare/internal/driver/engines"
	"tare/internal/driver/incus"
	"tare/internal/driver/ipsec"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/mesh"
	"tare/internal/driver/netavark"
	"tare/internal/driver/netns"
	"tare/internal/driver/ovs"
	"tare/internal/driver/proxy"
	"tare/internal/driver/rootless"
	"tare/internal/driver/vm"
	"tare/internal/driver/wireguard"
	"tare/internal/engine/private"
	"tare/internal/study"
)

// Registration is a driver that builds modes in a lab.
type Registration struct {
	Name   string // of its directory below internal/driver
	Driver labdriver.Driver
	// Prepare prepares this machine for a run in which the driver has a mode, if that
	// requires more than a lab. It is called with real root only. May be nil.
	Prepare func(run string) (undo func() error, err error)
	// DescribeChanges says what the driver creates beyond a lab for a run of a study in
	// which it has a mode; Rights says which privileges that requires. May be empty.
	DescribeChanges func(study.Study) string
	Rights          string
}

// Drivers lists the drivers in the order in which their modes are shown. trusted are files and
// directories of CNI that the user has named outside a study.
func Drivers(trusted ...string) []Registration {
	plugins := cni.Driver{Trusted: trusted}
	return []Registration{
		{Name: "netns", Driver: netns.Driver{}},
		// All endpoints of a run are scheduled alike if some are in containers of private
		// engines, including those of the baseline and of other modes.
		{Name: "engines", Driver: engines.Docker{}, Prepare: private.JoinCPUGroup, DescribeChanges: dockerChanges,
			Rights: "root, for the engines of the docker modes; unprivileged user namespaces are enough for the others"},
		{Name: "engines", Driver: engines.Podman{}, Prepare: private.JoinCPUGroup, DescribeChanges: podmanChanges,
			Rights: "root, for the Podmans of the podman modes, also those that run as an ordinary user"},
		{Name: "ipsec", Driver: ipsec.Driver{}},
		{Name: "wireguard", Driver: wireguard.Driver{}},
		{Name: "mesh", Driver: mesh.Driver{}},
		{Name: "proxy", Driver: proxy.Driver{}},
		{Name: "rootless", Driver: rootless.Driver{}},
		{Name: "ovs", Driver: ovs.Driver{}},
		{Name: "cni", Driver: plugins, DescribeChanges: func(s study.Study) string { return cniChanges(plugins, s) }},
		{Name: "netavark", Driver: netavark.Driver{}},
		{Name: "incus", Driver: incus.Driver{}, Rights: "root, for the Incus of the incus modes"},
		{Name: "vm", Driver: vm.New(os.Getenv(vm.KernelVariable))},
	}
}

// removed maps modes that a study may still name to what to measure instead.
func removed() map[string]string {
	return map[string]string{
		"wireguard/go-binary": "this mode was removed, because wireguard/userspace is the same program in a current version; use wireguard/userspace",
	}
}

// Removed reports whether a mode of that id was removed from the program.
func Removed(id string) bool { return removed()[id] != "" }

// Modes lists the modes of all lab drivers.
func Modes() []driver.Mode {
	var all []driver.Mode
	for _, r := range Drivers() {
		all = append(all, r.Driver.Modes()...)
	}
	return all
}
