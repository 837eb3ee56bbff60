package observe

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Table is the process table at one moment.
type Table struct {
	all map[int]process
	own string // the name of this program
}

// Belonging says which processes are a mode's own: those of an engine or a tunnel,
// not the ends of its traffic.
type Belonging struct {
	// Roots are ids of processes; what is below them belongs, too, but for what runs in
	// containers.
	Roots []int
	// Programs belong by their name, as the kernel keeps it in 15 letters, wherever
	// they are.
	Programs []string
}

// ReadTable reads the process table below a procfs, normally /proc. It takes about 30 us
// of CPU a process, and belongs outside of what is timed.
func ReadTable(procRoot string) (Table, error) {
	all, err := processes(procRoot)
	if err != nil {
		return Table{}, fmt.Errorf("read the processes in %s: %w", procRoot, err)
	}
	return Table{all: all, own: all[os.Getpid()].name}, nil
}

// Spent is what the processes that belong spent from an earlier moment to this one, in
// CPU seconds by the name of the program: in user space and in calls to the kernel. A
// process that began meanwhile counts from its beginning; one that ended does not count.
// The kernel's steps of 10 ms are rounded down twice a process. This program itself, as
// the first process of a private engine, is left out.
func (t Table) Spent(earlier Table, of Belonging) map[string]float64 {
	out := map[string]float64{}
	for pid, p := range t.all {
		if p.kernel || p.name == t.own || !t.belongs(pid, of) {
			continue
		}
		before := earlier.all[pid]
		if !before.same(p) {
			before = process{}
		}
		if p.own >= before.own {
			out[p.name] += float64(p.own-before.own) / ticksPerSecond
		}
	}
	return out
}

// belongs looks up from a process to a root. A shim still does, and what it holds, which
// is a container, does not.
func (t Table) belongs(pid int, of Belonging) bool {
	if slices.Contains(of.Programs, t.all[pid].name) {
		return true
	}
	for at, depth := pid, 0; at > 0 && depth < len(t.all); depth++ {
		if slices.Contains(of.Roots, at) {
			return true
		}
		if at = t.all[at].parent; strings.HasPrefix(t.all[at].name, shim) {
			return false
		}
	}
	return false
}
