package observe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelThread is PF_KTHREAD of the flags in /proc/PID/stat (linux/sched.h). What
// kernel threads do is not another program's: much of it is the network's.
const kernelThread = 0x00200000

// process is a line of /proc/PID/stat, as far as it is needed. Times are in ticks.
type process struct {
	pid, parent int
	started     uint64 // ticks after boot: with pid, what tells a process from a later one
	name        string
	own         uint64 // CPU time of all its threads, those that ended included
	children    uint64 // of the children that it waited for, and theirs
	kernel      bool
}

// same is whether both are one process at two times.
func (p process) same(o process) bool { return p.pid == o.pid && p.started == o.started }

// processes reads the process table below a procfs. A process that ends meanwhile
// is left out.
func processes(procRoot string) (map[int]process, error) {
	dir, err := os.Open(procRoot)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	out := make(map[int]process, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(procRoot, name, "stat"))
		if err != nil {
			continue
		}
		p, err := parseProcess(line)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		out[pid] = p
	}
	return out, nil
}

// The fields of /proc/PID/stat behind the name, counted from the state (proc(5)).
const (
	fieldParent          = 1
	fieldFlags           = 6
	fieldUser            = 11
	fieldSystem          = 12
	fieldChildrensUser   = 13
	fieldChildrensSystem = 14
	fieldStarted         = 19
)

// parseProcess parses a line of /proc/PID/stat. The name in brackets may hold
// anything, brackets too.
func parseProcess(line []byte) (process, error) {
	head, rest, ok := bytes.Cut(line, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return process{}, fmt.Errorf("no name in %q", line)
	}
	fields := strings.Fields(string(rest[end+1:]))
	if len(fields) <= fieldStarted {
		return process{}, fmt.Errorf("%d fields behind the name in %q", len(fields), line)
	}
	var bad error
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%q in %q is not a count", s, line)
		}
		return n
	}
	p := process{
		pid: int(number(string(head))), parent: int(number(fields[fieldParent])), name: string(rest[:end]), //nolint:gosec // process ids
		started: number(fields[fieldStarted]), kernel: number(fields[fieldFlags])&kernelThread != 0,
		own:      number(fields[fieldUser]) + number(fields[fieldSystem]),
		children: number(fields[fieldChildrensUser]) + number(fields[fieldChildrensSystem]),
	}
	return p, bad
}

// Table is the process table at one moment.
type Table struct {
	all map[int]process
	own string // the name of this program
}

// ProcessSet says which processes are a mode's own: those of an engine or a tunnel,
// not the ends of its traffic.
type ProcessSet struct {
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

// CPUTime is what the processes that belong spent from an earlier moment to this one, in
// CPU seconds by the name of the program: in user space and in calls to the kernel. A
// process that began meanwhile counts from its beginning; one that ended does not count.
// The kernel's steps of 10 ms are rounded down twice a process. This program itself, as
// the first process of a private engine, is left out.
func (t Table) CPUTime(earlier Table, of ProcessSet) map[string]float64 {
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
func (t Table) belongs(pid int, of ProcessSet) bool {
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
