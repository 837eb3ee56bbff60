//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/engine"
	"tare/internal/engine/private"
)

// sharedCgroup starts agents in a container of a lab, where both ends share the CPUs of
// one machine, and has them scheduled like those of every other mode.
type sharedCgroup struct {
	container *engine.Container
	engine    *private.Engine
}

// sharedWithin bounds how long an engine may take from the order to start an agent to
// the agent; looking is how often that is looked for.
const (
	sharedWithin = 5 * time.Second
	looking      = 2 * time.Millisecond
)

// Launch starts an agent as the container does.
func (t sharedCgroup) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	conn, err := t.container.Launch(ctx, args...)
	if err != nil {
		return nil, err
	}
	if err := t.share(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// share waits for the agent and moves it. One that has ended is left to whoever waits
// for its hello.
func (t sharedCgroup) share(ctx context.Context, conn transport.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sharedWithin, fmt.Errorf("the engine on host %s started no agent within %s", t.engine.Name, sharedWithin))
	defer cancel()
	for {
		moved, held, err := t.engine.ShareCPU(t.container)
		if err != nil && conn.ExitReason() == "" {
			return err
		}
		if moved > 0 || held || conn.ExitReason() != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(looking):
		}
	}
}
