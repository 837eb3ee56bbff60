package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
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
	container      *engine.Container
	ns             *linuxnet.NS
	own            bool            // the container has its own namespace
	device         string          // its own one with the address on its first network
	address        netip.Addr      // there, of IPv4; invalid until it is needed
	veth           pathspec.Device // the other end of the device
	vethAt         pathspec.Place  // where that is: its host, or the namespace of an overlay
	port           uint16          // published, 0 if none
	leaveGroups    bool            // its agents leave its control groups
	sandbox        *sandbox        // nil for a container whose processes are the host's
}

// run starts the container of one endpoint. spec selects its network; the rest is the same
// for all.
func (p *path) run(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*box, error) {
	name := containers.ContainerName(role, pair)
	spec.Run, spec.Part = p.lab.Spec.Claim.ID, role
	spec.Name = engine.Name(spec.Run, p.lab.Spec.Label, name)
	spec.Limit, spec.Unfiltered = containers.RoleLimit(p.order.Limits, role), p.order.Without(partSeccomp)
	b := &box{role: role, pair: pair, side: s, own: spec.Network != engine.HostNetwork}
	b.Place = pathspec.Place{At: s.At + "/" + name, Host: s.Host, Stack: s.Stack}
	if b.own {
		spec.Sysctls, b.device = containers.Sysctls(p.lab.Settings()), eth
	}
	if s.podman != nil && !s.podman.Rootless {
		spec.CgroupParent = s.engine.CgroupParent()
	}
	start := p.startContainer
	if start == nil {
		start = func(ctx context.Context, s *side, spec engine.ContainerSpec) (*engine.Container, error) {
			return s.engine.Run(ctx, spec)
		}
	}
	c, err := start(ctx, s, spec)
	if err != nil {
		return nil, s.engine.Explain(err)
	}
	b.container, b.ns, b.leaveGroups = c, s.ns, p.order.Without(partCgroup)
	if b.own {
		ns, err := c.Namespace()
		if err != nil {
			return nil, err
		}
		b.ns, b.Stack = ns, pathspec.NamespaceStack{NS: ns}
	}
	if p.config.Sandboxed() {
		err = p.enclose(b)
	}
	p.mu.Lock()
	p.boxes = append(p.boxes, b)
	p.mu.Unlock()
	if err != nil || !b.own {
		return b, err
	}
	if err := p.segmentation(b); err != nil || s.podman == nil {
		return b, err
	}
	return b, b.findOnlyDevice()
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

// discard removes a container of the path.
func (p *path) discard(ctx context.Context, b *box) error {
	p.mu.Lock()
	p.boxes = slices.DeleteFunc(p.boxes, func(o *box) bool { return o == b })
	p.mu.Unlock()
	err := b.container.Remove(ctx)
	if b.own {
		err = errors.Join(err, b.ns.Close())
	}
	return err
}

// segmentation applies the lab's offload settings to every device of a container.
func (p *path) segmentation(b *box) error {
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if err := b.ns.Tuning().Segmentation(d, p.lab.Spec.Offload); err != nil {
			return err
		}
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
	launcher := sharedCgroup{container: b.container, engine: b.side.engine, who: b.side.who()}
	if b.leaveGroups {
		launcher.leave = b.ns
	}
	return pathspec.Endpoint{Place: b.Place, Launcher: launcher}
}

// who returns what the engine of a host is called in messages.
func (s *side) who() string {
	if s.podman != nil {
		return "Podman"
	}
	return "the engine"
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

// plugged is run, and finds the host's end of the container's veth.
func (p *path) plugged(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*box, error) {
	b, err := p.run(ctx, s, role, pair, spec)
	if err == nil {
		err = p.plug(b, s.Place, s.ns)
	}
	return b, err
}

// plug finds the other end of the container's device in a namespace, with the container's role as its
// name, and applies the lab's offload settings to it.
func (p *path) plug(b *box, at pathspec.Place, in *linuxnet.NS) error {
	name, err := b.ns.Links().PeerIn(in, b.device)
	if err != nil {
		return err
	}
	b.veth, b.vethAt = pathspec.Device{Name: name, Role: containers.ContainerName(b.role, b.pair) + ".veth"}, at
	return in.Tuning().Segmentation(name, p.lab.Spec.Offload)
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
	conn, err := t.container.Launch(ctx, args...)
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
