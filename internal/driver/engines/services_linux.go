package engines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// The names of a Swarm's routing mesh on each node.
const (
	meshNetwork = "ingress"
	meshSandbox = "ingress_sbox" // the namespace with the load balancer
)

// mesh is a node's part of the routing mesh.
type mesh struct {
	side    *side
	sandbox *namespace // the namespace with the load balancer
	overlay *namespace // that of the network ingress
	at      netip.Addr // of the sandbox on docker_gwbridge
	// The devices of the sandbox, and their other ends.
	gateway, gatewayVeth pathspec.Device // on docker_gwbridge
	network, networkVeth pathspec.Device // on the network ingress
}

// meshPath is a path through the routing mesh.
type meshPath struct {
	*path
	servers []*box
	near    *mesh      // of the node that is dialled
	far     *namespace // that of the network ingress on host b, where the tasks run
}

func (routingMesh) build(ctx context.Context, on *path) error {
	p := &meshPath{path: on}
	if err := p.checkKernel(ctx); err != nil {
		return err
	}
	dialled, nodes := p.b, []*side{p.b}
	if p.endpointOther() {
		dialled, nodes = p.a, []*side{p.a, p.b}
	}
	if err := p.swarm(ctx, nodes...); err != nil {
		return err
	}
	if err := p.startAsTasks(dialled, true); err != nil {
		return err
	}
	err := p.startServers(ctx)
	if err != nil {
		return err
	}
	if p.near, err = p.openMesh(ctx, dialled); err != nil {
		return err
	}
	p.far = p.near.overlay
	if dialled != p.b {
		if p.far, err = p.openMeshNetwork(ctx, p.b); err != nil {
			return err
		}
	}
	return p.prove(ctx)
}

// endpointOther reports whether the task runs on another node than the one that is dialled.
func (p *meshPath) endpointOther() bool { return p.order.With[settingEndpoint] == endpointOther }

// checkKernel returns an *Unsupported if the kernel lacks what the routing mesh requires. The engine
// starts such tasks nevertheless, and their ports are not reached.
func (p *meshPath) checkKernel(ctx context.Context) error {
	lacks := func(err error) error {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the kernel lacks what the routing mesh of a Swarm requires: %v", err)}
	}
	if err := linuxnet.ProbeIPVS(); err != nil {
		return lacks(err)
	}
	ns, err := linuxnet.NewNS("tare-try")
	if err != nil {
		return err
	}
	defer ns.Close()
	if _, err := firewall.Run(ctx, ns, "iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-m", "ipvs", "--ipvs", "-j", "ACCEPT"); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return lacks(fmt.Errorf("no match ipvs of iptables (CONFIG_NETFILTER_XT_MATCH_IPVS): %w", err))
	}
	if mtu := p.lab.Spec.MTU; p.endpointOther() && mtu < lab.DefaultMTU {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the network ingress has the MTU of an underlay of %d bytes, and this one has %d", lab.DefaultMTU, mtu)}
	}
	return nil
}

// startServers starts the servers on host b, each as a task with its own published port.
func (p *meshPath) startServers(ctx context.Context) error {
	return p.ForEachPair(func(pair int) error {
		s, err := p.boxes.run(ctx, p.b, containers.Server, pair, engine.ContainerSpec{Publish: publish(portOf(pair))})
		if err != nil {
			return err
		}
		s.port = portOf(pair)
		p.servers = append(p.servers, s)
		return s.findDevice()
	})
}

// meshTimeout bounds how long an engine may take for each step of setting up its part of the mesh,
// beside starting the task, on a real CPU. It takes a fraction of a second, and longer if it must
// first hear of the task from another engine.
const meshTimeout = 90 * time.Second

// openMeshNetwork opens a node's namespace of the network ingress.
func (h *hosts) openMeshNetwork(ctx context.Context, s *side) (*namespace, error) {
	n, err := s.engine.Network(ctx, meshNetwork)
	if err != nil {
		return nil, err
	}
	return h.openOverlay(s, n.ID)
}

// findMesh finds a node's namespace with the load balancer, and its devices. Engines create it in the
// background when they have joined a Swarm.
func (h *hosts) findMesh(ctx context.Context, s *side, within time.Duration) (m *mesh, err error) {
	m = &mesh{side: s}
	if m.sandbox, err = h.openMeshSandbox(ctx, s, within); err != nil {
		return nil, err
	}
	return m, eventually(ctx, within, func() (err error) {
		if m.gateway.Name, m.at, err = m.deviceOn(ctx, gwbridge); err == nil {
			m.network.Name, _, err = m.deviceOn(ctx, meshNetwork)
		}
		return err
	})
}

// openMesh opens the part of the mesh of the node that is dialled.
func (h *hosts) openMesh(ctx context.Context, s *side) (*mesh, error) {
	m, err := h.findMesh(ctx, s, meshTimeout)
	if err != nil {
		return nil, err
	}
	m.gatewayVeth, m.networkVeth = pathspec.Device{Role: "mesh.gateway.veth"}, pathspec.Device{Role: "mesh.veth"}
	ns := m.sandbox.ns
	if m.overlay, err = h.openMeshNetwork(ctx, s); err != nil {
		return nil, err
	}
	if m.gatewayVeth.Name, err = ns.Links().PeerIn(s.ns, m.gateway.Name); err != nil {
		return nil, err
	}
	if m.networkVeth.Name, err = ns.Links().PeerIn(m.overlay.ns, m.network.Name); err != nil {
		return nil, err
	}
	// A new namespace forwards if the machine's first one does, where an engine otherwise runs and sees
	// to that. The engine created the devices without offload settings.
	offload := h.lab.Spec.Offload
	return m, errors.Join(h.lab.EnableForwarding(ns), ns.Tuning().Segmentation(m.gateway.Name, offload), ns.Tuning().Segmentation(m.network.Name, offload), s.ns.Tuning().Segmentation(gwbridge, offload),
		s.ns.Tuning().Segmentation(m.gatewayVeth.Name, offload), m.overlay.ns.Tuning().Segmentation(m.networkVeth.Name, offload))
}

// deviceOn returns the sandbox's device on a network of the engine, with its address there.
func (m *mesh) deviceOn(ctx context.Context, network string) (device string, at netip.Addr, err error) {
	n, err := m.side.engine.Network(ctx, network)
	if err != nil {
		return "", at, err
	}
	devices, err := m.sandbox.ns.Links().Devices()
	if err != nil {
		return "", at, err
	}
	for _, d := range devices {
		own, err := m.sandbox.ns.Routes().Addresses(d)
		if err != nil {
			return "", at, err
		}
		for _, a := range own {
			if d != lo && slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(a.Addr()) }) {
				return d, a.Addr(), nil
			}
		}
	}
	return "", at, fmt.Errorf("find the device on the network %s in namespace %s of host %s: none of %q has an address of it", network, meshSandbox, m.side.At, devices)
}

// openMeshSandbox opens a node's namespace of the mesh.
func (h *hosts) openMeshSandbox(ctx context.Context, s *side, within time.Duration) (found *namespace, err error) {
	// Until it refers to the namespace, the file does not exist, or is an empty one.
	err = eventually(ctx, within, func() (err error) {
		found, err = h.open(s, "mesh", filepath.Join(s.engine.Exec(), "netns", meshSandbox))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the namespace of the routing mesh on host %s: %w", s.At, err)
	}
	return found, nil
}

// balancerCounter and snatCounter name what the mesh's namespace counts: what its load balancer has
// carried, and the connections whose source it has translated.
func (m *mesh) balancerCounter(what string) string {
	return pathspec.CounterName(m.sandbox.At, "ipvs", what)
}
func (m *mesh) snatCounter() string { return pathspec.CounterName(m.sandbox.At, "snat", "packets") }

// prove adds the pairs, the rules and the steps of the path.
func (p *meshPath) prove(ctx context.Context) error {
	m, far := p.near, p.far
	for _, s := range p.servers {
		if err := p.boxes.plug(s, far.Place, far.ns); err != nil {
			return err
		}
		p.AddPair(p.a.end(), s.end(), s.listens(), m.side.address(), s.port)
		p.MustCarry(s.pair, far.Place, s.veth, pathspec.Transmits)
		// The other devices are loopback and the one on docker_gwbridge.
		if err := p.bypassOthers(s, s.device); err != nil {
			return err
		}
		p.AddRules(driver.Rule{Counter: dnatCounter(m.side, s.port), Expect: driver.Connections, Pair: s.pair})
	}
	for _, d := range []struct {
		at      pathspec.Place
		device  pathspec.Device
		forward pathspec.Direction
	}{
		{m.side.Place, pathspec.Device{Name: gwbridge}, pathspec.Transmits},
		{m.side.Place, m.gatewayVeth, pathspec.Transmits},
		{m.sandbox.Place, m.gateway, pathspec.Receives},
		{m.sandbox.Place, m.network, pathspec.Transmits},
		{m.overlay.Place, m.networkVeth, pathspec.Receives},
	} {
		p.MustCarry(pathspec.AllPairs, d.at, d.device, d.forward)
	}
	p.AddRules(
		driver.Rule{Counter: m.balancerCounter("in_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: m.balancerCounter("out_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: m.snatCounter(), Expect: driver.Connections})
	for _, s := range p.sides() {
		p.idle(s.Place, docker0, lo)
	}
	p.idle(m.sandbox.Place, lo)
	p.idle(m.overlay.Place, overlayBridge)
	if far == m.overlay {
		p.underlay()
		p.idle(far.Place, overlayTunnel)
	} else {
		p.sharedUnderlay()
		p.MustCarry(pathspec.AllPairs, m.overlay.Place, pathspec.Device{Name: overlayTunnel}, pathspec.Transmits)
		p.MustCarry(pathspec.AllPairs, far.Place, pathspec.Device{Name: overlayTunnel}, pathspec.Receives)
		p.idle(far.Place, overlayBridge)
		p.idle(p.b.Place, gwbridge)
	}
	// A flow that uses the port of an ended one would otherwise match no rule.
	p.AfterFlush(func(context.Context) error { return m.sandbox.ns.Rules().FlushConntrack() })
	p.setSteps()
	if err := p.watchMesh(ctx); err != nil {
		return err
	}
	// The engines program their load balancers when they have heard of the task.
	return p.reach.all(ctx, containers.GossipTimeout)
}

// setSteps sets the steps of the path.
func (p *meshPath) setSteps() {
	m, far, s := p.near, p.far, p.servers[0]
	steps := []pathspec.Step{pathspec.ProcessStep(p.a.Place)}
	if far == m.overlay {
		steps = append(steps, p.a.device(eth), p.b.device(eth))
	}
	steps = append(steps,
		pathspec.PerPair(proven(m.side.Place, "nat", "DNAT", dnatCounter(m.side, s.port))),
		m.side.device(gwbridge), pathspec.DeviceStep(m.side.Place, m.gatewayVeth), pathspec.DeviceStep(m.sandbox.Place, m.gateway),
		proven(m.sandbox.Place, "ipvs", "IPVS", m.balancerCounter("")), proven(m.sandbox.Place, "nat", "SNAT", m.snatCounter()),
		pathspec.DeviceStep(m.sandbox.Place, m.network), pathspec.DeviceStep(m.overlay.Place, m.networkVeth), m.overlay.device(overlayBridge))
	if far != m.overlay {
		steps = append(steps, m.overlay.device(overlayTunnel), p.a.device(eth), p.b.device(eth), far.device(overlayTunnel), far.device(overlayBridge))
	}
	p.SetSteps(append(steps, s.vethStep(), s.ethStep(), s.process())...)
}

// watchMesh reads before and after each trial what the rules of the mesh have matched and what its load
// balancer has carried, and checks that they exist now.
func (p *meshPath) watchMesh(ctx context.Context) error {
	m := p.near
	t := translation{side: m.side}
	for _, s := range p.servers {
		t.ports = append(t.ports, publishedPort{s.port, m.at})
	}
	// The engine writes the rules when it has heard of the task.
	err := eventually(ctx, meshTimeout, func() error {
		missing, err := t.read(ctx, driver.Counters{})
		if err == nil && missing != "" {
			err = errors.New(missing)
		}
		if err != nil {
			return err
		}
		return m.read(ctx, driver.Counters{})
	})
	if err != nil {
		return err
	}
	p.AddReader(m.read)
	return t.watch(ctx, p.path)
}

// read reads the counters of the mesh's namespace.
func (m *mesh) read(ctx context.Context, into driver.Counters) error {
	text, err := firewall.Run(ctx, m.sandbox.ns, "iptables-save", "-c", "-t", "nat")
	if err != nil {
		return fmt.Errorf("read the table nat of %s: %w", m.sandbox.At, err)
	}
	rules, err := firewall.ParseIptables(text)
	if err != nil {
		return err
	}
	// Other rules translate the source of answers of the engine's DNS server, in a chain of their own.
	rules = slices.DeleteFunc(rules, func(r firewall.Rule) bool { return r.Chain != "POSTROUTING" || r.Target != "SNAT" })
	if len(rules) == 0 {
		return fmt.Errorf("find the SNAT rule of the routing mesh on host %s: table nat of %s has none", m.side.At, meshSandbox)
	}
	into[m.snatCounter()] = firewall.Packets(rules)
	carried, err := m.sandbox.ns.Rules().IPVS()
	into[m.balancerCounter("in_bytes")], into[m.balancerCounter("out_bytes")] = carried.InBytes, carried.OutBytes
	return err
}

// settleTimeout bounds the wait for a Swarm's engines to finish what they do in the background, on a
// real CPU. It takes a fraction of a second.
func settleTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// swarm creates a Swarm of the engines of hosts, the first of which is its manager. It waits until they
// have set up the routing mesh, whose devices appear on the hosts and move to other namespaces. An
// engine that cannot set it up, because the kernel lacks VXLAN, runs tasks nevertheless.
func (h *hosts) swarm(ctx context.Context, nodes ...*side) error {
	var workers []*private.Engine
	for _, s := range nodes[1:] {
		workers = append(workers, s.engine)
	}
	if err := private.Swarm(ctx, h.lab, nodes[0].engine, workers...); err != nil {
		return err
	}
	for _, s := range nodes {
		if _, err := h.findMesh(ctx, s, settleTimeout()); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// startAsTasks makes the containers of the path tasks of services, created by the engine of a manager.
func (p *path) startAsTasks(manager *side, ingress bool) error {
	if err := manager.engine.CheckUnfilteredService(); p.order.Without(partSeccomp) && err != nil {
		return &driver.Unsupported{Mode: p.Mode, Reason: err.Error()}
	}
	p.boxes.start = func(ctx context.Context, s *side, spec engine.ContainerSpec) (*engine.Container, error) {
		return manager.engine.RunService(ctx, engine.ServiceSpec{ContainerSpec: spec, Node: s.engine.Engine, Ingress: ingress})
	}
	return nil
}
