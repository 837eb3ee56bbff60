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

// kernelThread is PF_KTHREAD of the flags in /proc/PID/stat (linux/sched.h). Kernel threads
// are not other programs: much of what they do is network processing.
const kernelThread = 0x00200000

// process is the required part of a line of /proc/PID/stat. Times are in ticks.
type process struct {
	pid, parent int
	started     uint64 // ticks after boot; identifies a process together with pid
	name        string
	own         uint64 // CPU time of all its threads, including those that ended
	children    uint64 // of the children that it waited for, and of theirs
	kernel      bool
	resident    uint64 // pages in memory, including those that it shares with others
}

// same reports whether both are the same process at two times.
func (p process) same(o process) bool { return p.pid == o.pid && p.started == o.started }

// processes reads the process table below a procfs. A process that ends meanwhile is
// omitted.
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

// The fields of /proc/PID/stat after the name, counted from the state (proc(5)).
const (
	fieldParent          = 1
	fieldFlags           = 6
	fieldUser            = 11
	fieldSystem          = 12
	fieldChildrensUser   = 13
	fieldChildrensSystem = 14
	fieldStarted         = 19
	fieldResident        = 21
)

// parseProcess parses a line of /proc/PID/stat. The name in brackets may contain anything,
// including brackets.
func parseProcess(line []byte) (process, error) {
	head, rest, ok := bytes.Cut(line, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return process{}, fmt.Errorf("no name in %q", line)
	}
	fields := strings.Fields(string(rest[end+1:]))
	if len(fields) <= fieldResident {
		return process{}, fmt.Errorf("%d fields after the name in %q", len(fields), line)
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
		children: number(fields[fieldChildrensUser]) + number(fields[fieldChildrensSystem]), resident: number(fields[fieldResident]),
	}
	return p, bad
}

// Table is the process table at one moment.
type Table struct {
	all map[int]process
	own string // the name of this program
}

// ProcessSet selects the processes of a mode, such as those of an engine or a tunnel,
// without the endpoints of its traffic.
type ProcessSet struct {
	// Roots are process ids; their descendants belong to the set, except those in
	// containers.
	Roots []int
	// Programs are the kernel names (at most 15 characters) of further processes that
	// belong to the set.
	Programs []string
}

// ReadTable reads the process table below a procfs, normally /proc. It takes about 30 us of
// CPU for each process and must not run during the timed part of a trial.
func ReadTable(procRoot string) (Table, error) {
	all, err := processes(procRoot)
	if err != nil {
		return Table{}, fmt.Errorf("read the processes in %s: %w", procRoot, err)
	}
	return Table{all: all, own: all[os.Getpid()].name}, nil
}

// CPUTime returns the CPU seconds, user and system, that the processes of a set used
// between an earlier table and this one, by program name. A process that began meanwhile
// counts from its start; one that ended does not count. The kernel's steps of 10 ms are
// rounded down twice for each process. This program itself, as the init process of a
// private engine, is excluded.
func (t Table) CPUTime(earlier Table, of ProcessSet) map[string]float64 {
	out := map[string]float64{}
	for pid, p := range t.all {
		if p.kernel || p.name == t.own || !t.contains(pid, of) {
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

// Memory is the resident memory in bytes of the processes of a set: the sum of their resident set sizes, in which a page that several share
// counts several times. This program itself is excluded, as in [Table.CPUTime]. known is false if the set has no process
// with memory, which is that of a mode without processes of its own, or one whose processes cannot be seen.
func (t Table) Memory(of ProcessSet) (bytes float64, known bool) {
	for pid, p := range t.all {
		if !p.kernel && p.name != t.own && p.resident > 0 && t.contains(pid, of) {
			bytes += float64(p.resident) * float64(os.Getpagesize())
		}
	}
	return bytes, bytes > 0
}

// contains searches from a process upwards for a root. A container's shim belongs to its
// root, but the container below it does not.
func (t Table) contains(pid int, of ProcessSet) bool {
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
