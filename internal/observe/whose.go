package observe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Party says what a process is to a run.
type Party int

// The parties.
const (
	Stranger     Party = iota // has nothing to do with the run
	Self                      // tare, which leads the run
	Agent                     // an end of a trial, or what such an end started, as an external generator
	Kin                       // of the run, but neither: what an engine or a mode started
	KernelThread              // no program at all
)

// Program is a process that was looked at once.
type Program struct {
	Name  string // as the kernel keeps it, of 15 letters at most
	Party Party
}

// Programs looks at every process below procRoot: its name and what it is to the run.
// Its errors are those of [Others.Read]. It takes about 30 us a process, and belongs
// outside of what is timed.
func Programs(procRoot string, own Own) (map[int]Program, error) {
	o := NewOthers(procRoot, own)
	s, err := o.Read()
	if err != nil {
		return nil, err
	}
	sample, ok := s.(*othersSample)
	if !ok {
		return nil, fmt.Errorf("read the processes in %s: a %T came of it", procRoot, s)
	}
	agents := map[int]bool{}
	for pid, p := range sample.all {
		agents[pid] = !p.kernel && sample.own[pid] && o.agent(pid)
	}
	out := make(map[int]Program, len(sample.all))
	for pid, p := range sample.all {
		party := Stranger
		switch {
		case p.kernel:
			party = KernelThread
		case pid == own.PID:
			party = Self
		case sample.below(pid, agents):
			party = Agent
		case sample.own[pid]:
			party = Kin
		}
		out[pid] = Program{Name: p.name, Party: party}
	}
	return out, nil
}

// below is whether a process is marked or below one that is.
func (s *othersSample) below(pid int, marked map[int]bool) bool {
	for at, depth := pid, 0; at > 0 && depth < len(s.all); at, depth = s.all[at].parent, depth+1 {
		if marked[at] {
			return true
		}
	}
	return false
}

// agent is whether the command line of a process is that of one of the run's agents.
func (o Others) agent(pid int) bool {
	line, err := os.ReadFile(filepath.Join(o.root, strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	words := bytes.Split(line, []byte{0})
	return len(words) > 3 && string(words[1]) == "agent" && string(words[3]) == o.own.Run
}
