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

// Own says which processes are the run's own.
type Own struct {
	PID int    // of tare: itself and all below it, engines of its own included
	Run string // the run's id: whoever has it in the command line, as agents in containers do
	// Programs work for the run without being below it, as an engine that exists
	// does. What is below them is not the run's.
	Programs []string
	// MemoryGroups are the directories of the control groups that limit the run's
	// memory, of which collector "memory" reads what they count.
	MemoryGroups []string
}

// OtherProcesses is the collector "others": the CPU time of everything that runs beside
// the run, from /proc/PID/stat. Its figure is in CPU seconds:
//
//	cpu  of processes that are not the run's own, nor threads of the kernel
//
// The run's own are the tree below Own.PID; each process with Own.Run as a word of
// its command line, with the tree below it, and with the shim that it is in a
// container of; and Own.Programs.
//
// A process that began and ended within the window counts if its parent waited
// for it, as shells and build tools do. One that nobody waits for is missed, and so
// is what runs beyond a PID namespace: the figure is never too high by that. The
// kernel gives times in steps of 10 ms, rounded down twice for each process.
//
// A Read takes about 30 us of CPU a process (4 ms with 150), and belongs outside of
// what is timed.
type OtherProcesses struct {
	root string
	own  Own
	seen map[int]cmdlineCheck // by process id: whose command line was looked at
}

// NewOtherProcesses makes the collector over the procfs mounted at procRoot.
func NewOtherProcesses(procRoot string, own Own) OtherProcesses {
	return OtherProcesses{root: procRoot, own: own, seen: map[int]cmdlineCheck{}}
}

// Name is "others".
func (OtherProcesses) Name() string { return "others" }

// Read takes a sample. It fails where the process table cannot be read or does not
// hold the run itself, as where processes of other users are hidden.
func (o OtherProcesses) Read() (Sample, error) {
	all, err := processes(o.root)
	if err != nil {
		return nil, fmt.Errorf("read the processes in %s: %w", o.root, err)
	}
	if _, there := all[o.own.PID]; !there {
		return nil, fmt.Errorf("read the processes in %s: this one (%d) is not among them", o.root, o.own.PID)
	}
	if _, there := all[1]; !there {
		return nil, fmt.Errorf("read the processes in %s: those of other users are hidden", o.root)
	}
	return &processSample{all: all, own: o.ours(all)}, nil
}

// shim is the name of what holds a container, as the kernel cuts it off.
const shim = "containerd-shim"

// ours picks the processes that are the run's own.
func (o OtherProcesses) ours(all map[int]process) map[int]bool {
	marked := map[int]bool{o.own.PID: true}
	for pid, p := range all {
		if !p.kernel && o.named(p) {
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

// cmdlineCheck is what was found of a process's command line.
type cmdlineCheck struct {
	started uint64
	own     bool
}

// named is whether a process has the run's id among the words of its command line.
// Each process is looked at once.
func (o OtherProcesses) named(p process) bool {
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

// Explain implements [Explainer]: it names the program that spent the most.
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

// ticksByProgram is what others spent since from, in ticks, by the name of the program. What
// ended within the window is booked to the name of the parent that waited for it.
//
// A parent's account of its children grows by the whole life of a child that it
// waits for. What that child had spent before the window is in from, and is taken
// off; where nobody waited for it, that is too much, and never the other way round.
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

// Relation says what a process is to a run.
type Relation int

// The parties.
const (
	Unrelated    Relation = iota // has nothing to do with the run
	Self                         // tare, which leads the run
	Agent                        // an end of a trial, or what such an end started, as an external generator
	Descendant                   // of the run, but neither: what an engine or a mode started
	KernelThread                 // no program at all
)

// Program is a process that was looked at once.
type Program struct {
	Name     string // as the kernel keeps it, of 15 letters at most
	Relation Relation
}

// Classify looks at every process below procRoot: its name and what it is to the run.
// Its errors are those of [Others.Read]. It takes about 30 us a process, and belongs
// outside of what is timed.
func Classify(procRoot string, own Own) (map[int]Program, error) {
	o := NewOtherProcesses(procRoot, own)
	s, err := o.Read()
	if err != nil {
		return nil, err
	}
	sample, ok := s.(*processSample)
	if !ok {
		return nil, fmt.Errorf("read the processes in %s: a %T came of it", procRoot, s)
	}
	agents := map[int]bool{}
	for pid, p := range sample.all {
		agents[pid] = !p.kernel && sample.own[pid] && o.agent(pid)
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

// isDescendant is whether a process is marked or below one that is.
func (s *processSample) isDescendant(pid int, marked map[int]bool) bool {
	for at, depth := pid, 0; at > 0 && depth < len(s.all); at, depth = s.all[at].parent, depth+1 {
		if marked[at] {
			return true
		}
	}
	return false
}

// agent is whether the command line of a process is that of one of the run's agents.
func (o OtherProcesses) agent(pid int) bool {
	line, err := os.ReadFile(filepath.Join(o.root, strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	words := bytes.Split(line, []byte{0})
	return len(words) > 3 && string(words[1]) == "agent" && string(words[3]) == o.own.Run
}
