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

// Emulator is the program that runs guests.
const Emulator = "qemu-system-x86_64"

// qemu returns the path of the emulator.
func qemu() (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", &UnavailableError{"guests require the architecture x86-64, and this machine is " + runtime.GOARCH}
	}
	path, err := exec.LookPath(Emulator)
	if errors.Is(err, exec.ErrNotFound) {
		return "", &UnavailableError{Emulator + " is not installed (Debian: qemu-system-x86)"}
	}
	return path, err
}

// The numbers of the file descriptors that QEMU inherits.
const (
	imageFD   = 3
	consoleFD = 4
	kernelFD  = 5
	netFD     = 6
)

// fdPath returns the path of such a file.
func fdPath(number int) string { return "/dev/fd/" + strconv.Itoa(number) }

// NetFile is the placeholder for the number of its file in an Attachment's Netdev.
const NetFile = "$FILE"

// Attachment is how a guest's adapter is connected to the host.
type Attachment struct {
	Netdev string   // the value of -netdev without the id; empty for a guest without an adapter
	File   *os.File // the file for NetFile, if any. The caller closes it
}

// netdev is the id of the attachment on QEMU's command line.
const netdev = "n0"

// arguments returns QEMU's command line, with the file of the kernel to start. The name starts like
// that of every object of a run, by which tare gc recognises it.
func arguments(s Spec, accel, kernel string) []string {
	// Of all emulated models the one with the fastest network code: no rep movsb. Without cmpxchg16b: QEMU 7.2
	// left wrong flags after it, with which the memory allocator of Linux 6.12 crashed.
	cpu := "qemu64,-cx16"
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

// emulationParams are kernel parameters that save an emulated CPU its most expensive work:
// randomising the kernel's address, comparing its clocks, testing ciphers, and mitigating CPU
// vulnerabilities. The speed of such a CPU is not meaningful anyway.
const emulationParams = "nokaslr tsc=reliable no_timer_check cryptomgr.notests audit=0 apparmor=0 mitigations=off"

// commandLine returns the kernel's command line. While KVM is tested the kernel prints from its
// start: no output then means that it does not run.
func commandLine(s Spec, accel string) string {
	words := "quiet"
	if accel == TCG {
		words += " " + emulationParams
	}
	if s.earlyConsole {
		words = "earlyprintk=ttyS0"
	}
	return fmt.Sprintf("console=ttyS0 %s panic=-1 rdinit=%s -- %s", words, cmp.Or(s.init, Program), InitCommand)
}

// adapter returns further options of the adapter. Without offloads, one that could pass on packets
// larger than the MTU must not, because the guest cannot configure the host's tap.
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
