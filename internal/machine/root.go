package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare/internal/process"
	"tare/internal/runid"
	"tare/internal/timelimit"
)

// claimTimeout bounds how long a claim may take to start, and with it sudo.
func claimTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// becomeRoot starts a claim of the connection's run with sudo, so that root's gc on that machine
// does not take what the run starts as root for leftovers. It returns why root's rights cannot be
// had, "" if they can.
func (r *remote) becomeRoot(ctx context.Context, c *connection) string {
	words, err := r.claim(ctx, c, r.run, true)
	switch {
	case words != "":
		return r.noRoot(words)
	case err != nil:
		return err.Error()
	}
	return ""
}

// claim keeps a run alive on the machine while the connection is up, for the user or for root. If
// that fails after a start, words is what was said.
func (r *remote) claim(ctx context.Context, c *connection, run string, asRoot bool) (words string, err error) {
	ch, err := r.start(ctx, c, asRoot, []string{Command, "--run", run, "claim", c.marker})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, claimTimeout(), fmt.Errorf("no answer within %s", claimTimeout()))
	defer cancel()
	hello, err := greeting(ctx, ch.Process, ch.out)
	if err == nil && (hello.User == 0 || !asRoot) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.claims = append(c.claims, ch.Process)
		return "", nil
	}
	ended := ctx.Err() == nil
	if ended {
		wait, cancel := context.WithTimeout(ctx, killTimeout())
		defer cancel()
		_ = ch.Wait(wait) // its output has ended
	}
	words = ch.StderrTail()
	if failed := errors.Join(err, ch.Kill()); !ended || words == "" {
		err = cmp.Or(failed, errors.New("it runs with other rights than root's"))
		words = err.Error()
	}
	return words, cmp.Or(err, errors.New(words))
}

// Hold keeps another run alive on the machine until the machine is closed: gc there does not take
// what carries that run's id for leftovers. When the connection ends, what is left of that run is
// removed there. On this machine a run keeps itself alive.
func (m *Machine) Hold(ctx context.Context, run string) error {
	r := m.remote
	if r == nil {
		return nil
	}
	if !runid.IsID(run) {
		return fmt.Errorf("keep a run alive on machine %s: %q is no run's id", r.name, run)
	}
	c, err := r.current()
	if err != nil {
		return err
	}
	if err := r.hold(ctx, c, run); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, run)
	return nil
}

// hold claims a run for the user and, if they differ, for root.
func (r *remote) hold(ctx context.Context, c *connection, run string) error {
	_, err := r.claim(ctx, c, run, false)
	if err == nil && r.machine.Root != nil && r.machine.Root != r.machine.User {
		_, err = r.claim(ctx, c, run, true)
	}
	if err != nil {
		return fmt.Errorf("keep run %s alive on machine %s: %w", run, r.name, err)
	}
	return nil
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
