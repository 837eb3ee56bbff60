// Package process runs programs of this machine, without a shell: it starts them apart
// from the terminal, keeps the end of what they write to stderr, waits for their end from
// their start on, and ends them within a limit. What is particular to a program, such as
// the namespaces it is in or how it is asked to end, is its user's.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is a program that runs, has ended or is about to be started. New makes it; its
// exported fields are set before it is started.
type Process struct {
	Name string // for people, in errors: "charon of host a"
	// Cmd is what to start. New has put it in a process group of its own, which no Ctrl-C
	// of the terminal reaches, and has the end of its stderr kept.
	Cmd *exec.Cmd
	// Stdin and Stdout are whether it has pipes as these, for Write and for Read.
	Stdin, Stdout bool
	// Group is whether Kill ends its whole process group.
	Group bool

	stderr  Tail
	in, out *os.File
	done    chan struct{}
	err     error // of the wait for it, once done
}

// New gives a program to be started. It outlives the context of its start: it runs until
// it ends by itself or by Kill.
func New(name, program string, args ...string) *Process {
	p := &Process{Name: name, Cmd: exec.Command(program, args...), done: make(chan struct{})} //nolint:noctx // see above
	p.Cmd.SysProcAttr, p.Cmd.Stderr = apart(), &p.stderr
	return p
}

// NewSelf gives the running program to be started once more, also after its file was
// replaced where the system knows it without a path.
func NewSelf(name string, args ...string) *Process {
	program, err := self()
	p := New(name, program, args...)
	if p.Cmd.Args[0] = "tare"; err != nil {
		p.Cmd.Err = fmt.Errorf("find the running program: %w", err)
	}
	return p
}

// Start starts it by means of start, which chooses for instance its network; nil starts
// it here.
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

// StartTied starts it by means of on, which runs a function on a thread of its own, such
// as in a network namespace. On Linux the kernel kills it when this program ends, however
// that comes about. For that the thread stays with it until its end.
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
				case started <- err: // it did not come as far as that
				default:
				}
			}
		}()
		return <-started
	})
}

// pipes makes those that are asked for, and returns the program's ends of them. They are
// none of exec's: Wait must not close them under a reader.
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

// Write writes to its stdin.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// CloseStdin ends its stdin. It may be called again.
func (p *Process) CloseStdin() {
	if p.in != nil {
		p.in.Close()
	}
}

// Read reads from its stdout.
func (p *Process) Read(b []byte) (int, error) { return p.out.Read(b) }

// SetReadTimeout bounds how long reading from its stdout may take from now on.
func (p *Process) SetReadTimeout(d time.Duration) error {
	return p.out.SetReadDeadline(time.Now().Add(d))
}

// PID is its id on this machine.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is what the wait for its end came to, once it has ended: nil for an exit with 0.
func (p *Process) Err() error { return p.err }

// State is how it ended, such as "exit status 1". It has ended before.
func (p *Process) State() string { return p.Cmd.ProcessState.String() }

// StderrTail are the end of what it wrote to stderr.
func (p *Process) StderrTail() string { return strings.TrimSpace(p.stderr.String()) }

// LastLine is the last line of them.
func (p *Process) LastLine() string {
	words := p.StderrTail()
	return strings.TrimSpace(words[strings.LastIndexByte(words, '\n')+1:])
}

// ExitReason says how it ended and its last words, "" while it runs.
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

// Wait waits for its end, or returns the cause of ctx's.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrEnded is a process that has ended before it did what it is waited for.
var ErrEnded = errors.New("the process has ended")

// poll is the time between looks at what a process is waited for to do.
const poll = 3 * time.Millisecond

// WaitFor waits until something holds. Else it returns what went wrong with looking,
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

// killWithin bounds the wait for the end of a killed process, beside that for those who
// hold its output (exec.Cmd's WaitDelay).
const killWithin = 4 * time.Second

// Kill ends it at once unless it has ended, waits for that, and closes its pipes. It may
// be called again.
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
	if err := kill(p.Cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	p.CloseStdin()
	within := killWithin + p.Cmd.WaitDelay
	select {
	case <-p.done:
		return nil
	case <-time.After(within):
		return fmt.Errorf("end %s: process %d was killed and has not ended within %s", p.Name, p.PID(), within)
	}
}

// Tail keeps the end of what is written to it.
type Tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 2 << 10

// Write keeps b, and of what came before it as much as there is room for.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if extra := t.buf.Len() - tailSize; extra > 0 {
		t.buf.Next(extra)
	}
	return len(b), nil
}

// String is what has been kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
