package private

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/timelimit"
)

// configFile is the file in the directory of an engine with its settings.
const configFile = "daemon.json"

// pidFile is the file in the directory of an engine with the process id of its dockerd.
const pidFile = "dockerd.pid"

// readyTimeout bounds how long an engine may take until it answers, on a real CPU. It usually takes
// 0.5 s; about 24 may be starting at once on a slow or busy machine. A failure is reported without
// waiting.
func readyTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }

// The directories of an engine for running containers and for everything else. Both are in its own
// mounts, on the tmpfs over /run, and disappear with them at once. The tmpfs also makes an engine
// independent of the machine's file system, which may not support overlays, such as a container's
// own.
const (
	execRoot = "/run/docker"
	dataRoot = "/run/data"
)

// StartBoth starts the packaged engine on each host of the lab; see Config.StartBoth.
func StartBoth(ctx context.Context, l *lab.Lab) (a, b *Engine, err error) {
	return Config{Installation: Packaged()}.StartBoth(ctx, l)
}

// Start starts the packaged engine on one host of a lab; see Config.Start.
func Start(ctx context.Context, l *lab.Lab, h *lab.Host, args ...string) (*Engine, error) {
	return Config{Installation: Packaged(), Args: args}.Start(ctx, l, h)
}

// StartBoth starts an engine on each host of the lab concurrently. On error it ends both.
// MissingRequirements reports in advance what an engine needs.
func (c Config) StartBoth(ctx context.Context, l *lab.Lab) (a, b *Engine, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var errs [2]error
	var wg sync.WaitGroup
	for i, one := range []struct {
		host *lab.Host
		into **Engine
	}{{l.A, &a}, {l.B, &b}} {
		wg.Go(func() {
			if *one.into, errs[i] = c.Start(ctx, l, one.host); errs[i] != nil {
				cancel() // the other is of no use alone
			}
		})
	}
	wg.Wait()
	err = errs[0]
	if err == nil || errs[1] != nil && errors.Is(err, context.Canceled) {
		err = errs[1] // one was cancelled because the other failed
	}
	if err != nil {
		return nil, nil, errors.Join(err, CloseAll(a, b))
	}
	return a, b, nil
}

// Start starts an engine on one host of a lab, and waits until it answers, for at most half a
// minute in each of at most startsWithContainerd attempts, and no longer than ctx. It fails if the engine that answers is not the configured one. The
// engine runs until Close. On error nothing remains.
func (c Config) Start(ctx context.Context, l *lab.Lab, h *lab.Host) (*Engine, error) {
	for left := startsWithContainerd; ; left-- {
		p, err := c.startOnce(ctx, l, h)
		if err == nil || left == 1 || ctx.Err() != nil || !strings.Contains(err.Error(), slowContainerd) {
			return p, err
		}
	}
}

// dockerd gives the containerd that it starts 15 s, which no setting changes, and ends with slowContainerd after them. An
// emulated CPU may need longer, but not each time. startsWithContainerd is how often dockerd is then started in all.
const (
	slowContainerd       = "timeout waiting for containerd to start"
	startsWithContainerd = 3
)

// startOnce is Start with one attempt.
func (c Config) startOnce(ctx context.Context, l *lab.Lab, h *lab.Host) (*Engine, error) {
	name := nameOf(l.Spec, h.Name)
	p := &Engine{kind: "Docker Engine", host: h.Name, dir: filepath.Join(privateBase, name), cgroup: lab.Prefix + name}
	err := p.start(ctx, l, h, c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a Docker Engine on host %s of the lab %s: %w", h.Name, l.Spec.Label, err), p.Close())
	}
	return p, nil
}

func (p *Engine) start(ctx context.Context, l *lab.Lab, h *lab.Host, c Config) error {
	dockerd, err := c.Installation.lookup("dockerd")
	if err != nil {
		return err
	}
	if err := p.makeDir(); err != nil {
		return err
	}
	if c.Sandboxed() {
		if p.Runsc, err = c.Installation.lookupRunsc(); err != nil {
			return err
		}
	}
	p.restarts = c.LiveRestore || c.Restarts
	if c.LiveRestore {
		if p.runc, err = c.Installation.lookup("runc"); err != nil {
			return err
		}
	}
	config, err := c.daemonConfig()
	if err != nil {
		return err
	}
	// A separate configuration: without one dockerd reads the user's.
	if err := os.WriteFile(filepath.Join(p.dir, configFile), config, 0o600); err != nil {
		return err
	}
	settings := slices.Concat([]string{"--group=root", "--log-level=warn", "--mtu=" + strconv.Itoa(l.Spec.MTU)}, addressFlags(l, h), c.flags())
	command, err := p.command(l, c, dockerd, settings)
	if err != nil {
		return err
	}
	var flags []string // of the first process
	if c.Rootless != nil {
		p.rootless, flags = true, []string{rootlessFlag}
	}
	if p.init, err = startInit(l.Spec.Claim.ID, p.dir, flags, engineEnvironment(c.Installation.searchPath()), h.NS.Start, command); err != nil {
		return err
	}
	socket, plugins := p.Socket(), []string{p.Plugins(), filepath.Join(p.init.root(), "etc/docker/plugins"), filepath.Join(p.init.root(), "usr/lib/docker/plugins")}
	if p.rootless {
		socket, plugins = filepath.Join(p.home(), socketFile), nil
	}
	if err := p.connect(socket, plugins...); err != nil {
		return err
	}
	if err := p.ready(ctx); err != nil {
		return c.explain(err)
	}
	if err := p.Identify(ctx); err != nil {
		return err
	}
	if c.Rootless != nil {
		return errors.Join(p.checkRootless(dockerd), c.checkFirewall(p))
	}
	if p.Program, err = p.program(); err != nil {
		return err
	}
	return errors.Join(c.check(p, dockerd), c.checkFirewall(p))
}

// command returns the command that runs dockerd with its files and the given further flags.
func (p *Engine) command(l *lab.Lab, c Config, dockerd string, flags []string) ([]string, error) {
	if c.Rootless != nil {
		kit, err := c.Installation.rootlesskit()
		return c.Rootless.command(l, kit, append([]string{
			filepath.Base(dockerd),
			"--rootless",
			"--config-file=" + filepath.Join(rootlessHome, configFile),
			"--data-root=" + p.dir,
			"--exec-root=" + filepath.Join(rootlessHome, "docker"),
			"--pidfile=" + filepath.Join(rootlessHome, pidFile),
			"--host=unix://" + filepath.Join(rootlessHome, socketFile),
		}, flags...)), err
	}
	return append([]string{
		dockerd,
		"--config-file=" + filepath.Join(p.dir, configFile),
		"--data-root=" + dataRoot,
		"--exec-root=" + execRoot,
		"--pidfile=" + filepath.Join(p.dir, pidFile),
		"--host=unix://" + p.Socket(),
		"--exec-opt=native.cgroupdriver=cgroupfs",
		"--cgroup-parent=/" + p.cgroup,
	}, flags...), nil
}

// connect creates the client of the engine's API, at a socket on this machine.
func (p *Engine) connect(socket string, plugins ...string) (err error) {
	local := engine.Local{
		Proc:    filepath.Join(p.init.root(), "proc"),
		Plugins: plugins,
		Gone:    func() string { return p.exitReasonWithin(exitReasonTimeout()) },
	}
	p.Engine, err = engine.New(p.host, local, client.WithHost("unix://"+socket))
	return err
}

// exitReasonTimeout bounds how long after an engine stopped answering its exit may become known.
func exitReasonTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// Swarm creates a Swarm of engines of a lab and waits until all are ready. Its networks get subnets
// from the lab's addresses. It ends with the engines.
func Swarm(ctx context.Context, l *lab.Lab, manager *Engine, workers ...*Engine) error {
	node := func(p *Engine) engine.SwarmNode {
		at := l.A
		if p.host == l.B.Name {
			at = l.B
		}
		return engine.SwarmNode{Engine: p.Engine, Addr: at.Addr[0]}
	}
	var others []engine.SwarmNode
	for _, w := range workers {
		others = append(others, node(w))
	}
	return engine.NewSwarm(ctx, engine.Pool{Addresses: l.Pool(lab.PoolSwarm), Bits: lab.PoolBits}, node(manager), others...)
}

// addressFlags returns the flags that keep an engine's own networks within the run's addresses.
func addressFlags(l *lab.Lab, h *lab.Host) []string {
	gateway, pool := addressesOf(l, h)
	return []string{"--bip=" + gateway.String(), fmt.Sprintf("--default-address-pool=base=%s,size=%d", pool, lab.PoolBits)}
}

// addressesOf returns the address of the default bridge of an engine on a host, and the pool of its
// other networks.
func addressesOf(l *lab.Lab, h *lab.Host) (gateway, pool netip.Prefix) {
	if h == l.B {
		return l.Addresses(lab.NetB, 1)[0], l.Pool(lab.PoolB)
	}
	return l.Addresses(lab.NetA, 1)[0], l.Pool(lab.PoolA)
}

// MakeStandby makes a directory in which agents are ordered for a container (engine.ContainerSpec.Standby), and returns its path. It is removed with
// the engine.
func (p *Engine) MakeStandby(name string) (string, error) {
	dir := filepath.Join(p.dir, "standby-"+name)
	return dir, os.MkdirAll(dir, 0o700)
}

// makeDir creates the engine's directory.
func (p *Engine) makeDir() error {
	name := filepath.Base(p.dir)
	if err := Claim(name); err != nil {
		return err
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return errors.Join(err, unclaim(name)) // one that was there is somebody's
	}
	p.made = true
	return os.Mkdir(p.Plugins(), 0o700)
}

// ready waits until the engine answers.
func (p *Engine) ready(ctx context.Context) error {
	within := readyTimeout()
	late := fmt.Errorf("it did not answer within %v", within)
	ctx, cancel := context.WithTimeoutCause(ctx, within, late)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		err := p.Ping(ctx)
		if err == nil {
			return nil
		}
		if strings.Contains(err.Error(), "API version") { // it answers, and will not answer otherwise
			return fmt.Errorf("it speaks no version of the API that tare does (%s); name an engine of version 19.03 or later that accepts older clients", engine.Message(err))
		}
		select {
		case <-p.init.Done():
			return errors.New(p.init.reason())
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, late) {
				return why
			}
			return fmt.Errorf("%w (%s)", late, engine.Message(err))
		case <-poll.C:
		}
	}
}

// Exec returns the engine's directory for running containers and networks as seen from this
// process. Its subdirectory netns has the namespaces of overlay networks.
func (p *Engine) Exec() string { return filepath.Join(p.init.root(), execRoot) }

// Root returns the process id of the engine's first process on this machine, the ancestor of all
// its processes.
func (p *Engine) Root() int { return p.init.PID() }

// Done is closed when the engine has exited, by itself or by Close.
func (p *Engine) Done() <-chan struct{} { return p.init.Done() }

// ExitReason returns how the engine exited and its last message; "" while it runs.
func (p *Engine) ExitReason() string {
	select {
	case <-p.init.Done():
		return fmt.Sprintf("the engine on host %s ended: %s", p.host, p.init.reason())
	default:
		return ""
	}
}

// exitReasonWithin is ExitReason for a caller whose connection to the engine was just closed: its
// exit may become known shortly after.
func (p *Engine) exitReasonWithin(d time.Duration) string {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	select {
	case <-p.init.Done():
	case <-timeout.C:
	}
	return p.ExitReason()
}

// Close ends the engine and everything that runs on it at once, and removes all its data. It may be
// called again. Data that a container has not written out is lost.
func (p *Engine) Close() error {
	p.close.Do(func() { p.closed = p.end() })
	return p.closed
}

func (p *Engine) end() error {
	var errs []error
	if p.Engine != nil {
		errs = append(errs, p.Disconnect())
	}
	if p.init != nil {
		if errs = append(errs, p.init.Kill()); errs[len(errs)-1] == nil {
			p.init.reason() // while its log still exists
		}
	}
	if p.made { // else they belong to another engine
		errs = append(errs, RemoveClaimed(filepath.Base(p.dir)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the %s on host %s: %w", p.kind, p.host, err)
	}
	return nil
}
