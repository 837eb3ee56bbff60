package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/timelimit"
)

const killed = 137 // exit code after SIGKILL

// exitCodeTimeout bounds how long an engine may take to report how a process exited, and
// deathEventTimeout how long after the exit of a killed process its container may end.
func exitCodeTimeout() time.Duration   { return timelimit.Scaled(2 * time.Second) }
func deathEventTimeout() time.Duration { return timelimit.Scaled(300 * time.Millisecond) }

// exitReason returns how the process exited after its output has ended. broken is the error of the
// output stream, if any.
func (x *execution) exitReason(broken error) string {
	ctx, cancel := context.WithTimeout(context.Background(), exitCodeTimeout())
	defer cancel()
	reason := x.exit(ctx, broken)
	if words := strings.TrimSpace(x.words.String()); words != "" {
		reason += ": " + words
	}
	return reason
}

func (x *execution) exit(ctx context.Context, broken error) string {
	c := x.container
	code, err := x.code(ctx)
	if err != nil {
		return c.lost(ctx, c.engine.fail(err, "ask how it exited"))
	}
	for until := time.Now().Add(deathEventTimeout()); ; {
		if reason := c.death(ctx, time.Since(x.at)); reason != "" {
			return reason
		}
		if code != killed || time.Now().After(until) {
			break
		}
		time.Sleep(removeNetworkInterval)
	}
	switch {
	case code < 0 && broken != nil:
		return fmt.Sprintf("the connection to it on engine %s broke: %s", c.engine.Name, Message(broken))
	case code < 0:
		return "the engine closed the connection to it while it was running"
	case code == killed:
		return "killed by a signal"
	}
	return "exit status " + strconv.Itoa(code)
}

// code returns the process's exit code, negative while it runs. Its output ends shortly before the
// engine has recorded the exit.
func (x *execution) code(ctx context.Context) (int, error) {
	for until := time.Now().Add(deathEventTimeout()); ; {
		got, err := x.container.engine.api.ExecInspect(ctx, x.id, client.ExecInspectOptions{})
		if err != nil {
			return 0, err
		}
		if !got.Running {
			return got.ExitCode, nil
		}
		if time.Now().After(until) {
			return -1, nil
		}
		time.Sleep(removeNetworkInterval)
	}
}

// lost returns why the engine can no longer report on a process.
func (c *Container) lost(ctx context.Context, err error) string {
	if isNotFound(err) {
		if _, gone := c.State(ctx); gone == nil {
			return "its container was restarted"
		} else if errors.Is(gone, ErrNotFound) {
			return "its container was removed"
		}
	}
	if c.engine.local.Gone != nil && isUnreachable(err) {
		if why := c.engine.local.Gone(); why != "" {
			return why
		}
	}
	return err.Error()
}

// Cause is death for a process that was started in another way than by Launch: it is also "" if the engine does not answer.
func (c *Container) Cause(ctx context.Context, d time.Duration) string {
	if _, err := c.State(ctx); err != nil && !errors.Is(err, ErrNotFound) {
		return ""
	}
	return c.death(ctx, d)
}

// death returns how the container has ended, or that it ran out of memory within the last d, "" if
// neither.
func (c *Container) death(ctx context.Context, d time.Duration) string {
	s, err := c.State(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return "its container was removed"
	case err != nil:
		return c.lost(ctx, err)
	case c.outOfMemory(ctx, d, s.OOM && !s.Running):
		return c.OutOfMemory()
	case s.Running:
		return ""
	case s.ExitCode == killed:
		return "its container was killed"
	case s.Error != "":
		return fmt.Sprintf("its container exited with status %d: %s", s.ExitCode, s.Error)
	}
	return fmt.Sprintf("its container exited with status %d", s.ExitCode)
}

// OutOfMemory says that the kernel killed a process of the container because memory ran out.
func (c *Container) OutOfMemory() string {
	if c.Limit.Memory == 0 {
		return "killed: its machine is out of memory"
	}
	return fmt.Sprintf("killed: out of memory (limit %s)", c.Limit.Memory)
}

// outOfMemory checks for the event that a process of the container was killed within the last d. An
// engine may report that for processes other than the container's first only as an event, and its
// flag stays set after the first time. With likely, it waits for the event.
func (c *Container) outOfMemory(ctx context.Context, d time.Duration, likely bool) bool {
	if c.Limit.Memory == 0 && !likely {
		return false
	}
	since := stamp(c.engine.now(ctx).Add(-d))
	for until := time.Now().Add(deathEventTimeout()); ; time.Sleep(removeNetworkInterval) {
		if c.event(ctx, "oom", since) {
			return true
		}
		if !likely || time.Now().After(until) {
			return false
		}
	}
}

// event reports whether the engine has an event of the container since a time.
func (c *Container) event(ctx context.Context, name, since string) bool {
	until := stamp(c.engine.now(ctx))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got := c.engine.api.Events(ctx, client.EventsListOptions{
		Since: since, Until: until,
		Filters: client.Filters{}.Add("type", "container").Add("container", c.ID).Add("event", name),
	})
	select {
	case <-got.Messages:
		return true
	case err := <-got.Err:
		_ = err // the end of the events, or an engine without them
	case <-ctx.Done():
	}
	return false
}

// now returns the time of the engine's clock, or of this machine's if the engine does not report
// it.
func (e *Engine) now(ctx context.Context) time.Time {
	i, err := e.api.Info(ctx, client.InfoOptions{})
	if err == nil {
		if at, err := time.Parse(time.RFC3339Nano, i.Info.SystemTime); err == nil {
			return at
		}
	}
	return time.Now()
}

// stamp formats a time for the API.
func stamp(at time.Time) string { return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()) }
