package podman

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

const lo = "lo"

// joinWait is how long the endpoints of a path may take to reach each other.
func joinWait() time.Duration { return timelimit.Scaled(5 * time.Second) }

// box is a container of the path with its network namespace.
type box struct {
	pathspec.Place // a/client
	role           string
	pair           int
	side           *side
	container      *engine.Container
	ns             *linuxnet.NS
	own            bool            // the container has its own namespace
	device         string          // with its address; empty on the host network
	addr           netip.Addr      // of the device
	veth           pathspec.Device // the host's end; of containers on a bridge
	port           uint16          // published, 0 if none
}

// run starts the container of one endpoint on a network, with a published port if that is not 0.
func (p *path) run(ctx context.Context, s *side, role string, pair int, network string, port uint16) (*box, error) {
	name := containers.ContainerName(role, pair)
	spec := engine.ContainerSpec{
		Run: p.lab.Spec.Claim.ID, Part: role, Name: engine.Name(p.lab.Spec.Claim.ID, p.lab.Spec.Label, name),
		Network: network, Limit: containers.RoleLimit(p.order.Limits, role),
	}
	if port != 0 {
		spec.Publish = []engine.Publish{{Host: netip.AddrPortFrom(netip.IPv4Unspecified(), port), Port: port}}
	}
	if !s.info.Rootless {
		spec.CgroupParent = s.podman.CgroupParent()
	}
	b := &box{role: role, pair: pair, side: s, own: network != engine.HostNetwork, ns: s.ns, port: port}
	b.Place = pathspec.Place{At: s.At + "/" + name, Host: s.Host, Stack: s.Stack}
	if b.own {
		spec.Sysctls = containers.Sysctls(p.lab.Settings())
	}
	var err error
	if b.container, err = s.podman.Run(ctx, spec); err != nil {
		return nil, err
	}
	if !b.own {
		p.boxes = append(p.boxes, b)
		return b, nil
	}
	if b.ns, err = b.container.Namespace(); err != nil {
		return nil, err
	}
	b.Stack = pathspec.NamespaceStack{NS: b.ns}
	p.boxes = append(p.boxes, b)
	return b, p.findDevice(b)
}

// findDevice finds the container's device, which has its only address besides the loopback one.
func (p *path) findDevice(b *box) error {
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if err := b.ns.Tuning().Segmentation(d, p.lab.Spec.Offload); err != nil {
			return err
		}
		own, err := b.ns.Routes().Addresses(d)
		if err != nil {
			return err
		}
		for _, a := range own {
			if d != lo && a.Addr().Is4() {
				b.device, b.addr = d, a.Addr()
			}
		}
	}
	if b.device == "" {
		return fmt.Errorf("container %s on host %s has no device with an IPv4 address", b.container.Name, b.Host)
	}
	return nil
}

// end returns the endpoint of the container's agent.
func (b *box) end() pathspec.Endpoint {
	if b.side.info.Rootless {
		// It is in the control groups of this program.
		return pathspec.Endpoint{Place: b.Place, Launcher: b.container}
	}
	return pathspec.Endpoint{Place: b.Place, Launcher: sharedCPU{b.container, b.side.podman}}
}

// end returns the endpoint of a host process.
func (s *side) end() pathspec.Endpoint {
	return pathspec.Endpoint{Place: s.Place, Launcher: transport.Local{Start: s.ns.Start}}
}

// process returns the step for the container's agent.
func (b *box) process() pathspec.Step {
	return containers.ProcessStep(b.Place, b.side.podman.Engine, b.container)
}

// deviceStep returns the step for the container's device, and hostStep for one of its host.
func (b *box) deviceStep() pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(b.Place, pathspec.Device{Name: b.device}))
}

func (s *side) hostStep(name string) pathspec.Step {
	return pathspec.DeviceStep(s.Place, pathspec.Device{Name: name})
}

// underlay requires that the traffic of all pairs crosses the underlay, in packets of the endpoints.
func (p *path) underlay() {
	p.MustCarry(pathspec.AllPairs, p.a.Place, pathspec.Device{Name: lab.Underlay}, pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: lab.Underlay}, pathspec.Receives)
}

// sharedCPU starts agents in a container, and has them scheduled like those of every other mode; see
// private.Engine.ShareCPU.
type sharedCPU struct {
	container *engine.Container
	podman    *private.Engine
}

// Launch starts an agent in the container.
func (t sharedCPU) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	conn, err := t.container.Launch(ctx, args...)
	if err != nil {
		return nil, err
	}
	within := timelimit.Scaled(5 * time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("wait for Podman on host %s to start an agent: timed out after %s", t.podman.Name, within))
	defer cancel()
	for {
		moved, held, err := t.podman.ShareCPU(t.container)
		switch {
		case conn.ExitReason() != "": // the caller that waits for its handshake reports that
			return conn, nil
		case err != nil:
			return nil, errors.Join(err, conn.Close(ctx))
		case moved > 0 || held:
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), conn.Close(ctx))
		case <-time.After(2 * time.Millisecond):
		}
	}
}
