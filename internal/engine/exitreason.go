package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// exitWait bounds how long an engine may take to say how a process ended, and
// deathEventTimeout how long the end of a container may follow that of a killed process.
const (
	exitCodeTimeout   = 2 * time.Second
	deathEventTimeout = 300 * time.Millisecond
	killed            = 137 // the exit code of what was ended by SIGKILL
)

// exitReason learns how the process ended once its output has; broken is what came
// instead of the output's orderly end.
func (x *execution) exitReason(broken error) string {
	ctx, cancel := context.WithTimeout(context.Background(), exitCodeTimeout)
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
		return c.lost(ctx, c.engine.fail(err, "ask how it ended"))
	}
	for until := time.Now().Add(deathEventTimeout); ; {
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

// code is the process's exit code, negative while it runs. Its output ends a moment
// before the engine has noted that.
func (x *execution) code(ctx context.Context) (int, error) {
	for until := time.Now().Add(deathEventTimeout); ; {
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

// lost says why nothing can be learned of a process any more.
func (c *Container) lost(ctx context.Context, err error) string {
	if isNotFound(err) {
		if _, gone := c.State(ctx); gone == nil {
			return "its container was started again"
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

// death says how the container has ended, or ran out of memory within the last d,
// "" if neither.
func (c *Container) death(ctx context.Context, d time.Duration) string {
	s, err := c.State(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return "its container was removed"
	case err != nil:
		return c.lost(ctx, err)
	case c.outOfMemory(ctx, d, s.OOM && !s.Running):
		if c.Limit.Memory == 0 {
			return "killed: its machine is out of memory"
		}
		return fmt.Sprintf("killed: out of memory (limit %s)", c.Limit.Memory)
	case s.Running:
		return ""
	case s.ExitCode == killed:
		return "its container was killed"
	case s.Error != "":
		return fmt.Sprintf("its container ended with exit status %d: %s", s.ExitCode, s.Error)
	}
	return fmt.Sprintf("its container ended with exit status %d", s.ExitCode)
}

// outOfMemory asks for the event that a process of the container was killed within
// the last d: an engine may note that of any but the container's first nowhere else,
// and once it was noted it stays. With likely, the event is waited for.
func (c *Container) outOfMemory(ctx context.Context, d time.Duration, likely bool) bool {
	if c.Limit.Memory == 0 && !likely {
		return false
	}
	since := stamp(c.engine.now(ctx).Add(-d))
	for until := time.Now().Add(deathEventTimeout); ; time.Sleep(removeNetworkInterval) {
		if c.event(ctx, "oom", since) {
			return true
		}
		if !likely || time.Now().After(until) {
			return false
		}
	}
}

// event reports whether the engine tells of an event of the container since a time.
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
		_ = err // the end of what there is, or an engine that tells of nothing
	case <-ctx.Done():
	}
	return false
}

// now is the time by the engine's clock, or by ours where it does not say.
func (e *Engine) now(ctx context.Context) time.Time {
	i, err := e.api.Info(ctx, client.InfoOptions{})
	if err == nil {
		if at, err := time.Parse(time.RFC3339Nano, i.Info.SystemTime); err == nil {
			return at
		}
	}
	return time.Now()
}

// stamp is a time as the API takes it.
func stamp(at time.Time) string { return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()) }
