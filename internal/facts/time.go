package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/warning"
)

const sysClock = "sys/devices/system/clocksource/clocksource0/"

// frequency records what may change the CPU frequency during trials.
func (m *machine) frequency() {
	governor, err := m.governor()
	m.factOr("cpu_governor", governor, err)
	if strings.Contains(governor, "powersave") {
		m.warn(warning.PowersaveGovernor, "The CPU frequency governor is powersave: trials begin on slow CPUs, latency includes the time to speed up, and the CPU seconds of two modes "+
			"are not comparable. Run `cpupower frequency-set -g performance`.")
	}
	if v, err := readFile(m.fsys, sysCPU+"intel_pstate/no_turbo"); err == nil {
		m.fact("cpu_turbo", onOff(v == "0"))
	} else {
		m.onOffIfAny("cpu_turbo", sysCPU+"cpufreq/boost")
	}
	m.idleStates()
}

// governor returns the frequency governor, with counts if CPUs differ.
func (sys files) governor() (string, error) {
	const dir = "sys/devices/system/cpu"
	if _, err := fs.Stat(sys.fsys, dir); err != nil {
		return "", plain(dir, err)
	}
	paths, err := fs.Glob(sys.fsys, dir+"/cpufreq/policy*/scaling_governor")
	if err != nil || len(paths) == 0 {
		return "", errors.New("the kernel has no frequency driver here, as in most virtual machines")
	}
	count := make(map[string]int)
	for _, p := range paths {
		g, err := readFile(sys.fsys, p)
		if err != nil {
			return "", err
		}
		count[g]++
	}
	var names []string
	for g, n := range count {
		if len(count) > 1 {
			g = fmt.Sprintf("%s (%d)", g, n)
		}
		names = append(names, g)
	}
	slices.Sort(names)
	return strings.Join(names, ", "), nil
}

// clock records the clock source.
func (m *machine) clock() {
	source, err := readFile(m.fsys, sysClock+"current_clocksource")
	m.factOr("clock_source", source, err)
	if err != nil || fastClock(source) {
		return
	}
	fix := "Use a machine whose clock source is tsc (arch_sys_counter on arm64); the kernel log of this one says why it is not."
	available, _ := readFile(m.fsys, sysClock+"available_clocksource")
	if slices.Contains(strings.Fields(available), "tsc") {
		fix = "Run `echo tsc > /" + sysClock + "current_clocksource`, unless the kernel log says that tsc is unstable."
	}
	m.warn(warning.NoConstantClock, "The clock source is %s, and reading it takes a system call and often a slow device: the generator reads it for every "+
		"transaction, so rates are lower and round trips longer. %s", source, fix)
}

// fastClock reports whether a program reads this clock source without entering the kernel,
// and whether its rate is independent of the CPU frequency.
func fastClock(source string) bool {
	return slices.Contains([]string{
		"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", // x86
		"arch_sys_counter", "timebase", "tod", "riscv_clocksource", "Constant", // arm64, ppc64, s390x, riscv64, loong64
	}, source)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// onOffIfAny adds a fact for a setting that the kernel shows as 0 or 1, if it exists.
func (m *machine) onOffIfAny(name, path string) {
	v, err := readFile(m.fsys, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		m.fact(name, unknown(err))
	case v == "0" || v == "1":
		m.fact(name, onOff(v == "1"))
	default:
		m.fact(name, v)
	}
}
