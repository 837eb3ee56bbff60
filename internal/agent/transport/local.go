package transport

import (
	"context"
	"os"
	"os/exec"
	"time"

	"tare/internal/process"
)

// killTimeout bounds the wait for the last words of an agent that was ended by force.
const killTimeout = 5 * time.Second

// Local starts agents as processes of this machine.
type Local struct {
	// Start starts the command where it belongs, such as in a network
	// namespace; nil starts it here.
	Start func(*exec.Cmd) error
}

// Launch starts the running program with args. ctx bounds only the start: the
// agent lives until Close, or until this process is gone.
func (l Local) Launch(_ context.Context, args ...string) (Conn, error) {
	p := process.NewSelf("agent", args...)
	// The runtime interrupts a thread that is long in one piece of code, which a
	// raw system call is to it: 100 needless wake-ups a second at each idle end.
	p.Cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	p.Cmd.WaitDelay, p.Stdin, p.Stdout = killTimeout, true, true
	if err := p.Start(l.Start); err != nil {
		return nil, err
	}
	return local{p}, nil
}

// local is an agent that ends with its stdin. That it is in a process group of its own
// keeps the terminal's Ctrl-C for the controller, which ends its agents in order.
type local struct{ *process.Process }

func (l local) Close(ctx context.Context) error {
	l.CloseStdin()
	_ = l.Wait(ctx) // if it has not ended then it does now
	return l.Kill()
}
