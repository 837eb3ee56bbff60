package transport

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"tare/internal/process"
	"tare/internal/program/agentfile"
	"tare/internal/timelimit"
)

// killTimeout bounds the wait for the last output of an agent that was killed.
func killTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// Local starts agents as processes of this machine.
type Local struct {
	// Start starts the command in its place, such as a network namespace; nil starts it in this
	// process's own.
	Start func(*exec.Cmd) error
	// Namespace is the path of the network namespace that Start selects, for a process that
	// another one starts there; empty if there is none or it has no path.
	Namespace string
}

// Launch starts the running program with args, or for an agent the agent's program, if there is
// one. ctx bounds only the start: the agent runs until Close, or until this process exits.
func (l Local) Launch(_ context.Context, args ...string) (Conn, error) {
	if len(args) > 0 && args[0] == AgentCommand {
		if path, err := agentfile.Path(); err == nil {
			p := process.New("agent", path, args...)
			p.Cmd.Args[0] = "tare"
			conn, err := l.start(p)
			if !errors.Is(err, fs.ErrPermission) {
				return conn, err
			}
			// Some security policies forbid to execute what is in memory only.
		}
	}
	return l.start(process.NewSelf("agent", args...))
}

func (l Local) start(p *process.Process) (Conn, error) {
	p.Cmd.Env = append(os.Environ(), Environment)
	p.Cmd.WaitDelay, p.Stdin, p.Stdout = killTimeout(), true, true
	if err := p.Start(l.Start); err != nil {
		return nil, err
	}
	return local{p}, nil
}

// local is an agent that exits when its stdin is closed. It has its own process group, so that
// Ctrl-C in the terminal reaches only the controller, which ends its agents in order.
type local struct{ *process.Process }

func (l local) Close(ctx context.Context) error {
	l.CloseStdin()
	_ = l.Wait(ctx) // if it has not exited, Kill ends it
	return l.Kill()
}
