package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/process"
)

// duel is one run of a peer: its server in b, its client in a.
type duel struct {
	server, client []string
	proto          string // in which the server listens: tcp or udp
	port           int    // at which it does
	// linger is what the server gets to say its figures before it is told to
	// end; those that end by themselves are not held up.
	linger time.Duration
}

// outcomes of a duel.
type outcomes struct {
	client, server string        // their standard output
	cpu            time.Duration // of both, their starts included
}

// The waits of a duel.
const (
	listenWait = 5 * time.Second
	runWait    = 30 * time.Second
	endWait    = 3 * time.Second
)

// peer runs a peer once, its ends pinned as told.
func (s *stand) peer(ctx context.Context, at placed, d duel) (outcomes, error) {
	ctx, cancel := context.WithTimeout(ctx, runWait)
	defer cancel()
	server, err := begin(s.lab.B, at.server, d.server)
	if err != nil {
		return outcomes{}, err
	}
	if err := server.listening(ctx, d.proto, d.port); err != nil {
		_ = server.end(0) // what it said is known when it has ended
		return outcomes{}, fmt.Errorf("%w%s", err, server.words())
	}
	client, err := begin(s.lab.A, at.client, d.client)
	if err != nil {
		return outcomes{}, errors.Join(err, server.end(0))
	}
	cerr := client.finish(ctx)
	serr := server.end(d.linger)
	if cerr != nil {
		return outcomes{}, fmt.Errorf("%w%s", cerr, server.words())
	}
	if serr != nil {
		return outcomes{}, serr
	}
	o := outcomes{client: client.out.String(), server: server.out.String()}
	for _, p := range []*proc{client, server} {
		o.cpu += p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
	}
	return o, nil
}

// proc is a started end of a peer.
type proc struct {
	*process.Process
	out, err bytes.Buffer
}

// begin starts a command in a host, pinned to cpu. The thread that starts it is
// pinned, and the command inherits that: no wrapper whose CPU time would count.
func begin(h *lab.Host, cpu int, line []string) (*proc, error) {
	p := &proc{Process: process.New(line[0], line[0], line[1:]...)}
	p.Cmd.Stdout, p.Cmd.Stderr = &p.out, &p.err
	p.Cmd.WaitDelay = time.Second
	err := p.StartTied(func(fn func() error) error {
		return h.NS.Do(func() error {
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				return fmt.Errorf("pin to CPU %d: %w", cpu, err)
			}
			return fn()
		})
	})
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: scripts/setup-bench installs it", err)
	}
	return p, err
}

// listening waits until the process's namespace has the port open. To try it
// would count as a client with those that serve only one.
func (p *proc) listening(ctx context.Context, proto string, port int) error {
	mark := fmt.Sprintf(":%04X ", port)
	ctx, cancel := context.WithTimeoutCause(ctx, listenWait, fmt.Errorf("%s does not listen on %s port %d after %s", p.Name, proto, port, listenWait))
	defer cancel()
	return p.WaitFor(ctx, func() (bool, error) {
		for _, family := range []string{"", "6"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s%s", p.PID(), proto, family))
			if err == nil && strings.Contains(string(text), mark) {
				return true, nil
			}
		}
		return false, nil
	})
}

// finish waits for the process to end by itself, and kills it with ctx.
func (p *proc) finish(ctx context.Context) error {
	if err := p.Wait(ctx); err != nil {
		return errors.Join(err, p.Kill())
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("%s: %w%s", strings.Join(p.Cmd.Args, " "), err, p.words())
	}
	return nil
}

// end waits for the process to end by itself within linger, then tells it to.
func (p *proc) end(linger time.Duration) error {
	select {
	case <-p.Done():
		return p.finish(context.Background())
	case <-time.After(linger):
	}
	_ = p.Cmd.Process.Signal(unix.SIGTERM) // it may have ended just now
	select {
	case <-p.Done(): // how it ends when told to is its own affair
		return nil
	case <-time.After(endWait):
		return p.Kill()
	}
}

// words are the last of what it said, for the end of an error.
func (p *proc) words() string {
	text := strings.Join(strings.Fields(p.err.String()+" "+p.out.String()), " ")
	if text == "" {
		return ""
	}
	return ": " + text[max(0, len(text)-300):]
}
