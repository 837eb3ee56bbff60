package facts

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// CPUs lists, ascending, one CPU of each core that this process may use: where
// the ends of a trial can be placed without sharing a core unasked. A machine
// that does not tell its cores has one for each CPU.
func CPUs(root string) ([]int, error) {
	m := &machine{fsys: os.DirFS(root)}
	allowed, err := m.allowedCPUs()
	if err != nil {
		return nil, fmt.Errorf("find the CPUs to place trials on: %w", err)
	}
	// The kernel also allows CPUs that are not there.
	if online, err := m.cpuList(sysCPU + "online"); err == nil {
		allowed = slices.DeleteFunc(allowed, func(c int) bool { return !slices.Contains(online, c) })
	}
	if len(allowed) == 0 {
		return nil, errors.New("find the CPUs to place trials on: none is both allowed and online")
	}
	var cpus []int
	seen := map[string]bool{}
	for _, cpu := range allowed {
		siblings, err := readFile(m.fsys, fmt.Sprintf(sysCPU+"cpu%d/topology/thread_siblings_list", cpu))
		if err == nil && seen[siblings] {
			continue
		}
		seen[siblings] = true
		cpus = append(cpus, cpu)
	}
	slices.Sort(cpus)
	return cpus, nil
}
