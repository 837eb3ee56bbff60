// Package process runs programs on this machine without a shell. It starts them in their
// own process group, keeps the end of their stderr, waits for their exit from the start on,
// and kills them within a time limit. What is specific to a program, such as its namespaces
// or how to stop it cleanly, is up to the caller.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"tare/internal/timelimit"
)

// Process is a program that is about to be started, runs, or has exited. It is created by
// New; set its exported fields before Start.
type Process struct {
	Name string // shown in errors, such as "charon of host a"
	// Cmd is the command to start. New has put it into its own process group, which Ctrl-C
	// in the terminal does not reach, and keeps the end of its stderr.
	Cmd *exec.Cmd
	// Stdin and Stdout select pipes for Write and Read.
	Stdin, Stdout bool
	// Group makes Kill kill the whole process group.
	Group bool

	stderr  Tail
	in, out *os.File
	done    chan struct{}
	err     error // of Cmd.Wait, once done is closed
}

// New returns a program to start. It does not end with the context of its start: it runs
// until it exits or Kill is called.
func New(name, program string, args ...string) *Process {
	p := &Process{Name: name, Cmd: exec.Command(program, args...), done: make(chan struct{})} //nolint:noctx // see above
	p.Cmd.SysProcAttr, p.Cmd.Stderr = apart(), &p.stderr
	return p
}

// NewSelf returns the running program, to be started once more. Where the system can start
// it without a path, this works even if its file was replaced.
func NewSelf(name string, args ...string) *Process {
	program, err := self()
	p := New(name, program, args...)
	if p.Cmd.Args[0] = "tare"; err != nil {
		p.Cmd.Err = fmt.Errorf("find the running program: %w", err)
	}
	return p
}

// Start starts the process with start, which for instance selects its network namespace;
// nil starts it directly.
func (p *Process) Start(start func(*exec.Cmd) error) error {
	if start == nil {
		start = (*exec.Cmd).Start
	}
	theirs, err := p.pipes()
	if err == nil {
		err = start(p.Cmd)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() {
		p.err = p.Cmd.Wait()
		close(p.done)
	}()
	return nil
}

// StartTied starts the process on a thread that on provides, for instance in a network
// namespace. On Linux the kernel kills the process when this program ends, for whatever
// reason. The thread is kept until the process exits.
func (p *Process) StartTied(on func(func() error) error) error {
	tie(p.Cmd.SysProcAttr)
	return p.Start(func(cmd *exec.Cmd) error {
		started := make(chan error, 1)
		go func() {
			err := on(func() error {
				err := cmd.Start()
				started <- err
				if err == nil {
					<-p.done
				}
				return err
			})
			if err != nil {
				select {
				case started <- err: // cmd.Start was not reached
				default:
				}
			}
		}()
		return <-started
	})
}

// Output runs the process to its end and returns what it wrote to stdout. It is killed when ctx
// is done, which the error then tells, and on Linux also by the kernel when this program ends.
// Any exit status but 0 is an error, and so is more than maxOutput.
func (p *Process) Output(ctx context.Context) (string, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := limited{end: end}
	p.Cmd.Stdout, p.Cmd.WaitDelay = &out, killTimeout()
	err := p.StartTied(func(start func() error) error {
		runtime.LockOSThread() // the kernel kills the process when its thread ends
		defer runtime.UnlockOSThread()
		return start()
	})
	if err != nil {
		return "", err
	}
	if err := p.Wait(ctx); err != nil {
		return "", errors.Join(err, p.Kill())
	}
	if out.full { // it ended before it was killed
		return "", errTooMuch
	}
	return out.buf.String(), p.err
}

// maxOutput is more than any program has to say, in bytes.
const maxOutput = 64 << 20

var errTooMuch = fmt.Errorf("it wrote more than %d MB", maxOutput>>20)

// limited keeps what is written to it, up to maxOutput, and then ends the process that writes.
type limited struct {
	buf  bytes.Buffer
	full bool
	end  context.CancelCauseFunc
}

// Write drops what is too much, so that the process can be killed while it writes.
func (l *limited) Write(b []byte) (int, error) {
	if l.full = l.full || l.buf.Len()+len(b) > maxOutput; l.full {
		l.end(errTooMuch)
		return len(b), nil
	}
	return l.buf.Write(b)
}

// pipes creates the requested pipes and returns the process's ends. They are not exec's
// pipes, because Wait must not close them while they are being read.
func (p *Process) pipes() (theirs []*os.File, err error) {
	if p.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		theirs, p.in, p.Cmd.Stdin = append(theirs, r), w, r
	}
	if p.Stdout {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs, p.out, p.Cmd.Stdout = append(theirs, w), r, w
	}
	return theirs, nil
}

func (p *Process) closePipes() {
	p.CloseStdin()
	if p.out != nil {
		p.out.Close()
	}
}

// Write writes to stdin.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// CloseStdin closes stdin. It may be called again.
func (p *Process) CloseStdin() {
	if p.in != nil {
		p.in.Close()
	}
}

// Read reads from stdout.
func (p *Process) Read(b []byte) (int, error) { return p.out.Read(b) }

// SetReadTimeout sets how long reads from stdout may take, counted from now.
func (p *Process) SetReadTimeout(d time.Duration) error {
	return p.out.SetReadDeadline(time.Now().Add(d))
}

// SetReadDeadline sets until when reads from stdout wait; the zero time is for ever.
func (p *Process) SetReadDeadline(t time.Time) error { return p.out.SetReadDeadline(t) }

// SetWriteDeadline sets until when writes to stdin wait; the zero time is for ever.
func (p *Process) SetWriteDeadline(t time.Time) error { return p.in.SetWriteDeadline(t) }

// PID returns the process id.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

// Done returns a channel that is closed when the process has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns the result of Cmd.Wait once the process has exited: nil for exit status 0.
func (p *Process) Err() error { return p.err }

// State returns how the process exited, such as "exit status 1". Call it only after the
// exit.
func (p *Process) State() string { return p.Cmd.ProcessState.String() }

// StderrTail returns the end of what the process wrote to stderr.
func (p *Process) StderrTail() string { return strings.TrimSpace(p.stderr.String()) }

// LastLine returns the last line of StderrTail.
func (p *Process) LastLine() string {
	words := p.StderrTail()
	return strings.TrimSpace(words[strings.LastIndexByte(words, '\n')+1:])
}

// ExitReason returns how the process exited and the end of its stderr, or "" while it runs.
func (p *Process) ExitReason() string {
	select {
	case <-p.done:
	default:
		return ""
	}
	fate := p.State()
	if words := p.StderrTail(); words != "" {
		fate += ": " + words
	}
	return fate
}

// Wait waits until the process has exited, or returns the cause of ctx's end.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrEnded reports that a process exited before the awaited condition was met.
var ErrEnded = errors.New("the process has exited")

// poll is the interval at which WaitFor checks its condition.
const poll = 3 * time.Millisecond

// WaitFor waits until holds returns true. Otherwise it returns the error of holds,
// ErrEnded, or the cause of ctx's end.
func (p *Process) WaitFor(ctx context.Context, holds func() (bool, error)) error {
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		if done, err := holds(); done || err != nil {
			return err
		}
		select {
		case <-p.done:
			return ErrEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

// killTimeout limits the wait for a killed process to exit, in addition to exec.Cmd's
// WaitDelay, which covers processes that still hold its output.
func killTimeout() time.Duration { return timelimit.Scaled(4 * time.Second) }

// Kill kills the process unless it has exited, waits for the exit, and closes its pipes. It
// may be called again.
func (p *Process) Kill() error {
	defer p.closePipes()
	select {
	case <-p.done:
		return nil
	default:
	}
	kill := (*os.Process).Kill
	if p.Group {
		kill = killGroup
	}
	err := kill(p.Cmd.Process)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	p.CloseStdin()
	within := killTimeout() + p.Cmd.WaitDelay
	select {
	case <-p.done: // also if it exited just before: Windows then has other errors than ErrProcessDone
		return nil
	case <-time.After(within):
		if err != nil {
			return fmt.Errorf("end %s: %w", p.Name, err)
		}
		return fmt.Errorf("end %s: process %d was killed and did not exit within %s", p.Name, p.PID(), within)
	}
}

// Tail keeps the last part of what is written to it.
type Tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 2 << 10

// Write appends b and drops the oldest bytes beyond tailSize.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if extra := t.buf.Len() - tailSize; extra > 0 {
		t.buf.Next(extra)
	}
	return len(b), nil
}

// String returns the bytes that were kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
