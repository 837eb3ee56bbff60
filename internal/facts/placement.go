package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/warning"
)

// numa records the NUMA nodes of the machine, and whether the usable CPUs are on more than
// one.
func (m *machine) numa() {
	nodes, err := m.cpuList("sys/devices/system/node/online")
	m.factOr("numa_nodes", countedList(nodes), err)
	if err != nil || len(nodes) < 2 {
		return
	}
	allowed, err := m.allowedCPUs()
	if err != nil {
		return
	}
	var parts []string
	for _, node := range nodes {
		cpus, err := m.cpuList(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node))
		if err != nil {
			m.fact("numa_cpus", unknown(err))
			return
		}
		cpus = slices.DeleteFunc(cpus, func(c int) bool { return !slices.Contains(allowed, c) })
		if len(cpus) > 0 {
			parts = append(parts, fmt.Sprintf("node %d: %s", node, formatCPUList(cpus)))
		}
	}
	m.fact("numa_cpus", strings.Join(parts, "; "))
	if len(parts) > 1 {
		m.warn(warning.NUMASpans, "The available CPUs are on %d NUMA nodes (%s): rates depend on where the scheduler places client and server, and results may form "+
			"bands. Keep a run on one node with `numactl --cpunodebind=0 --membind=0 tare ...`.",
			warning.Said(len(parts)), strings.Join(parts, "; "))
	}
}

// isolatedCPUs records which CPUs and interrupts are excluded from normal scheduling.
func (m *machine) isolatedCPUs() {
	if v, err := m.cpuList(sysCPU + "isolated"); err == nil && len(v) > 0 {
		m.fact("cpus_isolated", countedList(v))
	}
	m.factFileIfAny("irq_default_affinity", "proc/irq/default_smp_affinity")
	running, err := m.runs("irqbalance")
	switch {
	case err != nil:
		m.fact("irqbalance", unknown(err))
	case running:
		m.fact("irqbalance", "running")
		m.warnExisting(warning.Irqbalance, "irqbalance moves device interrupts between CPUs during trials, so packet processing moves between CPUs. "+
			"Run `systemctl stop irqbalance` before the run, or use a lab, which has no devices with interrupts.")
	default:
		m.fact("irqbalance", "not running")
	}
	if words, err := m.bootParameters(); err != nil {
		m.fact("boot_parameters", unknown(err))
	} else {
		m.fact("boot_parameters", orNone(words))
		if slices.Contains(words, "mitigations=off") {
			m.warn(warning.MitigationsOff, "The kernel was booted with mitigations=off: system calls and indirect calls cost less than usual, and so does every mode, most of all those with many "+
				"small packets. To compare with other machines, boot without it.")
		}
	}
}

// bootParameters returns the kernel command line parameters that concern CPUs and timekeeping.
// The others are private.
func (sys files) bootParameters() ([]string, error) {
	text, err := readFile(sys.fsys, "proc/cmdline")
	if err != nil {
		return nil, err
	}
	bearing := []string{
		"isolcpus", "nohz", "nohz_full", "rcu_nocbs", "mitigations", "nosmt", "idle", "processor.max_cstate", "intel_idle.max_cstate", "intel_pstate", "amd_pstate",
		"cpufreq.default_governor", "clocksource", "tsc", "threadirqs", "preempt", "psi", "irqaffinity", "skew_tick", "maxcpus", "nr_cpus", "swapaccount",
	}
	var out []string
	for word := range strings.FieldsSeq(text) {
		if word == "--" {
			break // the rest is for the init process
		}
		name, _, _ := strings.Cut(word, "=")
		if slices.Contains(bearing, name) {
			out = append(out, word)
		}
	}
	return out, nil
}

// runs reports whether a process with that name exists. It fails if processes of other
// users are hidden.
func (sys files) runs(name string) (bool, error) {
	entries, err := fs.ReadDir(sys.fsys, "proc")
	if err != nil {
		return false, plain("proc", err)
	}
	first := false
	for _, e := range entries {
		if e.Name() == "" || e.Name()[0] < '0' || e.Name()[0] > '9' {
			continue
		}
		comm, err := readFile(sys.fsys, "proc/"+e.Name()+"/comm")
		if err != nil {
			continue // it has exited
		}
		if comm == name {
			return true, nil
		}
		first = first || e.Name() == "1"
	}
	if !first {
		return false, errors.New("processes of other users are hidden")
	}
	return false, nil
}

// idleStates records the CPUs' idle states, whose wake-up latency affects the first packet
// after a pause.
func (m *machine) idleStates() {
	m.factFileIfAny("cpu_idle_driver", sysCPU+"cpuidle/current_driver")
	m.factFileIfAny("cpu_idle_governor", sysCPU+"cpuidle/current_governor")
	paths, err := fs.Glob(m.fsys, sysCPU+"cpu0/cpuidle/state*/name")
	if err != nil || len(paths) == 0 {
		return // no idle states, as in most virtual machines
	}
	var names []string
	for _, p := range paths {
		name, err := readFile(m.fsys, p)
		if err != nil {
			continue
		}
		dir := strings.TrimSuffix(p, "name")
		if v, err := readFile(m.fsys, dir+"disable"); err == nil && v != "0" {
			name += " (off)"
		}
		if v, err := readFile(m.fsys, dir+"latency"); err == nil {
			name += " " + v + " us"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		m.fact("cpu_idle_states", unknown(errors.New("none of their names can be read")))
		return
	}
	m.fact("cpu_idle_states", strings.Join(names, ", "))
}
