package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/warning"
)

// virtualization records whether the machine is virtual, by which hypervisor, and in what container
// this process runs.
func (m *machine) virtualization() {
	kind, err := m.virtual()
	m.factOr("virtualization", kind, err)
	if err == nil && strings.HasPrefix(kind, "virtual machine") {
		m.warn(warning.VirtualMachine, "This is a virtual machine: the cost of its CPUs, caches and wake-ups depends on the host and its other guests, so ratios within a run are "+
			"valid, but values are not those of the bare machine. Use a physical machine; interleaved modes, the default, help.")
	}
	m.hypervisorName()
	m.container()
}

// virtual checks the flag that x86 CPUs have inside a virtual machine. CPUs without such
// a flag leave only the firmware's name as a hint.
func (sys files) virtual() (string, error) {
	text, err := sys.readText("proc/cpuinfo")
	if err != nil {
		return "", err
	}
	var hints []string
	if s, err := readFile(sys.fsys, "sys/hypervisor/type"); err == nil {
		hints = append(hints, s)
	}
	clocks, _ := readFile(sys.fsys, sysClock+"available_clocksource")
	switch {
	case strings.Contains(clocks, "kvm-clock"):
		hints = append(hints, "kvm")
	case strings.Contains(clocks, "hyperv_clocksource"):
		hints = append(hints, "hyper-v")
	}
	for _, f := range []string{"sys_vendor", "product_name"} {
		if s, err := readFile(sys.fsys, "sys/class/dmi/id/"+f); err == nil {
			hints = append(hints, s)
		}
	}
	flags, ok := field(text, "flags")
	switch hint := strings.Join(hints, ", "); {
	case !ok && hint == "":
		return "", errors.New("not shown by this kind of CPU")
	case !ok:
		return "", fmt.Errorf("not shown by this kind of CPU; the firmware reports %s", hint)
	case !slices.Contains(strings.Fields(flags), "hypervisor"):
		return "none seen", nil
	case hint == "":
		return "virtual machine", nil
	default:
		return "virtual machine (" + hint + ")", nil
	}
}

// container records the container to which the caller's file system belongs, by the marker
// files that engines create. A container without a marker is not detected.
func (m *machine) container() {
	mounts, err := m.readText("proc/self/mountinfo")
	kind := m.containerMark()
	switch {
	case kind != "":
	case err != nil:
		kind = unknown(err)
	case overlayRoot(mounts):
		kind = "likely (the root file system is an overlay)"
	default:
		kind = "none seen"
	}
	m.fact("container", kind)
	if kind != "none seen" && !strings.HasPrefix(kind, "unknown: ") {
		m.warn(warning.InContainer, "tare runs in a container: the engine's limits, seccomp filter and view of /proc and /sys apply to client and server, and some settings of "+
			"the machine are hidden or read-only. Run tare on the container's host, or in a container with the host's namespaces and without a seccomp filter.")
	}

	if strings.Contains(mounts, " /proc/stat ") {
		m.warn(warning.FakedProcStat, "Something (lxcfs, most likely) is mounted over /proc/stat, which shows the CPU time of this container instead of the machine's and omits "+
			"packet processing in the kernel: CPU costs are too low. Run tare on the container's host.")
	}
}

// containerMark finds the file with which an engine marks its containers.
func (sys files) containerMark() string {
	for _, mark := range []struct{ path, kind string }{
		{"run/.containerenv", "podman"},
		{".dockerenv", "docker"},
	} {
		if _, err := fs.Stat(sys.fsys, mark.path); err == nil {
			return fmt.Sprintf("%s (/%s is there)", mark.kind, mark.path)
		}
	}
	// systemd writes the kind there: docker, lxc, systemd-nspawn.
	kind, _ := readFile(sys.fsys, "run/systemd/container")
	return kind
}

// overlayRoot reports from mountinfo (proc_pid_mountinfo(5)) whether / is an overlay, as in
// most containers and rarely elsewhere.
func overlayRoot(mountinfo string) bool {
	root := false
	for line := range strings.Lines(mountinfo) {
		place, fstype, _ := strings.Cut(line, " - ")
		if f := strings.Fields(place); len(f) > 4 && f[4] == "/" {
			root = strings.HasPrefix(fstype, "overlay ") // the last one is on top
		}
	}
	return root
}
