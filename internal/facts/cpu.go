package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/warning"
)

const sysCPU = "sys/devices/system/cpu/"

// enoughCPUs lets each end have a CPU, and the kernel's packet work and the rest
// of the machine have theirs.
const enoughCPUs = 4

// cpus tells which CPUs there are, which of them this process may use, and how
// many cores those are.
func (m *machine) cpus() {
	model, err := m.cpuModel()
	m.factOr("cpu_model", model, err)

	online, errOnline := m.cpuList(sysCPU + "online")
	m.factOr("cpus_online", countedList(online), errOnline)

	allowed, errAllowed := m.allowedCPUs()
	if errAllowed == nil && errOnline == nil {
		// The kernel also allows CPUs that are not there.
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
	m.factOr("smt", strings.Replace(smt, "not", "not ", 1), err) // the kernel says notsupported

	switch {
	case errAllowed != nil:
	case len(allowed) < enoughCPUs:
		m.warn(warning.FewCores, fmt.Sprintf("%s may be used. Both ends, the kernel's packet work and tare itself share what there is, "+
			"so rates are lower and vary more than between two machines, and a mode that needs more CPU loses more "+
			"than it would with CPUs to spare. A machine with %d CPUs or more mends it.", plural(len(allowed), "CPU"), enoughCPUs))
	case errCores == nil && cores < enoughCPUs:
		m.warn(warning.SMT, fmt.Sprintf("The %d CPUs that may be used are threads of only %s. Two ends placed on threads of one core "+
			"slow each other down, so rates vary with where the scheduler puts them. A machine with %d cores or more mends it.", len(allowed), plural(cores, "core"), enoughCPUs))
	}
}

// cpuModel names the CPU. x86 says "model name"; others say less, each its own.
func (m *machine) cpuModel() (string, error) {
	text, err := m.readText("proc/cpuinfo")
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
	return "", errors.New("/proc/cpuinfo names none")
}

func (m *machine) cpuList(path string) ([]int, error) {
	s, err := readFile(m.fsys, path)
	if err != nil {
		return nil, err
	}
	return parseCPUList(s)
}

// allowedCPUs is the affinity of this process.
func (m *machine) allowedCPUs() ([]int, error) {
	text, err := m.readText("proc/self/status")
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
func (m *machine) cores(cpus []int) (int, error) {
	seen := make(map[string]bool)
	for _, cpu := range cpus {
		siblings, err := readFile(m.fsys, fmt.Sprintf(sysCPU+"cpu%d/topology/thread_siblings_list", cpu))
		if err != nil {
			return 0, err
		}
		seen[siblings] = true
	}
	return len(seen), nil
}

// countedList is "4 (0-3)".
func countedList(ids []int) string {
	return fmt.Sprintf("%d (%s)", len(ids), formatCPUList(ids))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
