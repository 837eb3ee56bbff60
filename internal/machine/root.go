package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare/internal/process"
)

// rootTimeout bounds how long sudo may take.
const rootTimeout = 15 * time.Second

// becomeRoot starts a claim of the run with sudo, so that root's gc on that machine does not take
// what the run starts as root for leftovers. It returns why root's rights cannot be had, "" if they
// can.
func (r *remote) becomeRoot(ctx context.Context, c *connection) string {
	ch, err := r.start(ctx, c, true, []string{Command, "--run", r.run, "claim", c.marker})
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rootTimeout, fmt.Errorf("sudo did not answer within %s", rootTimeout))
	defer cancel()
	hello, err := greeting(ctx, ch.Process, ch.out)
	if err == nil && hello.User == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.root = ch.Process
		return ""
	}
	ended := ctx.Err() == nil
	if ended {
		wait, cancel := context.WithTimeout(ctx, killTimeout)
		defer cancel()
		_ = ch.Wait(wait) // its output has ended
	}
	words := ch.StderrTail()
	if err := errors.Join(err, ch.Kill()); !ended {
		words = err.Error()
	}
	return r.noRoot(words)
}

// greeting waits for the first words of a guard or a claim.
func greeting(ctx context.Context, p *process.Process, out *lines) (hello guardHello, err error) {
	err = within(ctx, p, func() error {
		for {
			word, rest, err := out.next()
			if err != nil {
				return err
			}
			if word == "guard" {
				return json.Unmarshal([]byte(rest), &hello)
			}
		}
	})
	return hello, err
}

// noRoot explains the output of sudo.
func (r *remote) noRoot(words string) string {
	fix := fmt.Sprintf("log in as root, or allow sudo without a password on machine %s", r.name)
	switch lower := strings.ToLower(words); {
	case strings.Contains(lower, "password is required"), strings.Contains(lower, "a terminal is required"):
		return fmt.Sprintf("sudo asks for a password on machine %s; %s", r.name, fix)
	case strings.Contains(lower, "sudo: not found"), strings.Contains(lower, "sudo: command not found"), strings.Contains(lower, "sudo: no such file"):
		return fmt.Sprintf("the user on machine %s is not root, and there is no sudo; log in as root", r.name)
	}
	return fmt.Sprintf("sudo does not work on machine %s: %s; %s", r.name, oneLine(words), fix)
}
