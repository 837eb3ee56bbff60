package target

import (
	"os"

	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/driver/ipsec"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/driver/ovs"
	"tare/internal/driver/rootless"
	"tare/internal/driver/vm"
	"tare/internal/driver/wireguard"
	"tare/internal/engine/private"
	"tare/internal/study"
)

// Registration is a driver that builds on the hosts of a lab.
type Registration struct {
	Name   string // of its folder below internal/driver
	Driver labdriver.Driver
	// Prepare makes this machine ready for a run in which the driver has a mode, where
	// that takes more than a lab. It is called with real root alone. May be nil.
	Prepare func(run string) (undo func() error, err error)
	// DescribeChanges says what the driver makes beyond a lab for a run of a study in which it has
	// a mode, and Rights which rights that takes. May be empty.
	DescribeChanges func(study.Study) string
	Rights          string
}

// Drivers lists them, in the order in which people are shown their modes.
func Drivers() []Registration {
	return []Registration{
		{Name: "netns", Driver: netns.Driver{}},
		// All endpoints of a run are scheduled alike where some are in containers of private
		// engines: those of the baseline and of the other modes, too.
		{Name: "docker", Driver: docker.Driver{}, Prepare: private.JoinCPUGroup, DescribeChanges: dockerMakes,
			Rights: "root, for the engines of the docker modes; the others can do with unprivileged user namespaces"},
		{Name: "ipsec", Driver: ipsec.Driver{}},
		{Name: "wireguard", Driver: wireguard.Driver{}},
		{Name: "rootless", Driver: rootless.Driver{}},
		{Name: "ovs", Driver: ovs.Driver{}},
		{Name: "vm", Driver: vm.New(os.Getenv(vm.KernelVariable))},
	}
}

// Modes lists the modes of all drivers of labs.
func Modes() []driver.Mode {
	var all []driver.Mode
	for _, r := range Drivers() {
		all = append(all, r.Driver.Modes()...)
	}
	return all
}
