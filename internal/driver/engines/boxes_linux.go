package engines

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// boxes starts the containers of a path.
type boxes struct {
	hosts *hosts
	order driver.Order
	adapt func(*box) error // adapts the spec of a container that is about to be started; nil for nothing
	// start starts a container on a host in another way than by its engine alone; nil for that.
	start func(context.Context, *side, engine.ContainerSpec) (*engine.Container, error)
	mu    sync.Mutex // guards all while they are started in parallel
	all   []*box
}

// run starts the container of one endpoint. spec selects its network; the rest is the same
// for all.
func (c *boxes) run(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*box, error) {
	name := lab.PairName(role, pair)
	spec.Run, spec.Part = c.hosts.lab.Spec.Claim.ID, role
	spec.Name = engine.Name(spec.Run, c.hosts.lab.Spec.Label, name)
	spec.Limit, spec.Unfiltered = containers.RoleLimit(c.order.Limits, role), c.order.Without(partSeccomp)
	b := &box{role: role, pair: pair, side: s, own: spec.Network != engine.HostNetwork}
	b.Place = pathspec.Place{At: s.At + "/" + name, Host: s.Host, Stack: s.Stack}
	if b.own {
		spec.Sysctls, b.device = containers.Sysctls(c.hosts.lab.Settings()), eth
	}
	if s.podman != nil && !s.podman.Rootless {
		spec.CgroupParent = s.engine.CgroupParent()
	}
	if b.spec = spec; c.adapt != nil {
		if err := c.adapt(b); err != nil {
			return nil, err
		}
		spec = b.spec
	}
	start := c.start
	if start == nil {
		start = func(ctx context.Context, s *side, spec engine.ContainerSpec) (*engine.Container, error) {
			return s.engine.Run(ctx, spec)
		}
	}
	c.order.Clock.SandboxBegins(name)
	started, err := start(ctx, s, spec)
	if err != nil {
		return nil, s.engine.Explain(err)
	}
	c.order.Clock.SandboxExists(name)
	b.container, b.ns, b.leaveGroups, b.direct = started, s.ns, c.order.Without(partCgroup), c.hosts.config.LiveRestore
	if b.own {
		ns, err := started.Namespace()
		if err != nil {
			return nil, err
		}
		b.ns, b.Stack = ns, pathspec.NamespaceStack{NS: ns}
	}
	if c.hosts.config.Sandboxed() {
		err = b.enclose(c.hosts.config.Runtime)
	}
	c.mu.Lock()
	c.all = append(c.all, b)
	c.mu.Unlock()
	if err != nil || !b.own {
		return b, err
	}
	if err := c.segmentation(b); err != nil || s.podman == nil {
		return b, err
	}
	return b, b.findOnlyDevice()
}

// discard removes a container of the path.
func (c *boxes) discard(ctx context.Context, b *box) error {
	c.mu.Lock()
	c.all = slices.DeleteFunc(c.all, func(o *box) bool { return o == b })
	c.mu.Unlock()
	err := b.container.Remove(ctx)
	if b.own {
		err = errors.Join(err, b.ns.Close())
	}
	return err
}

// segmentation applies the lab's offload settings to every device of a container.
func (c *boxes) segmentation(b *box) error {
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if err := b.ns.Tuning().Segmentation(d, c.hosts.lab.Spec.Offload); err != nil {
			return err
		}
	}
	return nil
}

// plugged is run, and finds the host's end of the container's veth.
func (c *boxes) plugged(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*box, error) {
	b, err := c.run(ctx, s, role, pair, spec)
	if err == nil {
		err = c.plug(b, s.Place, s.ns)
	}
	return b, err
}

// plug finds the other end of the container's device in a namespace, with the container's role as its
// name, and applies the lab's offload settings to it.
func (c *boxes) plug(b *box, at pathspec.Place, in *linuxnet.NS) error {
	name, err := b.ns.Links().PeerIn(in, b.device)
	if err != nil {
		return err
	}
	b.veth, b.vethAt = pathspec.Device{Name: name, Role: lab.PairName(b.role, b.pair) + ".veth"}, at
	return in.Tuning().Segmentation(name, c.hosts.lab.Spec.Offload)
}

// onBridge starts a container on the default bridge.
func (c *boxes) onBridge(ctx context.Context, s *side, role string, pair int, spec engine.ContainerSpec) (*box, error) {
	b, err := c.plugged(ctx, s, role, pair, spec)
	if err != nil {
		return nil, err
	}
	if b.address, err = b.addr(); err != nil {
		return nil, err
	}
	// The engine created the bridge when it started, without offload settings.
	return b, s.ns.Tuning().Segmentation(s.bridge, c.hosts.lab.Spec.Offload)
}

// limitFacts returns the limits that the engines apply, as read back.
func (c *boxes) limitFacts() (facts []result.Fact) {
	for _, role := range []string{containers.Client, containers.Server} {
		for _, b := range c.all {
			if b.pair == 1 && b.role == role {
				facts = append(facts, containers.LimitFact(role, b.container.Limit)...)
			}
		}
	}
	return facts
}

// close closes the containers' namespaces. The containers end with their engines.
func (c *boxes) close() error {
	var errs []error
	for _, b := range c.all {
		if b.own {
			errs = append(errs, b.ns.Close())
		}
	}
	return errors.Join(errs...)
}

// containerPair is the two containers of a pair.
type containerPair struct{ from, to *box }

// end returns the pair's container in a role.
func (c *containerPair) end(role string) **box {
	if role == containers.Client {
		return &c.from
	}
	return &c.to
}

// pairs starts the containers of all pairs: the clients on a and the servers on b,
// in parallel if those are two engines.
func (c *boxes) pairs(ctx context.Context, spec func(role string, pair int) engine.ContainerSpec) ([]containerPair, error) {
	all := make([]containerPair, c.order.Pairs)
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = c.startRole(ctx, containers.Client, all, spec) })
	wg.Go(func() { errs[1] = c.startRole(ctx, containers.Server, all, spec) })
	wg.Wait()
	return all, cmp.Or(errs[0], errs[1]) // report a common cause once
}

// startRole starts the containers with one role of all pairs.
func (c *boxes) startRole(ctx context.Context, role string, all []containerPair, spec func(role string, pair int) engine.ContainerSpec) error {
	s := c.hosts.a
	if role == containers.Server {
		s = c.hosts.b
	}
	for i := range all {
		b, err := c.run(ctx, s, role, i+1, spec(role, i+1))
		if err != nil {
			return err
		}
		*all[i].end(role) = b
	}
	return nil
}

// pairsOf returns the pairs of containers, with the address on the server's first network.
func pairsOf(all []containerPair) ([]driver.Pair, error) {
	var p pathspec.Path
	for _, c := range all {
		at, err := c.to.addr()
		if err != nil {
			return nil, err
		}
		p.AddPair(c.from.end(), c.to.end(), []netip.Addr{at}, []netip.Addr{at}, pathspec.ServerChoosesPort)
	}
	return p.Pairs(), nil
}
