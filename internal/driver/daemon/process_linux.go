package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/linuxnet"
)

// Process is a process of a mode. It is made by Launch.
type Process struct {
	Name  string // for people, such as "charon of host a"
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *os.File
	words transport.Tail
	said  func(string) string
	done  chan struct{}
	kill  sync.Once
}

// launch starts the running program as cmd says, by means of start, which chooses the
// network. said finds in what was written to stderr, and with all also to stdout, what
// tells how the process ended.
func launch(name string, cmd *exec.Cmd, all bool, start func(*exec.Cmd) error, said func(string) string) (*Process, error) {
	p := &Process{Name: name, cmd: cmd, said: said, done: make(chan struct{})}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	// An os.Pipe instead of StdoutPipe: Wait must not close it under a reader.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer w.Close()
	p.in, p.out = in, out
	cmd.Stdout, cmd.Stderr = w, &p.words
	if all {
		cmd.Stdout = &p.words // nobody reads it
	}
	if err := start(cmd); err != nil {
		out.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		// The state that Wait leaves behind is what Fate tells.
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Self starts the running program under a hidden subcommand of its own for a run. It
// takes what it needs from its stdin, and ends with it. args are behind the run's id.
func Self(name, command, run string, start func(*exec.Cmd) error, args ...string) (*Process, error) {
	// No CommandContext: the process outlives the context of its start.
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // see above
	cmd.Args = append([]string{"tare", command, RunFlag, run}, args...)
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of the terminal's Ctrl-C
	return launch(name, cmd, false, start, lastLine)
}

// environment is what processes of a mode are given: nothing of the user's, for much of
// that steers programs.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/run", "LC_ALL=C"}
}

// Write writes to the stdin of the process.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Read reads from its stdout.
func (p *Process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Within bounds how long reading from its stdout may take from now on.
func (p *Process) Within(d time.Duration) error { return p.out.SetReadDeadline(time.Now().Add(d)) }

// PID is its id on this machine. All that belongs to it is below.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Program is the id of the program itself, below its first process.
func (p *Process) Program() (int, error) {
	started, err := linuxnet.Children(p.PID())
	if err == nil && len(started) == 0 {
		err = errors.New("it has started none")
	}
	if err != nil {
		return 0, fmt.Errorf("find the process of %s: %w", p.Name, cmp.Or(p.Running(), err))
	}
	return started[0], nil
}

// Until tries something again and again until it holds, the process has ended, ctx is
// done or within has gone by. what says what the process is waited for to do.
func (p *Process) Until(ctx context.Context, within time.Duration, what string, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	again := time.NewTicker(3 * time.Millisecond)
	defer again.Stop()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return errors.New(p.Fate())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to %s: it did not within %v (%w)", p.Name, what, within, err)
		case <-again.C:
		}
	}
}

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// fateWait is how long the end of a process may take to be known to one who has just
// met with it.
const fateWait = 100 * time.Millisecond

// Fate says how it ended and its last words; "" while it runs.
func (p *Process) Fate() string {
	timeout := time.NewTimer(fateWait)
	defer timeout.Stop()
	select {
	case <-p.done:
	case <-timeout.C:
		return ""
	}
	how := p.cmd.ProcessState.String()
	if said := p.said(p.words.String()); said != "" {
		how = said
	}
	return fmt.Sprintf("%s has ended: %s", p.Name, how)
}

// Running is an error where it has ended by itself.
func (p *Process) Running() error {
	select {
	case <-p.done:
		return errors.New(p.Fate())
	default:
		return nil
	}
}

// Words are the last of what it wrote to stderr.
func (p *Process) Words() string { return p.words.String() }

// endWithin bounds the wait for the end of a killed process.
const endWithin = 4 * time.Second

// Close ends it at once with everything below it, and waits for that. It may be called
// again, and of a Process that is nil.
func (p *Process) Close() (err error) {
	if p == nil {
		return nil
	}
	p.kill.Do(func() {
		defer p.out.Close()
		if killed := p.cmd.Process.Kill(); killed != nil && !errors.Is(killed, os.ErrProcessDone) {
			err = fmt.Errorf("end %s: %w", p.Name, killed)
			return
		}
		_ = p.in.Close() // it is closed already where the process has ended by itself
		timeout := time.NewTimer(endWithin)
		defer timeout.Stop()
		select {
		case <-p.done:
		case <-timeout.C:
			err = fmt.Errorf("end %s: process %d was killed and has not ended within %v", p.Name, p.PID(), endWithin)
		}
	})
	return err
}

// lastLine is the last line of a text.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
