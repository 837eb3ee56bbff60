package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// forcedWait bounds the wait for the end of an agent that was ended by force, and for
// that of its last words.
const forcedWait = 5 * time.Second

// Local starts agents as processes of this machine.
type Local struct {
	// Start starts the command where it belongs, such as in a network
	// namespace; nil starts it here.
	Start func(*exec.Cmd) error
}

// Launch starts the running program with args. ctx bounds only the start: the
// agent lives until Close, or until this process is gone.
func (l Local) Launch(_ context.Context, args ...string) (Conn, error) {
	program, err := self()
	if err != nil {
		return nil, fmt.Errorf("start agent: find the running program: %w", err)
	}
	// No CommandContext: the agent outlives the context of its start.
	cmd := exec.Command(program, args...) //nolint:noctx // see above
	cmd.Args[0] = "tare"
	// A group of its own keeps the terminal's Ctrl-C for the controller, which
	// ends its agents in order.
	cmd.SysProcAttr = apart()
	// The runtime interrupts a thread that is long in one piece of code, which a
	// raw system call is to it: 100 needless wake-ups a second at each idle end.
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr, cmd.WaitDelay = &p.words, forcedWait
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	// An os.Pipe instead of StdoutPipe: Wait must not close it under a reader.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	defer w.Close()
	cmd.Stdout = w
	p.in, p.out = in, out
	start := l.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		out.Close()
		return nil, fmt.Errorf("start agent: %w", err)
	}
	go p.wait()
	return p, nil
}

type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *os.File
	words Tail
	ended chan struct{}
	close sync.Once
}

func (p *process) wait() {
	// The state that Wait leaves behind is what Fate tells.
	_ = p.cmd.Wait()
	close(p.ended)
}

func (p *process) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p *process) Close(ctx context.Context) error {
	p.close.Do(func() { p.in.Close() })
	defer p.out.Close()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end agent %d: %w", p.cmd.Process.Pid, err)
	}
	// Its end, and then that of its words.
	select {
	case <-p.ended:
		return nil
	case <-time.After(2 * forcedWait):
		return fmt.Errorf("end agent %d: it is still there %s after it was ended by force", p.cmd.Process.Pid, 2*forcedWait)
	}
}

func (p *process) Fate() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	fate := p.cmd.ProcessState.String()
	if words := strings.TrimSpace(p.words.String()); words != "" {
		fate += ": " + words
	}
	return fate
}
