// Package vm builds network modes that end in a virtual machine on host a: QEMU, with a
// kernel of a distribution, and in it an agent, or a sandbox behind a bridge with one.
// The client is a process of the same host.
package vm

import (
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/guest"
)

// hostLocal is what the modes are compared with: they stay on one host.
const hostLocal = "host-local"

// The options of a mode.
const (
	OptionKernel = "kernel" // an image, or a directory as guest/kernel.Find takes it
	OptionAccel  = "accel"  // kvm or tcg
)

// KernelVariable names, in the environment of the program, where guests' kernels are looked
// for: an image, or the directory that a distribution's package was unpacked into.
const KernelVariable = "TARE_KERNEL"

// takes is how long a mode takes to be made and taken down on an emulated CPU.
const takes = 4 * time.Second

// Driver builds the modes of this package.
type Driver struct {
	labdriver.LinuxOnly
	// Kernel is where guests' kernels are looked for, unless an option says so: see
	// guest/kernel.Find. Empty is this machine's root.
	Kernel string
	// Accel is the accelerator, unless an option says so. Empty is KVM if it works.
	Accel string

	shared *shared // what is found out once
}

// New is the driver with the kernel that the user named, if any.
func New(kernel string) Driver { return Driver{Kernel: kernel, shared: &shared{}} }

// attachment is how a guest is connected to its host.
type attachment int

const (
	tap   attachment = iota // to a bridge of the host
	user                    // QEMU's own TCP/IP (slirp) in user space, which opens ports of the host
	passt                   // the same by a process of its own
)

// kind is what a mode's id stands for.
type kind struct {
	model     guest.Model
	attach    attachment
	container bool // a sandbox behind a published port of the guest
}

// kinds lists what there is, by id.
func kinds() (ids []string, of map[string]kind) {
	of = map[string]kind{}
	add := func(id string, k kind) {
		ids = append(ids, id)
		of[id] = k
	}
	for _, m := range guest.Models() {
		add("vm/"+m.Name, kind{model: m})
	}
	for _, m := range guest.Models() {
		add("vm/"+m.Name+"-user", kind{model: m, attach: user})
	}
	virtio := guest.Models()[0]
	add("vm/virtio-passt", kind{model: virtio, attach: passt})
	add("vm/virtio-container", kind{model: virtio, container: true})
	return ids, of
}

// title says what a kind is.
func (k kind) title() string {
	var s strings.Builder
	if k.container {
		s.WriteString("sandbox behind a published port of ")
	}
	s.WriteString("virtual machine on a, " + k.model.Name + " adapter ")
	switch k.attach {
	case tap:
		s.WriteString("on a bridge")
	case user:
		s.WriteString("behind QEMU's user-mode network")
	case passt:
		s.WriteString("behind passt")
	}
	return s.String()
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	var out []driver.Mode
	ids, of := kinds()
	for _, id := range ids {
		out = append(out, driver.Mode{ID: id, Title: of[id].title(), Baseline: hostLocal, Options: true, SetupTime: takes})
	}
	return out
}
