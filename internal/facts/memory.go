package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"tare/internal/warning"
)

// minMemory is enough for the socket buffers of both endpoints, the engines of a few
// modes and tare itself, in bytes.
const minMemory = 1 << 30

// memory records the amount of memory, and whether the kernel counts pressure.
func (m *machine) memory() {
	text, err := m.readText("proc/meminfo")
	total, errTotal := kib(text, "MemTotal", err)
	if errTotal == nil && total == 0 {
		errTotal = errors.New("MemTotal of /proc/meminfo is \"0 kB\"")
	}
	m.factOr("memory", gib(total), errTotal)
	if err == nil {
		free, errFree := kib(text, "MemAvailable", nil)
		m.factOr("memory_available", gib(free), errFree)
		m.swap(text)
	}
	if v, err := readFile(m.fsys, "sys/kernel/mm/transparent_hugepage/enabled"); err == nil {
		m.fact("transparent_hugepages", selectedOption(v))
	}
	_, errPressure := fs.Stat(m.fsys, "proc/pressure/cpu")
	switch {
	case errPressure == nil:
		m.fact("pressure", "counted")
	case err == nil && errors.Is(errPressure, fs.ErrNotExist):
		m.fact("pressure", "not counted: the kernel has CONFIG_PSI off, or lacks psi=1 on its command line")
	default:
		m.fact("pressure", unknown(plain("proc/pressure/cpu", errPressure)))
	}
}

// swap records the amount of swap and how much of it is in use.
func (m *machine) swap(meminfo string) {
	total, errTotal := kib(meminfo, "SwapTotal", nil)
	free, errFree := kib(meminfo, "SwapFree", nil)
	switch err := errors.Join(errTotal, errFree); {
	case err != nil:
		m.fact("swap", unknown(errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))))
	case total == 0:
		m.fact("swap", "none")
	default:
		m.fact("swap", fmt.Sprintf("%s, %s of it in use", gib(total), gib(max(0, total-free))))
	}
}

// kib returns the value of a line "key:  123 kB" of /proc/meminfo, in bytes.
func kib(text, key string, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	v, there := field(text, key)
	if !there {
		return 0, fmt.Errorf("/proc/meminfo has no %s", key)
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(v, " kB"), 10, 53)
	if err != nil {
		return 0, fmt.Errorf("%s of /proc/meminfo is %q", key, v)
	}
	return float64(n) * 1024, nil
}

func gib(bytes float64) string { return fmt.Sprintf("%.1f GiB", bytes/(1<<30)) }

// selectedOption returns the word in brackets of a file such as "always [madvise] never".
func selectedOption(text string) string {
	_, rest, ok := strings.Cut(text, "[")
	word, _, closed := strings.Cut(rest, "]")
	if ok && closed && strings.TrimSpace(word) != "" {
		return word
	}
	return text
}

// memoryLimited records whether control groups limit the memory of this process.
func (m *machine) memoryLimited() {
	bytes, _, limited, err := m.memoryLimit()
	switch {
	case err != nil:
		m.fact("memory_limit", unknown(err))
	case !limited:
		m.fact("memory_limit", "none")
	default:
		m.fact("memory_limit", gib(bytes))
		if bytes < minMemory {
			m.warn(warning.MemoryLimit, "A control group limits this process to %.0f MiB of memory: socket buffers count against it, so they are small, "+
				"and the kernel kills processes that exceed it. Remove or raise the limit (--memory, MemoryMax=, a pod's limit).", warning.Said(bytes/(1<<20)))
		}
	}
}
