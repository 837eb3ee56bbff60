//go:build linux

package engines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// sharedCgroup starts agents in a container of a lab, where both endpoints share the CPUs
// of one machine, and has them scheduled like those of every other mode.
type sharedCgroup struct {
	container *engine.Container
	engine    *private.Engine
	who       string // what the engine is called in messages
	// leave is the container's network namespace if its agents leave all of its control groups,
	// else nil.
	leave *linuxnet.NS
}

// sharedTimeout limits how long an engine may take to start an agent, on a real CPU; sharedPoll is the
// polling interval.
const (
	sharedTimeout = 5 * time.Second
	sharedPoll    = 2 * time.Millisecond
)

// Launch starts an agent in the container.
func (t sharedCgroup) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	conn, err := t.container.Launch(ctx, args...)
	if err != nil {
		return nil, err
	}
	within := timelimit.Scaled(sharedTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("wait for %s on host %s to start an agent: timed out after %s", t.who, t.engine.Name, within))
	defer cancel()
	if err := t.share(ctx, conn, args); err != nil {
		// ctx ends, because nobody reads the agent's first message, without which it may not exit.
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// share waits for the agent and moves it to the shared cgroup. If it has exited, the caller
// that waits for its handshake reports that.
func (t sharedCgroup) share(ctx context.Context, conn transport.Conn, args []string) error {
	for {
		shared, err := t.move(args)
		switch {
		case conn.ExitReason() != "":
			return nil
		case err != nil || shared:
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(sharedPoll):
		}
	}
}

// move moves the agent with args, which was started last. It returns false while the engine has
// not started it.
func (t sharedCgroup) move(args []string) (bool, error) {
	if t.leave != nil {
		return leaveGroups(t.leave, args)
	}
	moved, held, err := t.engine.ShareCPU(t.container)
	return moved > 0 || held, err
}
