package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"tare/internal/unit"
	"tare/internal/warning"
)

const sysCPU = "sys/devices/system/cpu/"

// minCPUs is enough for one CPU for each endpoint and for the kernel's packet processing
// and the rest of the machine.
const minCPUs = 4

// cpus records which CPUs exist, which of them this process may use, and how many cores
// those are.
func (m *machine) cpus() {
	model, err := m.cpuModel()
	m.factOr("cpu_model", model, err)
	m.revision()

	online, errOnline := m.cpuList(sysCPU + "online")
	m.factOr("cpus_online", countedList(online), errOnline)

	allowed, errAllowed := m.allowedCPUs()
	if errAllowed == nil && errOnline == nil {
		// The affinity may include CPUs that do not exist.
		allowed = slices.DeleteFunc(allowed, func(c int) bool { return !slices.Contains(online, c) })
	}
	if errAllowed == nil && len(allowed) == 0 {
		errAllowed = errors.New("no CPU is both allowed and online")
	}
	m.factOr("cpus_allowed", countedList(allowed), errAllowed)

	var cores int
	errCores := errAllowed
	if errCores == nil {
		cores, errCores = m.cores(allowed)
	}
	m.factOr("cores_allowed", fmt.Sprint(cores), errCores)
	smt, err := readFile(m.fsys, sysCPU+"smt/control")
	m.factOr("smt", strings.Replace(smt, "not", "not ", 1), err) // the kernel writes notsupported

	switch {
	case errAllowed != nil:
	case len(allowed) < minCPUs:
		m.warn(warning.FewCores, "Only %s for client, server, packet processing and tare: rates are lower and vary more than on two machines, "+
			"and expensive modes lose more. Use a machine with %d CPUs or more.", warning.Said(unit.Count(len(allowed), "CPU", "CPUs")), minCPUs)
	case errCores == nil && cores < minCPUs:
		m.warn(warning.SMT, "The %d available CPUs are hardware threads of only %s, which slow each other down: rates depend on where the scheduler "+
			"places client and server. Use a machine with %d cores or more.", len(allowed), unit.Count(cores, "core", "cores"), minCPUs)
	}
}

// cpuModel returns the CPU's name. x86 has "model name"; other architectures have different
// fields.
func (sys files) cpuModel() (string, error) {
	text, err := sys.readText("proc/cpuinfo")
	if err != nil {
		return "", err
	}
	for _, key := range []string{"model name", "Model Name", "cpu model", "cpu", "uarch"} {
		if v, ok := field(text, key); ok && v != "" {
			return v, nil
		}
	}
	implementer, ok := field(text, "CPU implementer")
	if part, okPart := field(text, "CPU part"); ok && okPart {
		return fmt.Sprintf("implementer %s part %s", implementer, part), nil
	}
	return "", errors.New("/proc/cpuinfo does not name it")
}

func (sys files) cpuList(path string) ([]int, error) {
	s, err := readFile(sys.fsys, path)
	if err != nil {
		return nil, err
	}
	return parseCPUList(s)
}

// allowedCPUs returns the affinity of this process.
func (sys files) allowedCPUs() ([]int, error) {
	text, err := sys.readText("proc/self/status")
	if err != nil {
		return nil, err
	}
	v, ok := field(text, "Cpus_allowed_list")
	if !ok {
		return nil, errors.New("/proc/self/status has no Cpus_allowed_list")
	}
	return parseCPUList(v)
}

// cores counts the cores that cpus are threads of.
func (sys files) cores(cpus []int) (int, error) {
	seen := make(map[string]bool)
	for _, cpu := range cpus {
		siblings, err := readFile(sys.fsys, fmt.Sprintf(sysCPU+"cpu%d/topology/thread_siblings_list", cpu))
		if err != nil {
			return 0, err
		}
		seen[siblings] = true
	}
	return len(seen), nil
}

// countedList returns for instance "4 (0-3)".
func countedList(ids []int) string {
	return fmt.Sprintf("%d (%s)", len(ids), formatCPUList(ids))
}

// maxCPU is above every CPU number for which Linux can be built (8192 CPUs).
const maxCPU = 1<<16 - 1

// parseCPUList parses the kernel's list format: "0-3,8" is 0 1 2 3 8. The result
// is ascending and without repeats; an empty list is no CPU.
func parseCPUList(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		lo, errLo := strconv.ParseUint(first, 10, 32)
		hi, errHi := strconv.ParseUint(last, 10, 32)
		if errLo != nil || errHi != nil || lo > hi || hi > maxCPU {
			return nil, fmt.Errorf("CPU list %q: %q is not a number or a range such as 0-3", s, part)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, int(cpu))
		}
		if len(cpus) > maxCPU+1 {
			return nil, fmt.Errorf("CPU list %q: too many CPUs", s)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// formatCPUList is the inverse of parseCPUList, for ascending CPUs.
func formatCPUList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(cpus[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// CPUs lists, ascending, one CPU of each core that this process may use: the CPUs on which
// endpoints can be placed without sharing a core. If the core topology is unknown, each CPU
// counts as a core.
func CPUs(root string) ([]int, error) {
	sys := files{os.DirFS(root)}
	allowed, err := sys.allowedCPUs()
	if err != nil {
		return nil, fmt.Errorf("find the CPUs for trials: %w", err)
	}
	// The kernel also allows CPUs that are not there.
	if online, err := sys.cpuList(sysCPU + "online"); err == nil {
		allowed = slices.DeleteFunc(allowed, func(c int) bool { return !slices.Contains(online, c) })
	}
	if len(allowed) == 0 {
		return nil, errors.New("find the CPUs for trials: none is both allowed and online")
	}
	var cpus []int
	seen := map[string]bool{}
	for _, cpu := range allowed {
		siblings, err := readFile(sys.fsys, fmt.Sprintf(sysCPU+"cpu%d/topology/thread_siblings_list", cpu))
		if err == nil && seen[siblings] {
			continue
		}
		seen[siblings] = true
		cpus = append(cpus, cpu)
	}
	slices.Sort(cpus)
	return cpus, nil
}

// busyLoad is the load per CPU above which a machine counts as busy.
const busyLoad = 0.5

// load records the load average.
func (m *machine) load() {
	text, err := readFile(m.fsys, "proc/loadavg")
	var minute float64
	fields := strings.Fields(text)
	if err == nil && len(fields) < 3 {
		err = fmt.Errorf("/proc/loadavg contains %q", text)
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
		m.warn(warning.BusyMachine, "The load average of the last minute is %s on %s: other programs take CPU from the trials, add to their CPU values "+
			"and make every value vary more. Wait, or stop the other programs.", warning.Said(fields[0]), unit.Count(len(online), "CPU", "CPUs"))
	}
}

// mitigations counts the CPU's vulnerabilities by the kernel's mitigation. spectre_v2 has a
// separate fact, because its mitigation, the retpoline, slows the indirect calls of the
// network stack.
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
