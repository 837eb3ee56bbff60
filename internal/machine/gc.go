package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/printable"
	"tare/internal/runid"
	"tare/internal/timelimit"
)

// collectTimeout bounds how long gc on another machine may take.
func collectTimeout() time.Duration { return timelimit.Scaled(2 * time.Minute) }

// maxOutput bounds what a program on another machine may write before it ends.
const maxOutput = 1 << 20

// CollectDead removes what dead runs left on a machine, or only lists it if dry is set: the
// directories of copies of this program, processes, namespaces and private engines. It runs gc
// there, as the user and as root if that is possible, so that the machine itself decides which runs
// are alive. It returns the lines that gc wrote; noRoot is why root's leftovers were not looked at,
// if they were not.
func CollectDead(ctx context.Context, name string, a Address, o Options, dry bool) (lines []string, noRoot string, err error) {
	run, err := runid.New()
	if err != nil {
		return nil, "", err
	}
	defer run.Release()
	m, err := Connect(ctx, run.ID, name, a, o)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	args := []string{"gc"}
	if dry {
		args = append(args, "--dry-run")
	}
	as := []transport.Launcher{m.User}
	if m.Root != nil && m.Root != m.User {
		as = append(as, m.Root)
	}
	for _, l := range as {
		out, err := output(ctx, l, args...)
		if err != nil {
			return lines, m.NoRoot, fmt.Errorf("remove what dead runs left on machine %s (%s): %w", name, a, err)
		}
		for line := range strings.Lines(out) {
			if line = printable.Clean(line); line != "" && line != nothing {
				lines = append(lines, line)
			}
		}
	}
	return lines, m.NoRoot, nil
}

// nothing is what gc writes if it finds nothing.
const nothing = "nothing to remove"

// output runs this program with args to its end, and returns what it wrote to stdout. Any exit
// status but 0 is an error.
func output(ctx context.Context, l transport.Launcher, args ...string) (string, error) {
	conn, err := l.Launch(ctx, args...)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, collectTimeout(), fmt.Errorf("it did not end within %s", collectTimeout()))
	defer cancel()
	// Its end closes the pipe, which ends the read.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close(ctx) })
	defer stop()
	var out bytes.Buffer
	_, err = io.Copy(&out, io.LimitReader(conn, maxOutput))
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	wait, done := context.WithTimeout(context.WithoutCancel(ctx), killTimeout())
	defer done()
	closed := conn.Close(wait)
	if reason := conn.ExitReason(); !strings.HasPrefix(reason, exitedWell) && reason != "" {
		err = errors.Join(err, errors.New(printable.Clean(reason)))
	}
	return out.String(), errors.Join(err, closed)
}

// exitedWell begins the exit reason of a program that reported no error.
const exitedWell = "exit status 0"
