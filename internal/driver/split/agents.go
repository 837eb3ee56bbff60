package split

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/timelimit"
)

// inNamespace starts agents on a machine in a network namespace that a half has open.
type inNamespace struct {
	root transport.Launcher
	run  string
	pid  int // of the half
	fd   int // of the namespace in it
}

// Launch starts this program on the machine; it enters the namespace and becomes the agent.
func (l inNamespace) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	return l.root.Launch(ctx, append([]string{EnterCommand, "--run", l.run, strconv.Itoa(l.pid), strconv.Itoa(l.fd)}, args...)...)
}

// slowInNamespace is inNamespace where agents take longer to start.
type slowInNamespace struct {
	inNamespace
	transport.SlowLauncher
}

// launcher returns a launcher of agents in a namespace of a half.
func (f *half) launcher(fd int) transport.Launcher {
	l := inNamespace{root: f.host.Machine.Root, run: f.run, pid: f.pid, fd: fd}
	if slow, ok := l.root.(transport.SlowLauncher); ok {
		return slowInNamespace{l, slow}
	}
	return l
}

// The time limits of the first datagrams: between two hosts on the link, and through a mode,
// where a lost handshake is repeated after 5 s.
func linkTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }
func modeTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// checkReachable returns why the endpoints of the first pair do not reach each other.
func (b *both) checkReachable(ctx context.Context, p *driver.Path) error {
	err := b.exchange(ctx, p, modeTimeout())
	for _, f := range b.halves {
		if gone := f.Err(); err != nil && gone != nil {
			return fmt.Errorf("host %s: tare %s: %w (%w)", f.host.Name, Command, gone, err)
		}
	}
	return err
}

// exchange lets the endpoints of the first pair exchange datagrams over each address family.
func (b *both) exchange(ctx context.Context, p *driver.Path, wait time.Duration) error {
	first := p.Pairs[0]
	ends := [2]driver.Endpoint{first.Client, first.Server}
	agents, err := parallel(ctx, func(ctx context.Context, i int) (*agent.Client, error) {
		return agent.Start(ctx, ends[i].Launcher, b.order.Run, ends[i].Name)
	})
	defer func() {
		for _, a := range agents {
			if a != nil {
				_ = a.Close() // it exits with its namespace's half at the latest
			}
		}
	}()
	if err != nil {
		return err
	}
	for i := range first.Server.Dial {
		listen, dial := first.Server.Listen[i], first.Server.Dial[i]
		if _, err := agent.CheckReachability(ctx, agents[0], agents[1], "udp", listen, dial, wait); err != nil {
			return errors.Join(fmt.Errorf("%s cannot reach %s: %w", ends[0].Name, ends[1].Name, err), agents[0].Err(), agents[1].Err())
		}
	}
	return nil
}
