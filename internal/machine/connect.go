package machine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/process"
	"tare/internal/runid"
	"tare/internal/timelimit"
)

// The environment variables with the defaults of Options.
const (
	// EnvConfig names the configuration file of ssh.
	EnvConfig = "TARE_SSH_CONFIG"
	// EnvBinaries names a directory with this program for other systems.
	EnvBinaries = "TARE_BINARIES"
)

// Options change how a machine is reached. The zero Options suit a user.
type Options struct {
	// Config is the configuration file of ssh, as its -F takes it; empty for EnvConfig, and
	// without that for the user's.
	Config string
	// Binaries is a directory with this program for other systems, by the names of BinaryName;
	// empty for EnvBinaries, and without that for the directories next to the running program.
	Binaries string
	// Start starts ssh in its place, such as a network namespace; nil starts it in this
	// process's own.
	Start func(*exec.Cmd) error
}

// The time limits of a connection: the login with all that it may wait for, such as a slow
// directory of users, and the wait for a killed ssh.
func loginTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }
func killTimeout() time.Duration  { return timelimit.Scaled(5 * time.Second) }

// copyTimeout bounds how long the copy of this program may take: 30 MB at 1 Mbit/s.
func copyTimeout() time.Duration { return timelimit.Scaled(5 * time.Minute) }

// remote is a machine that is reached through ssh.
type remote struct {
	name, run string
	options   Options
	ssh       ssh // without a socket; for messages
	machine   *Machine

	mu   sync.Mutex
	conn *connection // nil once it was closed
	held []string    // runs that are kept alive there, besides run
}

// connection is one login on a machine, with the copy of this program there, and further logins if
// the server allows too few channels in one.
type connection struct {
	ssh     ssh
	local   string // directory of the sockets, empty without one
	first   *process.Process
	shell   shell
	marker  string        // begins each line of the other side that is meant for this program
	program string        // path of the copy there
	stop    chan struct{} // ends the signs of life
	over    sync.Once

	used    atomic.Int32 // as of shared, of the first login
	mu      sync.Mutex
	further []shared           // the last one is used
	claims  []*process.Process // that keep runs alive there, besides the first
}

// shared is a login whose connection later channels use.
type shared struct {
	ssh     ssh
	process *process.Process
	used    *atomic.Int32 // its channels besides its own that were opened, or are being opened
}

// newest returns the login in which channels are opened.
func (c *connection) newest() shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.further); n > 0 {
		return c.further[n-1]
	}
	return shared{c.ssh, c.first, &c.used}
}

// maxFurther bounds the number of further logins on a machine.
const maxFurther = 30

// another logs in once more, unless that has been done since full was the newest login. If full has no channel
// besides its own, no other login would have one.
func (r *remote) another(ctx context.Context, c *connection, full shared) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.further)
	if n > 0 && c.further[n-1].process != full.process {
		return nil
	}
	if n == maxFurther || full.used.Load() == 0 {
		return fmt.Errorf("start tare on machine %s: the ssh server allows too few channels in one connection; raise MaxSessions in its sshd_config", r.name)
	}
	// What runs in its own channel is one more claim of the run, which ends with its stdin.
	command, err := c.shell.launch(c.marker, c.program, []string{Command, "--run", r.run, "claim", c.marker}, false)
	if err != nil {
		return err
	}
	next := shared{ssh: c.ssh, used: new(atomic.Int32)}
	next.ssh.socket += strconv.Itoa(n + 1)
	if next.process, err = next.ssh.first(command); err != nil {
		return r.explain("log in once more to", "", err)
	}
	out := newLines(next.process, c.marker)
	if _, err := greeting(ctx, next.process, out); err != nil {
		_ = next.process.Kill()
		return r.explain("log in once more to", next.process.StderrTail(), err)
	}
	c.further = append(c.further, next)
	return nil
}

// guards returns the processes here that hold something there while they hear of this side.
func (c *connection) guards() []*process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*process.Process
	for _, s := range c.further {
		all = append(all, s.process)
	}
	all = append(all, c.claims...)
	if c.first != nil {
		all = append(all, c.first)
	}
	return all
}

// Connect logs in on a machine through the user's ssh program, places a copy of this program there
// in a private directory, and returns the machine. run is the run's id, by which gc finds what is
// left if this machine and the other one fail at once. An error of the connection is an *Error.
func Connect(ctx context.Context, run, name string, a Address, o Options) (*Machine, error) {
	if a.Local() {
		return Local(name), nil
	}
	if !runid.IsID(run) {
		return nil, fmt.Errorf("connect to machine %s: %q is no run's id", name, run)
	}
	config, err := configOf(o)
	if err != nil {
		return nil, err
	}
	r := &remote{name: name, run: run, options: o, ssh: ssh{address: a, config: config, start: o.Start}}
	m := &Machine{Name: name, Address: a, remote: r}
	r.machine = m
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// configOf returns the configuration file of ssh, by its absolute path; empty for the user's.
func configOf(o Options) (string, error) {
	config := cmp.Or(o.Config, os.Getenv(EnvConfig))
	if config == "" {
		return "", nil
	}
	abs, err := filepath.Abs(config)
	if err != nil {
		return "", fmt.Errorf("find the configuration of ssh: %w", err)
	}
	return abs, nil
}

// connect logs in and fills in the machine.
func (r *remote) connect(ctx context.Context) error {
	c := &connection{ssh: r.ssh, marker: "tare-" + rand.Text(), stop: make(chan struct{})}
	if canShare {
		dir, err := runDirectory(r.run)
		if err != nil {
			return r.problem("connect to", "no directory for the connection could be created: "+err.Error(), "set TMPDIR to a directory with a short name that you can write to")
		}
		c.local, c.ssh.socket = dir, filepath.Join(dir, socketName)
	}
	far, err := r.place(ctx, c)
	if err != nil {
		return errors.Join(err, c.end(ctx))
	}
	go c.live()
	m := Machine{System: far.system, User: launcher{r, false}}
	switch {
	case far.system.OS == windowsOS:
		m.NoRoot = "root's rights are used on Linux and macOS only"
	case far.user == 0:
		m.Root = m.User
	default:
		if m.NoRoot = r.becomeRoot(ctx, c); m.NoRoot == "" {
			m.Root = launcher{r, true}
		}
	}
	r.mu.Lock()
	held := slices.Clone(r.held)
	r.mu.Unlock()
	for _, run := range held {
		if err := r.hold(ctx, c, run); err != nil {
			return errors.Join(err, c.end(ctx))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == nil && r.machine.User == nil {
		r.machine.System, r.machine.User, r.machine.Root, r.machine.NoRoot = m.System, m.User, m.Root, m.NoRoot
	}
	r.conn = c
	return nil
}

// signOfLife is the interval at which the other side is told that this one is still there.
const signOfLife = 15 * time.Second

// live tells the other side that this one is still there, until the connection ends.
func (c *connection) live() {
	every := time.NewTicker(signOfLife)
	defer every.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-c.first.Done():
			return
		case <-every.C:
			for _, p := range c.guards() {
				_, _ = p.Write([]byte{'\n'}) // if it has ended, so has the connection
			}
		}
	}
}

// end ends the connection. The other side then removes what was placed there, for which it is given
// closeTimeout: one that does not stop writing does not exit.
func (c *connection) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout())
	defer cancel()
	var errs []error
	c.over.Do(func() {
		close(c.stop)
		all := c.guards()
		for _, p := range all {
			p.CloseStdin()
		}
		for _, p := range all {
			_ = p.Wait(ctx) // if it has not exited, Kill ends it
			errs = append(errs, p.Kill())
		}
		if c.local != "" {
			errs = append(errs, os.RemoveAll(c.local))
		}
	})
	return errors.Join(errs...)
}

// current returns the connection, or why there is none.
func (r *remote) current() (*connection, error) {
	r.mu.Lock()
	c := r.conn
	r.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("machine %s (%s) was closed", r.name, r.ssh.address)
	}
	if err := r.cut(c); err != nil {
		return nil, err
	}
	return c, nil
}

// cut returns the error of a connection that has ended by itself, nil while it is up.
func (r *remote) cut(c *connection) error {
	for _, p := range c.guards() {
		if p.ExitReason() == "" {
			continue
		}
		e := r.explain("go on using", p.StderrTail(), p.Err())
		if p.StderrTail() == "" {
			e.Reason, e.Fix = "the ssh connection was lost", "check the machine and the network"
		}
		e.Temporary = true
		return e
	}
	return nil
}

// Err returns why the connection to the machine is lost, nil while it is up and for this machine.
func (m *Machine) Err() error {
	if m.remote == nil {
		return nil
	}
	_, err := m.remote.current()
	return err
}

// closeTimeout bounds the wait for the other side to remove what was placed there. It goes on without
// the connection.
func closeTimeout() time.Duration { return timelimit.Scaled(3 * time.Second) }

func (r *remote) close(ctx context.Context) error {
	r.mu.Lock()
	c := r.conn
	r.conn = nil
	r.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := c.end(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("close machine %s: %w", r.name, err)
	}
	return nil
}

// reconnectInterval is the wait between two attempts to connect again.
const reconnectInterval = time.Second

// Reconnect connects again after the connection was lost, and places another copy of this program:
// the other side has removed the first. It tries until it succeeds, ctx ends, or the error is one
// that time does not change. What ran on the machine has ended; User and Root may be used again.
func (m *Machine) Reconnect(ctx context.Context) error {
	r := m.remote
	if r == nil {
		return nil
	}
	r.mu.Lock()
	c := r.conn
	r.mu.Unlock()
	if c != nil {
		ended, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		if err := c.end(ended); err != nil {
			return fmt.Errorf("reconnect to machine %s: %w", r.name, err)
		}
	}
	for {
		err := r.connect(ctx)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Temporary {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(reconnectInterval):
		}
	}
}
