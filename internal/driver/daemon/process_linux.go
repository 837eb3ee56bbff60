package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/process"
)

// Process is a process of a mode, in a session of its own. It is made by Self or Launch.
// All that belongs to it is below it.
type Process struct {
	*process.Process
	said func() string // finds in what it wrote what tells how it ended
}

// StartSelf starts the running program under a hidden subcommand of its own for a run, by
// means of start, which chooses the network. It takes what it needs from its stdin, and
// ends with it. args are behind the run's id.
func StartSelf(name, command, run string, start func(*exec.Cmd) error, args ...string) (*Process, error) {
	p := self(name, append([]string{command, RunFlag, run}, args...))
	p.Stdout, p.said = true, p.LastLine
	if err := p.Start(start); err != nil {
		return nil, err
	}
	return p, nil
}

// self gives the running program to be started, with nothing of the user's in its
// environment, for much of that steers programs.
func self(name string, args []string) *Process {
	p := &Process{Process: process.NewSelf(name, args...)}
	p.Cmd.Env, p.Stdin = environment(), true
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of the terminal's Ctrl-C
	return p
}

// environment is what processes of a mode are given.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/run", "LC_ALL=C"}
}

// ProgramPID is the id of the program itself, below its first process.
func (p *Process) ProgramPID() (int, error) {
	started, err := linuxnet.Children(p.PID())
	if err == nil && len(started) == 0 {
		err = errors.New("it has started none")
	}
	if err != nil {
		return 0, fmt.Errorf("find the process of %s: %w", p.Name, cmp.Or(p.CheckRunning(), err))
	}
	return started[0], nil
}

// WaitFor tries something again and again until it holds, the process has ended, ctx is
// done or within has gone by. what says what the process is waited for to do.
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
	return fmt.Errorf("wait for %s to %s: it did not within %v (%w)", p.Name, what, within, last)
}

// exitReasonTimeout is how long the end of a process may take to be known to one who has just
// met with it.
const fateWait = 500 * time.Millisecond

// ExitReason says how it ended and its last words; "" while it runs.
func (p *Process) ExitReason() string {
	ctx, cancel := context.WithTimeout(context.Background(), fateWait)
	defer cancel()
	if p.Wait(ctx) != nil {
		return ""
	}
	return fmt.Sprintf("%s has ended: %s", p.Name, cmp.Or(p.said(), p.State()))
}

// CheckRunning is an error where it has ended by itself.
func (p *Process) CheckRunning() error {
	select {
	case <-p.Done():
		return errors.New(p.ExitReason())
	default:
		return nil
	}
}

// Close ends it at once with everything below it, and waits for that. It may be called
// again, and of a Process that is nil.
func (p *Process) Close() error {
	if p == nil {
		return nil
	}
	return p.Kill()
}
