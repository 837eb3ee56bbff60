package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/transport"
)

// The files in the directory of Ordered: the agent's stdin and stdout, which are FIFOs, and its arguments, each followed by a zero.
const (
	orderedIn        = "in"
	orderedOut       = "out"
	orderedArguments = "arguments"
)

// Ordered launches an agent that the first process of a container will start, as soon as that runs: nothing has to wait for an engine to
// start it. Only one can be ordered at a time.
type Ordered struct {
	Dir string // of this machine, which the container has at the place that StandbyArguments name
	// Within is how long the container may take until it runs.
	Within time.Duration
	// ExitReason says how the agent has ended, after its end. Kill ends it together with its container.
	ExitReason func() string
	Kill       func(context.Context) error
}

// HandshakeTimeout allows for the time until the container runs.
func (o Ordered) HandshakeTimeout() time.Duration { return o.Within + HandshakeTimeout() }

// Launch orders an agent.
func (o Ordered) Launch(_ context.Context, args ...string) (transport.Conn, error) {
	// The directory stays: a container that runs has it mounted.
	for _, name := range []string{orderedArguments, orderedIn, orderedOut} {
		if err := os.Remove(filepath.Join(o.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, name := range []string{orderedIn, orderedOut} {
		if err := unix.Mkfifo(filepath.Join(o.Dir, name), 0o600); err != nil {
			return nil, fmt.Errorf("make the FIFO %s: %w", filepath.Join(o.Dir, name), err)
		}
	}
	c := &orderedConn{of: o, ended: make(chan struct{})}
	var errs [3]error
	// Opened for both, a FIFO waits for nobody. The own end of out that writes is closed when the agent has one.
	c.in, errs[0] = os.OpenFile(filepath.Join(o.Dir, orderedIn), os.O_RDWR|unix.O_NONBLOCK, 0)
	c.keep, errs[1] = os.OpenFile(filepath.Join(o.Dir, orderedOut), os.O_RDWR|unix.O_NONBLOCK, 0)
	c.out, errs[2] = os.OpenFile(filepath.Join(o.Dir, orderedOut), os.O_RDONLY|unix.O_NONBLOCK, 0)
	err := errors.Join(errs[:]...)
	if err == nil { // last, as this is the order
		err = os.WriteFile(filepath.Join(o.Dir, orderedArguments), []byte(strings.Join(args, "\x00")+"\x00"), 0o600)
	}
	if err != nil {
		c.closeFiles()
		return nil, err
	}
	return c, nil
}

// orderedConn is an agent that was ordered.
type orderedConn struct {
	of            Ordered
	in, keep, out *os.File
	started       sync.Once
	finished      sync.Once
	ended         chan struct{} // closed when its stdout has ended
}

// Read reads the agent's stdout.
func (c *orderedConn) Read(b []byte) (int, error) {
	n, err := c.out.Read(b)
	if n > 0 { // it has opened the FIFO
		c.started.Do(func() { c.keep.Close() })
	}
	if err != nil {
		c.finished.Do(func() { close(c.ended) })
		if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
	}
	return n, err
}

// Write writes to the agent's stdin, which holds 64 KiB until there is an agent.
func (c *orderedConn) Write(b []byte) (int, error) { return c.in.Write(b) }

// ExitReason returns how the agent has ended, "" until its end.
func (c *orderedConn) ExitReason() string {
	select {
	case <-c.ended:
		return c.of.ExitReason()
	default:
		return ""
	}
}

// Close takes the order back, and ends an agent that runs.
func (c *orderedConn) Close(ctx context.Context) error {
	defer c.closeFiles()
	err := os.Remove(filepath.Join(c.of.Dir, orderedArguments))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	c.in.Close()
	begun := true
	c.started.Do(func() { begun = false })
	if !begun {
		return err
	}
	select {
	case <-c.ended:
		return err
	case <-ctx.Done():
		return errors.Join(err, c.of.Kill(context.WithoutCancel(ctx)))
	}
}

func (c *orderedConn) closeFiles() {
	for _, f := range []*os.File{c.in, c.keep, c.out} {
		if f != nil {
			f.Close()
		}
	}
}

// startOrdered starts the agent that was ordered in a directory, if one was, with the FIFOs as its stdin and stdout.
func startOrdered(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, orderedArguments))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	agent := exec.Command("/proc/self/exe", args...) //nolint:noctx // it ends with its stdin
	agent.Args[0], agent.Stderr = os.Args[0], os.Stderr
	agent.Env = append(os.Environ(), transport.Environment)
	in, err := os.OpenFile(filepath.Join(dir, orderedIn), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, orderedOut), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	agent.Stdin, agent.Stdout = in, out
	return agent.Start()
}
