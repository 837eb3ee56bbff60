package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// Process is a process of a mode, in its own session, started by StartSelf or Launch. All
// of its descendants belong to it.
type Process struct {
	*process.Process
	said func() string // extracts from its output how it exited
}

// StartSelf starts the running program under a hidden subcommand for a run. start selects
// its network. The process reads its configuration from stdin and exits when stdin is
// closed. args follow the run's id.
func StartSelf(name, command, run string, start func(*exec.Cmd) error, args ...string) (*Process, error) {
	p := self(name, append([]string{command, RunFlag, run}, args...))
	p.Stdout, p.said = true, p.LastLine
	if err := p.Start(start); err != nil {
		return nil, err
	}
	return p, nil
}

// self returns the running program to be started without the user's environment, which
// could change how programs behave.
func self(name string, args []string) *Process {
	p := &Process{Process: process.NewSelf(name, args...)}
	p.Cmd.Env, p.Stdin = environment(), true
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C in the terminal does not reach it
	return p
}

// environment returns the environment of a mode's processes.
func environment() []string {
	return []string{"PATH=" + strings.Join(process.SystemPath(), ":"), "HOME=/run", "LC_ALL=C"}
}

// ProgramPID returns the process id of the program itself, which is a child of its init
// process.
func (p *Process) ProgramPID() (int, error) {
	started, err := linuxnet.Children(p.PID())
	if err == nil && len(started) == 0 {
		err = errors.New("it has no child process")
	}
	if err != nil {
		return 0, fmt.Errorf("find the process of %s: %w", p.Name, cmp.Or(p.CheckRunning(), err))
	}
	return started[0], nil
}

// WaitFor repeats holds until it succeeds, the process exits, ctx is done, or the timeout
// within has passed. what describes the awaited action in errors.
func (p *Process) WaitFor(ctx context.Context, within time.Duration, what string, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	err := p.Process.WaitFor(ctx, func() (bool, error) {
		last = holds()
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, process.ErrEnded):
		return errors.New(p.ExitReason())
	}
	return fmt.Errorf("wait for %s to %s: timed out after %v (%w)", p.Name, what, within, last)
}

// exitWait is how long the exit of a process may take to become known after an error was
// caused by it.
func exitWait() time.Duration { return timelimit.Scaled(500 * time.Millisecond) }

// ExitReason returns how the process exited and its last output, or "" while it runs.
func (p *Process) ExitReason() string { return FirstExit(p) }

// FirstExit returns how the first of these processes that has exited did so and its last output, or "" if all run.
func FirstExit(all ...*Process) string {
	for end := time.Now().Add(exitWait()); ; time.Sleep(3 * time.Millisecond) {
		for _, p := range all {
			select {
			case <-p.Done():
				return fmt.Sprintf("%s has ended: %s", p.Name, cmp.Or(p.said(), p.State()))
			default:
			}
		}
		if len(all) == 0 || time.Now().After(end) {
			return ""
		}
	}
}

// CheckRunning returns an error if the process has exited.
func (p *Process) CheckRunning() error {
	select {
	case <-p.Done():
		return errors.New(p.ExitReason())
	default:
		return nil
	}
}

// Close kills the process and all of its descendants and waits for the exit. It may be
// called again and on a nil Process.
func (p *Process) Close() error {
	if p == nil {
		return nil
	}
	return p.Kill()
}
