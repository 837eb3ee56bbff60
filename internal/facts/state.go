package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tare/internal/warning"
)

// busyLoad is the load a CPU, of others, above which a machine counts as busy.
const busyLoad = 0.5

// load tells how busy the machine was in the last minutes.
func (m *machine) load() {
	text, err := readFile(m.fsys, "proc/loadavg")
	var minute float64
	fields := strings.Fields(text)
	if err == nil && len(fields) < 3 {
		err = fmt.Errorf("/proc/loadavg holds %q", text)
	}
	if err == nil {
		minute, err = strconv.ParseFloat(fields[0], 64)
	}
	if err != nil {
		m.fact("load_average", unknown(err))
		return
	}
	m.fact("load_average", strings.Join(fields[:3], " "))

	online, err := m.cpuList(sysCPU + "online")
	if err == nil && minute > busyLoad*float64(len(online)) {
		m.warn(warning.BusyMachine, fmt.Sprintf("The load average of the last minute is %s on %s: something else is running, or "+
			"was until now. It takes CPU from the trials, adds to their CPU figures, and spreads every figure. "+
			"Waiting, or stopping what runs, mends it.", fields[0], plural(len(online), "CPU")))
	}
}

// mitigations counts the CPU's known weaknesses by what the kernel does about
// them. spectre_v2 has its own fact, as its answer, the retpoline, slows the
// indirect calls that the network stack is made of.
func (m *machine) mitigations() {
	const dir = "sys/devices/system/cpu/vulnerabilities"
	entries, err := fs.ReadDir(m.fsys, dir)
	if err == nil && len(entries) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		m.fact("mitigations", unknown(plain(dir, err)))
		return
	}
	var mitigated, vulnerable, unread []string
	for _, e := range entries {
		state, err := readFile(m.fsys, dir+"/"+e.Name())
		state = strings.TrimPrefix(state, "KVM: ") // itlb_multihit concerns hosts of virtual machines
		switch {
		case err != nil || strings.HasPrefix(state, "Unknown"):
			unread = append(unread, e.Name())
		case strings.HasPrefix(state, "Mitigation"):
			mitigated = append(mitigated, e.Name())
		case strings.HasPrefix(state, "Not affected"):
		default:
			vulnerable = append(vulnerable, e.Name())
		}
	}
	text := fmt.Sprintf("%d on", len(mitigated))
	text += listed("vulnerable", vulnerable) + listed("unknown", unread)
	m.fact("mitigations", text)
	m.factFileIfAny("mitigation_spectre_v2", dir+"/spectre_v2")
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("; %s: %s", what, strings.Join(names, ", "))
}

// cgroups tells which version of control groups manages the machine, and whether
// they limit the CPU time of this process.
func (m *machine) cgroups() {
	version, err := m.cgroupVersion()
	m.factOr("cgroup_version", version, err)
	if err != nil {
		return
	}
	cpus, limited, err := m.cpuQuota()
	switch {
	case err != nil:
		m.fact("cpu_quota", unknown(err))
	case !limited:
		m.fact("cpu_quota", "none")
	default:
		m.fact("cpu_quota", fmt.Sprintf("%.2f CPUs", cpus))
		m.warn(warning.CPUQuota, fmt.Sprintf("A control group limits this process to %.2f CPUs. The kernel holds a process that has "+
			"used up its share until the next period, up to 100 ms later as a rule: rates show the limit and not the mode, and the "+
			"longest round trips are such pauses. Removing the limit (--cpus, CPUQuota=, a pod's CPU limit) mends it.", cpus))
	}
	m.memoryLimited()
}

func (m *machine) cgroupVersion() (string, error) {
	for _, mark := range []struct{ path, version string }{
		{"sys/fs/cgroup/cgroup.controllers", "2"},
		{"sys/fs/cgroup/unified/cgroup.controllers", "1, with 2 beside it"},
		{"sys/fs/cgroup/cpu", "1"},
		{"sys/fs/cgroup/memory", "1"},
	} {
		if _, err := fs.Stat(m.fsys, mark.path); err == nil {
			return mark.version, nil
		}
	}
	return "", errors.New("nothing known at /sys/fs/cgroup")
}
