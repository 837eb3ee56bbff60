package observe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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
