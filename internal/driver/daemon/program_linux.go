package daemon

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Program is an installed program to run.
type Program struct {
	Name  string // for people
	Run   string // the run's id
	Path  string
	Args  []string
	Env   []string          // beside PATH, HOME and LC_ALL
	Dirs  []string          // directories of its /run that have to be there
	Files map[string]string // files of its /run, by their paths below it; only root reads them
	Binds map[string]string // files of this machine to be found in its /run, by their paths below it
	Start func(*exec.Cmd) error
}

// orders is the line by which the first process learns what nobody is to see on a
// command line.
type orders struct {
	Env   []string          `json:"env"`
	Dirs  []string          `json:"dirs"`
	Files map[string]string `json:"files"`
	Binds map[string]string `json:"binds"`
}

// Launch starts the program. How far it has come, its /run tells.
func (g Program) Launch() (*Process, error) {
	p := self(g.Name, append([]string{Command, RunFlag, g.Run, "--", g.Path}, g.Args...))
	p.Cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	p.Cmd.Stdout = p.Cmd.Stderr // nobody reads it
	p.said = func() string { return ended(p.StderrTail()) }
	if err := p.Start(g.Start); err != nil {
		return nil, err
	}
	line, err := json.Marshal(orders{g.Env, g.Dirs, g.Files, g.Binds})
	if err == nil {
		_, err = p.Write(append(line, '\n'))
	}
	if err != nil {
		if fate := p.ExitReason(); fate != "" {
			err = fmt.Errorf("%s (%w)", fate, err)
		}
		p.Close()
		return nil, fmt.Errorf("start %s: %w", g.Name, err)
	}
	return p, nil
}

// RunDir is the /run of an installed program, as seen from here.
func (p *Process) RunDir() string {
	return filepath.Join("/proc", strconv.Itoa(p.PID()), "root/run")
}

// ended finds in the last words of a program and of its first process how it ended and,
// where it ended by itself, what it said last.
func ended(text string) string {
	var fate, last string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if own, ok := strings.CutPrefix(line, initWords); ok {
			fate = own
		} else if line != "" {
			last = line
		}
	}
	if fate == "" || last == "" || strings.Contains(fate, "signal: ") {
		return fate
	}
	const longest = 300
	if len(last) > longest {
		last = strings.ToValidUTF8(last[:longest], "") + "..."
	}
	return fate + ": " + last
}
