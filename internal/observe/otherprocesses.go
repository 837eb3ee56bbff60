package observe

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Own identifies the run's own processes.
type Own struct {
	PID int    // of tare: the process and its descendants, including its private engines
	Run string // the run's id, which agents in containers have on their command line
	// Programs work for the run without being its descendants, such as an existing engine.
	// Their descendants are not the run's.
	Programs []string
	// MemoryGroups are the directories of the control groups that limit the run's memory;
	// the collector "memory" reads their counters.
	MemoryGroups []string
}

// OtherProcesses is the collector "others": the CPU time of everything that runs besides
// the run, from /proc/PID/stat. Its metric is in CPU seconds:
//
//	cpu  of processes that neither belong to the run nor are kernel threads
//
// The run's own processes are the tree below Own.PID; each process with Own.Run as a word
// of its command line, with the tree below it and the shim of its container; and
// Own.Programs.
//
// A process that began and ended within the window counts if its parent waited for it, as
// shells and build tools do. Otherwise it is missed, as is anything outside the PID
// namespace: the metric is never too high because of that. The kernel counts in steps of 10
// ms, rounded down twice for each process.
//
// Read takes about 30 us of CPU for each process (4 ms for 150) and must not run during the
// timed part of a trial.
type OtherProcesses struct {
	root string
	own  Own
	seen map[int]cmdlineCheck // by process id: whose command line was looked at
}

// NewOtherProcesses creates the collector for the procfs mounted at procRoot.
func NewOtherProcesses(procRoot string, own Own) OtherProcesses {
	return OtherProcesses{root: procRoot, own: own, seen: map[int]cmdlineCheck{}}
}

// Name returns "others".
func (OtherProcesses) Name() string { return "others" }

// Read takes a sample. It fails if the process table cannot be read or does not contain the
// run itself, as where processes of other users are hidden.
func (o OtherProcesses) Read() (Sample, error) {
	all, err := processes(o.root)
	if err != nil {
		return nil, fmt.Errorf("read the processes in %s: %w", o.root, err)
	}
	if _, there := all[o.own.PID]; !there {
		return nil, fmt.Errorf("read the processes in %s: the run's own process (%d) is not among them", o.root, o.own.PID)
	}
	if _, there := all[1]; !there {
		return nil, fmt.Errorf("read the processes in %s: processes of other users are hidden", o.root)
	}
	return &processSample{all: all, own: o.ownProcesses(all)}, nil
}

// shim is the name of the process that holds a container, as truncated by the kernel.
const shim = "containerd-shim"

// ownProcesses selects the run's own processes.
func (o OtherProcesses) ownProcesses(all map[int]process) map[int]bool {
	maps.DeleteFunc(o.seen, func(pid int, _ cmdlineCheck) bool { _, runs := all[pid]; return !runs })
	marked := map[int]bool{o.own.PID: true}
	for pid, p := range all {
		if !p.kernel && o.hasRunID(p) {
			marked[pid] = true
			if above, ok := all[p.parent]; ok && above.pid > 1 && above.name == shim {
				marked[above.pid] = true
			}
		}
	}
	own := map[int]bool{}
	for pid, p := range all {
		own[pid] = slices.Contains(o.own.Programs, p.name)
	}
	for pid := range all {
		for at, depth := pid, 0; at > 0 && depth < len(all); at, depth = all[at].parent, depth+1 {
			if marked[at] {
				own[pid] = true
				break
			}
		}
	}
	return own
}

// cmdlineCheck is the cached result of reading a process's command line.
type cmdlineCheck struct {
	started uint64
	own     bool
}

// hasRunID reports whether a process has the run's id as a word of its command line. Each
// process is read once.
func (o OtherProcesses) hasRunID(p process) bool {
	if o.own.Run == "" {
		return false
	}
	if l, ok := o.seen[p.pid]; ok && l.started == p.started {
		return l.own
	}
	line, err := os.ReadFile(filepath.Join(o.root, strconv.Itoa(p.pid), "cmdline"))
	if err != nil {
		return false
	}
	l := cmdlineCheck{started: p.started}
	for word := range bytes.SplitSeq(line, []byte{0}) {
		l.own = l.own || string(word) == o.own.Run
	}
	o.seen[p.pid] = l
	return l.own
}

// processSample is the process table at one moment.
type processSample struct {
	all map[int]process
	own map[int]bool
}

// Since implements [Sample].
func (s *processSample) Since(earlier Sample) (map[string]float64, []Gap) {
	from, ok := earlier.(*processSample)
	if !ok {
		return nil, []Gap{{Reason: fmt.Sprintf("earlier sample is a %T, not one of processes", earlier)}}
	}
	var ticks uint64
	for _, n := range s.ticksByProgram(from) {
		ticks += n
	}
	return map[string]float64{"cpu": float64(ticks) / ticksPerSecond}, nil
}

// Explain implements [Explainer]: it names the program that used the most CPU time.
func (s *processSample) Explain(earlier Sample) map[string]string {
	from, ok := earlier.(*processSample)
	if !ok {
		return nil
	}
	byName := s.ticksByProgram(from)
	var most string
	for _, name := range sortedKeys(byName) {
		if most == "" || byName[name] > byName[most] {
			most = name
		}
	}
	if byName[most] == 0 {
		return nil
	}
	return map[string]string{"cpu": "mostly " + most}
}

// ticksByProgram returns the CPU time of other processes since from, in ticks by program
// name. The time of a process that ended within the window is attributed to the name of the
// parent that waited for it.
//
// A parent's counter for its children grows by the whole lifetime of a child that it waits
// for. What that child used before the window is in from and is subtracted; if nobody
// waited for the child, this subtracts too much, but never too little.
func (s *processSample) ticksByProgram(from *processSample) map[string]uint64 {
	out, waited := map[string]uint64{}, map[string]uint64{}
	for pid, p := range s.all {
		if p.kernel || s.own[pid] {
			continue
		}
		before := from.all[pid]
		if !before.same(p) {
			before = process{}
		}
		if p.own > before.own {
			out[p.name] += p.own - before.own
		}
		if p.children > before.children {
			waited[p.name] += p.children - before.children
		}
	}
	var earlier uint64
	for pid, p := range from.all {
		if now, there := s.all[pid]; !p.kernel && !from.own[pid] && (!there || !now.same(p)) {
			earlier += p.own + p.children
		}
	}
	for _, name := range sortedKeys(waited) {
		off := min(earlier, waited[name])
		earlier -= off
		out[name] += waited[name] - off
	}
	maps.DeleteFunc(out, func(_ string, n uint64) bool { return n == 0 })
	return out
}

// Relation is what a process is to a run.
type Relation int

// The relations.
const (
	Unrelated    Relation = iota // not part of the run
	Self                         // tare, which controls the run
	Agent                        // an endpoint of a trial or its descendant, such as an external generator
	Descendant                   // any other process of the run, started by an engine or a mode
	KernelThread                 // a kernel thread
)

// Program is a classified process.
type Program struct {
	Name     string // kernel name, at most 15 characters
	Relation Relation
}

// Classify returns the name and the relation to the run of every process below procRoot.
// Its errors are those of [OtherProcesses.Read]. It takes about 30 us for each process and
// must not run during the timed part of a trial.
func Classify(procRoot string, own Own) (map[int]Program, error) {
	o := NewOtherProcesses(procRoot, own)
	s, err := o.Read()
	if err != nil {
		return nil, err
	}
	sample, ok := s.(*processSample)
	if !ok {
		return nil, fmt.Errorf("read the processes in %s: unexpected sample type %T", procRoot, s)
	}
	agents := map[int]bool{}
	for pid, p := range sample.all {
		agents[pid] = !p.kernel && sample.own[pid] && o.isAgent(pid)
	}
	out := make(map[int]Program, len(sample.all))
	for pid, p := range sample.all {
		party := Unrelated
		switch {
		case p.kernel:
			party = KernelThread
		case pid == own.PID:
			party = Self
		case sample.isDescendant(pid, agents):
			party = Agent
		case sample.own[pid]:
			party = Descendant
		}
		out[pid] = Program{Name: p.name, Relation: party}
	}
	return out, nil
}

// isDescendant reports whether a process or one of its ancestors is marked.
func (s *processSample) isDescendant(pid int, marked map[int]bool) bool {
	for at, depth := pid, 0; at > 0 && depth < len(s.all); at, depth = s.all[at].parent, depth+1 {
		if marked[at] {
			return true
		}
	}
	return false
}

// isAgent reports whether a process's command line is that of one of the run's agents.
func (o OtherProcesses) isAgent(pid int) bool {
	line, err := os.ReadFile(filepath.Join(o.root, strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	words := bytes.Split(line, []byte{0})
	return len(words) > 3 && string(words[1]) == "agent" && string(words[3]) == o.own.Run
}
