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

// fateWait bounds how long an engine may take to say how a process ended, and
// deathWait how long the end of a container may follow that of a killed process.
const (
	fateWait  = 2 * time.Second
	deathWait = 300 * time.Millisecond
	killed    = 137 // the exit code of what was ended by SIGKILL
)

// find learns how the process ended once its output has; broken is what came
// instead of the output's orderly end.
func (x *execution) find(broken error) string {
	ctx, cancel := context.WithTimeout(context.Background(), fateWait)
	defer cancel()
	fate := x.exit(ctx, broken)
	if words := strings.TrimSpace(x.words.String()); words != "" {
		fate += ": " + words
	}
	return fate
}

func (x *execution) exit(ctx context.Context, broken error) string {
	c := x.container
	code, err := x.code(ctx)
	if err != nil {
		return c.lost(ctx, err)
	}
	for until := time.Now().Add(deathWait); ; {
		if fate := c.death(ctx, x.at); fate != "" {
			return fate
		}
		if code != killed || time.Now().After(until) {
			break
		}
		time.Sleep(leaving)
	}
	switch {
	case code < 0 && broken != nil:
		return fmt.Sprintf("the connection to it on engine %s broke: %s", c.engine.Name, oneLine(broken))
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
	for until := time.Now().Add(deathWait); ; {
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
		time.Sleep(leaving)
	}
}

// lost says why nothing can be learned of a process any more.
func (c *Container) lost(ctx context.Context, err error) string {
	if isNotFound(err) {
		if _, gone := c.State(ctx); gone == nil {
			return "its container was restarted"
		} else if errors.Is(gone, ErrNotFound) {
			return "its container was removed"
		}
	}
	if gone := c.engine.gone; gone != nil {
		if why := gone(); why != "" {
			return why
		}
	}
	return oneLine(c.engine.fail(err, "ask how it ended"))
}

// death says how the container has ended or ran out of memory since a time, "" if
// neither.
func (c *Container) death(ctx context.Context, since time.Time) string {
	s, err := c.State(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return "its container was removed"
	case err != nil:
		return c.lost(ctx, err)
	case s.OOM || c.outOfMemory(ctx, since):
		limit := ""
		if c.Limit.Memory > 0 {
			limit = fmt.Sprintf(" (limit %s)", c.Limit.Memory)
		}
		return "killed: out of memory" + limit
	case s.Running:
		return ""
	case s.ExitCode == killed:
		return "its container was killed"
	}
	return fmt.Sprintf("its container ended with exit status %d", s.ExitCode)
}

// outOfMemory asks the engine for the container's own event: an older engine notes
// only in that what befell a process that is not the container's first.
func (c *Container) outOfMemory(ctx context.Context, since time.Time) bool {
	if c.Limit.Memory == 0 {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The engine counts in its own machine's time, of which ours may differ; an agent
	// that was killed earlier is told from this one by its second at worst.
	got := c.engine.api.Events(ctx, client.EventsListOptions{
		Since: strconv.FormatInt(since.Unix(), 10), Until: strconv.FormatInt(time.Now().Unix()+1, 10),
		Filters: client.Filters{}.Add("type", "container").Add("container", c.ID).Add("event", "oom"),
	})
	select {
	case <-got.Messages:
		return true
	case <-got.Err:
	case <-ctx.Done():
	}
	return false
}
