package guest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"tare/internal/lab"
)

// Emulator is the program that runs a guest.
const Emulator = "qemu-system-x86_64"

// qemu finds the emulator.
func qemu() (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", &UnavailableError{"guests are of the architecture x86-64, and this machine is of " + runtime.GOARCH}
	}
	path, err := exec.LookPath(Emulator)
	if errors.Is(err, exec.ErrNotFound) {
		return "", &UnavailableError{Emulator + " is not installed (Debian: qemu-system-x86)"}
	}
	return path, err
}

// The numbers under which QEMU finds the files it is given.
const (
	imageFD   = 3
	consoleFD = 4
	kernelFD  = 5
	netFD     = 6
)

// fdPath is the name of such a file.
func fdPath(number int) string { return "/dev/fd/" + strconv.Itoa(number) }

// NetFile stands in an Attachment's Netdev for the number of its file.
const NetFile = "$FILE"

// Attachment is how a guest's adapter is connected to the host.
type Attachment struct {
	Netdev string   // what follows -netdev, but for the id; empty for a guest without an adapter
	File   *os.File // what NetFile stands for in it, if anything. It stays the caller's
}

// netdev is the id of the attachment on QEMU's command line.
const netdev = "n0"

// arguments are QEMU's command line, with the file of the kernel that it starts. The name
// begins as that of everything a run makes, which is how tare gc knows it.
func arguments(s Spec, accel, kernel string) []string {
	cpu := "qemu64" // of all emulated models the one whose network code is fastest: no rep movsb
	if accel == KVM {
		cpu = "host"
	}
	args := []string{
		"-name", lab.Prefix + s.Run + "-" + s.Label,
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "q35", "-accel", accelArgument(accel), "-cpu", cpu,
		"-smp", "1", "-m", strconv.Itoa(s.memory()),
		"-kernel", kernel, "-initrd", fdPath(imageFD), "-append", commandLine(s, accel),
		"-serial", "file:" + fdPath(consoleFD),
		"-chardev", "stdio,id=ag,signal=off", "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=ag,name=" + Port,
	}
	if s.frozen {
		args = append(args, "-S")
	}
	if s.Attach.Netdev == "" {
		return args
	}
	dev := strings.ReplaceAll(s.Attach.Netdev, NetFile, strconv.Itoa(netFD))
	kind, options, _ := strings.Cut(dev, ",")
	dev = kind + ",id=" + netdev
	if options != "" {
		dev += "," + options
	}
	return append(args, "-netdev", dev, "-device", fmt.Sprintf("%s,netdev=%s,mac=%s%s", s.Model.Device, netdev, s.MAC, s.adapter()))
}

func accelArgument(accel string) string {
	if accel == TCG {
		return "tcg,thread=multi"
	}
	return accel
}

// emulationErrors spare an emulated CPU, whose speed says nothing anyway, what takes it the
// longest: placing the kernel at random, comparing its clocks, testing ciphers, and keeping
// programs from looking into each other through the CPU's caches.
const emulationErrors = "nokaslr tsc=reliable no_timer_check cryptomgr.notests audit=0 apparmor=0 mitigations=off"

// commandLine is the kernel's. While KVM is tried the kernel prints from its first
// steps on: silence then means that it does not run.
func commandLine(s Spec, accel string) string {
	words := "quiet"
	if accel == TCG {
		words += " " + emulationErrors
	}
	if s.earlyConsole {
		words = "earlyprintk=ttyS0"
	}
	return fmt.Sprintf("console=ttyS0 %s panic=-1 rdinit=%s -- %s", words, cmp.Or(s.init, Program), InitCommand)
}

// adapter are further options of the adapter. Without offloads one that could hand on
// packets larger than the MTU must not: the guest could not tell the host's tap.
func (s Spec) adapter() string {
	if s.Offload || s.Model.Module != "virtio_net" {
		return ""
	}
	var off strings.Builder
	for _, what := range []string{"tso4", "tso6", "ecn", "ufo"} {
		off.WriteString(",guest_" + what + "=off,host_" + what + "=off")
	}
	return off.String()
}
