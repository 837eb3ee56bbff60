package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is above every CPU number that Linux can be built for (8192 CPUs).
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
			return nil, fmt.Errorf("CPU list %q: want numbers and ranges like 0-3,8, have %q", s, part)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, int(cpu))
		}
		if len(cpus) > maxCPU+1 {
			return nil, fmt.Errorf("CPU list %q: more CPUs than there can be", s)
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
