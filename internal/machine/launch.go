package machine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/process"
)

// launcher starts the copy of this program on a machine.
type launcher struct {
	r    *remote
	sudo bool
}

// handshakeTimeout is how long an agent on another machine may take for its handshake, on a slow
// machine at the other end of a slow network.
const handshakeTimeout = 15 * time.Second

// HandshakeTimeout bounds the wait for an agent's handshake.
func (launcher) HandshakeTimeout() time.Duration { return handshakeTimeout }

// Launch starts the program with args over a channel of the connection. ctx bounds only the start.
func (l launcher) Launch(_ context.Context, args ...string) (transport.Conn, error) {
	c, err := l.r.current()
	if err != nil {
		return nil, err
	}
	ch, err := l.r.start(c, l.sudo, args)
	if err != nil {
		return nil, err
	}
	return ch, nil
}

// start starts the program with args.
func (r *remote) start(c *connection, sudo bool, args []string) (*channel, error) {
	command, err := c.shell.launch(c.marker, c.program, args, sudo)
	if err != nil {
		return nil, fmt.Errorf("start tare on machine %s: %w", r.name, err)
	}
	p, err := c.ssh.channel(command)
	if err != nil {
		return nil, r.explain("start tare on", "", err)
	}
	return &channel{Process: p, r: r, c: c, out: newLines(p, c.marker)}, nil
}

// channel is a program on the other side, which exits when its stdin is closed.
type channel struct {
	*process.Process
	r *remote
	c *connection

	begin sync.Once
	out   *lines
	err   error // of the beginning
}

// Read reads the program's stdout, without what the user's shell wrote first.
func (c *channel) Read(b []byte) (int, error) {
	c.begin.Do(func() { _, _, c.err = c.out.next() })
	if c.err != nil {
		return 0, c.err
	}
	return c.out.r.Read(b)
}

// Close ends the program by closing its stdin, and ends the channel if it has not exited when ctx
// ends. The program then exits by itself.
func (c *channel) Close(ctx context.Context) error {
	c.CloseStdin()
	_ = c.Wait(ctx) // if it has not exited, Kill ends the channel
	return c.Kill()
}

// refusedChannel is what ssh writes if the server allows no more channels in a connection.
const refusedChannel = "Session open refused by peer"

// ExitReason returns how the program ended and the end of its stderr, "" while it runs.
func (c *channel) ExitReason() string {
	reason := c.Process.ExitReason()
	if reason == "" {
		return ""
	}
	if err := c.r.cut(c.c); err != nil {
		return err.Error()
	}
	if words := c.StderrTail(); c.Cmd.ProcessState.ExitCode() == sshFailed && strings.Contains(words, refusedChannel) {
		return "the ssh server allows no more channels in one connection; raise MaxSessions in its sshd_config"
	}
	return oneLine(reason)
}
