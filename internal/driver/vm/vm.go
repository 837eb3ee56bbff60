// Package vm builds network modes that end in a virtual machine on host a: QEMU with a
// distribution's kernel, and in it an agent, or a sandbox with an agent behind a bridge.
// The client is a process on the same host.
package vm

import (
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/guest"
)

// hostLocal is the baseline of these modes, which stay on one host.
const hostLocal = "host-local"

// The options of a mode.
const (
	OptionKernel = "kernel" // an image, or a directory for guest/kernel.Find
	OptionAccel  = "accel"  // kvm or tcg
)

// KernelVariable is the environment variable with the location of the guests' kernel: an
// image, or the directory into which a distribution's package was unpacked.
const KernelVariable = "TARE_KERNEL"

// takes is how long setting up and removing a mode takes on an emulated CPU.
const takes = 4 * time.Second

// Driver builds the modes of this package.
type Driver struct {
	labdriver.LinuxOnly
	// Kernel is where the guests' kernel is searched unless an option sets it: see
	// guest/kernel.Find. Empty means this machine's root.
	Kernel string
	// Accel is the accelerator unless an option sets it. Empty means KVM if it works.
	Accel string

	shared *shared // determined once
}

// New creates the driver with the kernel that the user named, if any.
func New(kernel string) Driver { return Driver{Kernel: kernel, shared: &shared{}} }

// attachment is how a guest is connected to its host.
type attachment int

const (
	tap   attachment = iota // to a bridge of the host
	user                    // QEMU's userspace TCP/IP (slirp), which opens ports of the host
	passt                   // the same in a separate process
)

// kind is what a mode's id stands for.
type kind struct {
	model     guest.Model
	attach    attachment
	container bool // a sandbox behind a published port of the guest
}

// rows are the modes of this package.
func rows() labdriver.Rows[kind] {
	var out labdriver.Rows[kind]
	add := func(id string, k kind) {
		out = append(out, labdriver.Row[kind]{Mode: driver.Mode{ID: "vm/" + id, Title: k.title(), Baseline: hostLocal, Options: true, SetupTime: takes}, Build: k})
	}
	for _, m := range guest.Models() {
		add(m.Name, kind{model: m})
	}
	for _, m := range guest.Models() {
		add(m.Name+"-user", kind{model: m, attach: user})
	}
	virtio := guest.Models()[0]
	add("virtio-passt", kind{model: virtio, attach: passt})
	add("virtio-container", kind{model: virtio, container: true})
	return out
}

// title returns the title of a kind.
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
func (Driver) Modes() []driver.Mode { return rows().Modes() }
