package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// launcher starts the copy of this program on a machine.
type launcher struct {
	r    *remote
	sudo bool
}

// handshakeTimeout is how long an agent on another machine may take for its handshake, on a slow
// machine at the other end of a slow network.
func handshakeTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// HandshakeTimeout bounds the wait for an agent's handshake.
func (launcher) HandshakeTimeout() time.Duration { return handshakeTimeout() }

// Launch starts the program with args over a channel of the connection. ctx bounds only the start.
func (l launcher) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	c, err := l.r.current()
	if err != nil {
		return nil, err
	}
	ch, err := l.r.start(ctx, c, l.sudo, args)
	if err != nil {
		return nil, err
	}
	return ch, nil
}

// start starts the program with args, and returns when it is about to run. If the server allows no
// more channels in the connection, it makes another one.
func (r *remote) start(ctx context.Context, c *connection, sudo bool, args []string) (*channel, error) {
	command, err := c.shell.launch(c.marker, c.program, args, sudo)
	if err != nil {
		return nil, fmt.Errorf("start tare on machine %s: %w", r.name, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout(), fmt.Errorf("no answer within %s", handshakeTimeout()))
	defer cancel()
	for {
		shared := c.newest()
		shared.used.Add(1)
		p, err := shared.ssh.channel(command)
		if err != nil {
			shared.used.Add(-1)
			return nil, r.explain("start tare on", "", err)
		}
		ch := &channel{Process: p, login: shared.process, r: r, c: c, out: newLines(p, c.marker)}
		err = within(ctx, p, func() error {
			_, _, err := ch.out.next()
			return err
		})
		if err == nil {
			return ch, nil
		}
		if errors.Is(err, io.EOF) {
			_ = ch.Wait(ctx) // its output has ended
			err = errors.New(ch.ExitReason())
		}
		refused := strings.Contains(ch.StderrTail(), refusedChannel)
		shared.used.Add(-1)
		if err := errors.Join(fmt.Errorf("start tare on machine %s: %w", r.name, err), ch.Kill()); !refused {
			return nil, err
		}
		if err := r.another(ctx, c, shared); err != nil {
			return nil, err
		}
	}
}

// channel is a program on the other side, which exits when its stdin is closed.
type channel struct {
	*process.Process
	login *process.Process // whose connection it uses
	r     *remote
	c     *connection
	out   *lines
}

// Read reads the program's stdout, without what the user's shell wrote first.
func (c *channel) Read(b []byte) (int, error) { return c.out.r.Read(b) }

// Close ends the program by closing its stdin, and ends the channel if it has not exited when ctx
// ends. The program then exits by itself.
func (c *channel) Close(ctx context.Context) error {
	c.CloseStdin()
	_ = c.Wait(ctx) // if it has not exited, Kill ends the channel
	return c.Kill()
}

// refusedChannel is what ssh writes if the server allows no more channels in a connection, which
// MaxSessions of its configuration limits to 10 unless it says otherwise.
const refusedChannel = "Session open refused by peer"

// cutTimeout bounds the wait for the end of a login after that of one of its channels.
func cutTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// ExitReason returns how the program ended and the end of its stderr, "" while it runs.
func (c *channel) ExitReason() string {
	reason := c.Process.ExitReason()
	if reason == "" {
		return ""
	}
	if c.Cmd.ProcessState.ExitCode() == sshFailed && !strings.Contains(c.StderrTail(), refusedChannel) {
		// If the connection is lost, the login ends too, but perhaps later.
		select {
		case <-c.login.Done():
		case <-time.After(cutTimeout()):
		}
	}
	if err := c.r.cut(c.c); err != nil {
		return err.Error()
	}
	return oneLine(reason)
}
