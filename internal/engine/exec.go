package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// killTimeout bounds how long a killed agent may take to exit.
func killTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// Launch starts this program with args as another process of the container. It runs until Close, or
// until the container ends; ctx bounds only the start.
func (c *Container) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	token := rand.Text()
	made, err := c.engine.api.ExecCreate(ctx, c.ID, client.ExecCreateOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true, Cmd: append([]string{Program}, args...),
		Env: []string{transport.Environment, agent.TokenVariable + "=" + token},
	})
	if err != nil {
		return nil, c.engine.fail(err, "start a process in container %s", c.Name)
	}
	at := time.Now()
	attached, err := c.engine.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, c.engine.fail(err, "start a process in container %s", c.Name)
	}
	x := &execution{container: c, id: made.ID, token: token, at: at, io: attached.HijackedResponse, ended: make(chan struct{})}
	x.out, x.in = io.Pipe()
	go x.copy()
	return x, nil
}

// execution is a process started in a container, with its stdio.
type execution struct {
	container *Container
	id, token string
	at        time.Time
	io        client.HijackedResponse
	out       *io.PipeReader
	in        *io.PipeWriter
	words     process.Tail
	ended     chan struct{} // closed when reason is set
	reason    string
	half      sync.Once
}

// copy separates the process's output into stdout and the last part of stderr.
func (x *execution) copy() {
	err := separate(x.in, &x.words, x.io.Reader)
	x.in.Close()
	x.reason = x.exitReason(err)
	x.io.Close()
	close(x.ended)
}

func (x *execution) Read(b []byte) (int, error)  { return x.out.Read(b) }
func (x *execution) Write(b []byte) (int, error) { return x.io.Conn.Write(b) }

// Close closes the process's stdin, and kills the process if it still runs when ctx ends.
func (x *execution) Close(ctx context.Context) error {
	// An error means that the connection is closed, and the process has exited.
	x.half.Do(func() { _ = x.io.CloseWrite() })
	// Otherwise unread output would keep copy from reaching the end.
	defer x.out.Close()
	select {
	case <-x.ended:
		return nil
	case <-ctx.Done():
	}
	x.out.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout())
	defer cancel()
	err := x.kill(ctx)
	select {
	case <-x.ended:
		return nil
	case <-ctx.Done():
	}
	x.io.Close()
	return errors.Join(fmt.Errorf("end the agent in container %s: it still runs after %s", x.container.Name, killTimeout()), err)
}

// kill kills the process from within its container.
func (x *execution) kill(ctx context.Context) error {
	e := x.container.engine
	made, err := e.api.ExecCreate(ctx, x.container.ID, client.ExecCreateOptions{Cmd: append([]string{Program}, agent.KillAgentArguments(x.token)...)})
	if err == nil {
		_, err = e.api.ExecStart(ctx, made.ID, client.ExecStartOptions{Detach: true})
	}
	if err != nil {
		return e.fail(err, "kill the agent in container %s", x.container.Name)
	}
	return nil
}

// ExitReason returns how the process exited, "" while it runs.
func (x *execution) ExitReason() string {
	select {
	case <-x.ended:
		return x.reason
	default:
		return ""
	}
}
