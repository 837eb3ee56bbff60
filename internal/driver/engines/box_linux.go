package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/timelimit"
)

// The names of devices.
const (
	eth     = lab.Underlay // a lab host's underlay device, and the first device of a Docker container
	docker0 = "docker0"    // the default bridge of a Docker Engine
	lo      = "lo"
)

// box is a container of the path with its network namespace.
type box struct {
	pathspec.Place // a/client
	role           string
	pair           int
	side           *side
	spec           engine.ContainerSpec // of the container
	container      *engine.Container
	ns             *linuxnet.NS
	own            bool            // the container has its own namespace
	device         string          // its own one with the address on its first network
	address        netip.Addr      // there, of IPv4; invalid until it is needed
	veth           pathspec.Device // the other end of the device
	vethAt         pathspec.Place  // where that is: its host, or the namespace of an overlay
	port           uint16          // published, 0 if none
	leaveGroups    bool            // its agents leave its control groups
	direct         bool            // its agents live on without dockerd
	sandbox        *sandbox        // nil for a container whose processes are the host's
}

// findOnlyDevice finds the device of a container of Podman, which has its only address besides the loopback one.
func (b *box) findOnlyDevice() error {
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return err
	}
	for _, d := range devices {
		own, err := b.ns.Routes().Addresses(d)
		if err != nil {
			return err
		}
		for _, a := range own {
			if d != lo && a.Addr().Is4() {
				b.device, b.address = d, a.Addr()
			}
		}
	}
	if !b.address.IsValid() {
		return fmt.Errorf("container %s on host %s has no device with an IPv4 address", b.container.Name, b.Host)
	}
	return nil
}

// end returns the endpoint of the container's agent.
func (b *box) end() pathspec.Endpoint {
	if b.sandbox != nil {
		return pathspec.Endpoint{Place: b.Place, Launcher: sandboxed{container: b.container, engine: b.side.engine}}
	}
	if b.side.podman != nil && b.side.podman.Rootless {
		// It is in the control groups of this program.
		return pathspec.Endpoint{Place: b.Place, Launcher: b.container}
	}
	launcher := sharedCgroup{in: b.container, container: b.container, engine: b.side.engine, who: b.side.who()}
	if b.direct {
		launcher.in = private.Direct{Engine: b.side.engine, Container: b.container}
	}
	if b.leaveGroups {
		launcher.leave = b.ns
	}
	return pathspec.Endpoint{Place: b.Place, Launcher: launcher}
}

// addr returns the container's IPv4 address on its first network.
func (b *box) addr() (netip.Addr, error) {
	if b.address.IsValid() {
		return b.address, nil
	}
	if a, ok := containers.FirstIPv4(b.container); ok {
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("container %s on host %s has no IPv4 address", b.Host, b.container.Name)
}

// eth returns the container's device.
func (b *box) eth() pathspec.Device { return pathspec.Device{Name: b.device} }

// findDevice finds the container's device on its first network.
func (b *box) findDevice() (err error) {
	if b.address, err = b.addr(); err == nil {
		b.device, err = b.deviceWith(b.address)
	}
	return err
}

// listens returns the address that the container's server listens on.
func (b *box) listens() []netip.Addr { return []netip.Addr{b.address} }

func (b *box) ethStep() pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(b.Place, b.eth()))
}

func (b *box) vethStep() pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(b.vethAt, b.veth))
}

// process returns the step for the container's agent.
func (b *box) process() pathspec.Step {
	step := containers.ProcessStep(b.Place, b.side.engine.Engine, b.container)
	if b.sandbox != nil {
		of, _ := result.Of(b.sentryCounter())
		step = pathspec.ProvenBy(pathspec.WithFacts(step, result.Fact{Name: "runtime", Value: b.sandbox.runtime}), of)
	}
	return step
}

// exitReason returns how the container exited, as the end of a sentence, "" if it runs or if that is unknown.
func (b *box) exitReason(ctx context.Context) string {
	s, err := b.container.State(ctx)
	switch {
	case errors.Is(err, engine.ErrNotFound) && b.side.podman == nil:
		return ": it was removed"
	case err != nil || s.Running:
		return ""
	case b.side.podman != nil:
		return fmt.Sprintf(" with exit code %d", s.ExitCode)
	case s.OOM:
		return fmt.Sprintf(": it ran out of memory (limit %s)", b.container.Limit.Memory)
	default:
		return strings.TrimSuffix(fmt.Sprintf(": exit code %d: %s", s.ExitCode, s.Error), ": ")
	}
}

// sharedCgroup starts agents in a container of a lab, where both endpoints share the CPUs
// of one machine, and has them scheduled like those of every other mode.
type sharedCgroup struct {
	in        transport.Launcher // starts an agent in the container
	container *engine.Container
	engine    *private.Engine
	who       string // what the engine is called in messages
	// leave is the container's network namespace if its agents leave all of its control groups,
	// else nil.
	leave *linuxnet.NS
}

// sharedTimeout limits how long an engine may take to start an agent, on a real CPU; sharedPoll is the
// polling interval.
const (
	sharedTimeout = 5 * time.Second
	sharedPoll    = 2 * time.Millisecond
)

// Launch starts an agent in the container.
func (t sharedCgroup) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	conn, err := t.in.Launch(ctx, args...)
	if err != nil {
		return nil, err
	}
	within := timelimit.Scaled(sharedTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("wait for %s on host %s to start an agent: timed out after %s", t.who, t.engine.Name, within))
	defer cancel()
	if err := t.share(ctx, conn, args); err != nil {
		// ctx ends, because nobody reads the agent's first message, without which it may not exit.
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// share waits for the agent and moves it to the shared cgroup. If it has exited, the caller
// that waits for its handshake reports that.
func (t sharedCgroup) share(ctx context.Context, conn transport.Conn, args []string) error {
	for {
		shared, err := t.move(args)
		switch {
		case conn.ExitReason() != "":
			return nil
		case err != nil || shared:
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(sharedPoll):
		}
	}
}

// move moves the agent with args, which was started last. It returns false while the engine has
// not started it.
func (t sharedCgroup) move(args []string) (bool, error) {
	if t.leave != nil {
		return leaveGroups(t.leave, args)
	}
	moved, held, err := t.engine.ShareCPU(t.container)
	return moved > 0 || held, err
}
