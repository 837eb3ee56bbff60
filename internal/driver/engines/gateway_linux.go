package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/firewall"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/result"
)

// gatewayBridge is the bridge of a network with a gateway mode.
const gatewayBridge = "gateway0"

// The options of Docker's bridge driver.
const (
	optionPrefix       = "com.docker.network."
	bridgeOptionPrefix = optionPrefix + "bridge."

	optionBridge   = bridgeOptionPrefix + "name"
	optionGateway4 = bridgeOptionPrefix + "gateway_mode_ipv4"
	optionGateway6 = bridgeOptionPrefix + "gateway_mode_ipv6"
)

// checkGatewayOptions rejects options of a study that its mode sets itself, and those that Docker's
// bridge driver would ignore.
func checkGatewayOptions(m mode, o driver.Order) error {
	if !m.gateway {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.Options)) {
		switch {
		case slices.Contains([]string{optionBridge, optionMTU, optionGateway4, optionGateway6, optionTrusted}, name):
			return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("the mode sets the option %s itself; leave it out", name)}
		case !strings.HasPrefix(name, optionPrefix):
			return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("Docker's bridge driver ignores the option %s; its own begin with %s, as in %senable_icc", name, optionPrefix, bridgeOptionPrefix)}
		}
	}
	return nil
}

// gatewayPath is a path over a network with a gateway mode.
type gatewayPath struct {
	*path
	gateway
	trusted bool // the engine lets packets from the underlay to the servers' own addresses pass
	servers []portTo
	accepts []acceptRule
}

// publishes reports whether each server has a published port: the engine accepts connections to these
// only.
func (p *gatewayPath) publishes() bool { return p.mode == gatewayRouted || p.mode == gatewayNAT }

// network creates the network on a host, with both address families if the kernel has them and the
// engine connects both.
func (p *gatewayPath) network(ctx context.Context, s *side) (engine.Network, error) {
	spec := engine.NetworkSpec{
		Run: p.lab.Spec.Claim.ID, Driver: "bridge", Internal: p.mode == gatewayIsolated,
		Options: map[string]string{optionBridge: gatewayBridge, optionMTU: strconv.Itoa(p.lab.Spec.MTU)},
	}
	spec.Name = engine.Name(spec.Run, "gateway")
	spec.Subnet, spec.Subnet6 = containers.SplitFamilies(p.lab.Addresses(lab.NetOverlay, 0))
	if p.trusted {
		spec.Options[optionTrusted] = eth
	}
	switch known := s.engine.KnowsGateway(p.mode); {
	case known:
		spec.Options[optionGateway4] = p.mode
		if spec.Subnet6.IsValid() {
			spec.Options[optionGateway6] = p.mode
		}
	case p.mode == gatewayNAT: // the only one of older engines, by default for IPv4 only
		spec.Subnet6 = netip.Prefix{}
	default: // older engines accept the option and ignore it
		return engine.Network{}, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("Docker Engine %s has no gateway mode %s (API %s; %s is required); name a newer one in the mode's engine: {lab: current}",
			s.engine.Versions.Engine, p.mode, s.engine.Versions.API, engine.GatewayAPI(p.mode))}
	}
	maps.Copy(spec.Options, p.order.Options)
	n, err := s.engine.CreateNetwork(ctx, spec)
	if err != nil {
		return n, err
	}
	p.AddFacts(result.Fact{Name: s.At + " gateway mode", Value: cmp.Or(n.Options[optionGateway4], gatewayNAT)})
	for _, name := range slices.Sorted(maps.Keys(p.order.Options)) {
		p.AddFacts(result.Fact{Name: s.At + " option " + name, Value: n.Options[name]})
	}
	return n, s.ns.Tuning().Segmentation(gatewayBridge, p.lab.Spec.Offload)
}

func (m gateway) build(ctx context.Context, on *path) error {
	p := &gatewayPath{path: on, gateway: m}
	switch {
	case m.mode == gatewayIsolated:
		return p.isolated(ctx)
	case m.direct:
		return p.directly(ctx)
	}
	return p.toServers(ctx)
}

// toServers starts the servers on host b, and requires what the gateway does with connections to them.
func (p *gatewayPath) toServers(ctx context.Context) error {
	n, err := p.network(ctx, p.b)
	if err != nil {
		return err
	}
	if err := p.ForEachPair(func(pair int) error { return p.startServer(ctx, pair, n.Name) }); err != nil {
		return err
	}
	if err := p.route(); err != nil {
		return err
	}
	p.MustCarry(pathspec.AllPairs, p.b.Place, pathspec.Device{Name: gatewayBridge}, pathspec.Transmits)
	p.idle(p.b.Place, docker0, lo)
	p.underlay()
	for _, a := range p.accepts {
		if err := a.watch(ctx, &p.Path); err != nil {
			return err
		}
	}
	if p.mode != gatewayNAT {
		return p.untranslated()
	}
	if err := p.watchPublished(ctx); err != nil || p.translated {
		return err
	}
	return p.watchDirect(ctx)
}

// startServer starts the server of a pair on a network.
func (p *gatewayPath) startServer(ctx context.Context, pair int, network string) error {
	spec, port := engine.ContainerSpec{Network: network}, uint16(pathspec.ServerChoosesPort)
	if p.publishes() {
		port = portOf(pair)
		spec.Publish = publish(port)
	}
	b, err := p.boxes.plugged(ctx, p.b, containers.Server, pair, spec)
	if err != nil {
		return err
	}
	b.port = port
	at := b.container.Addresses()
	dial := at
	if p.translated {
		dial = p.b.host.Addr[:len(at)]
	}
	p.AddPair(p.a.end(), b.end(), at, dial, port)
	p.MustCarry(pair, p.b.Place, b.veth, pathspec.Transmits)
	p.servers = append(p.servers, portTo{port, at})
	accept := acceptRule{side: p.b, pair: pair, port: port, to: at}
	if p.publishes() || pair == 1 {
		p.accepts = append(p.accepts, accept)
	}
	if p.mode == gatewayNAT {
		if err := p.idleProxies(port); err != nil {
			return err
		}
	}
	if pair > 1 {
		return nil
	}
	steps := []pathspec.Step{pathspec.ProcessStep(p.a.Place), p.a.device(eth), p.b.device(eth)}
	if p.translated {
		steps = append(steps, b.dnatStep())
	}
	p.SetSteps(append(steps, accept.step(), p.b.device(gatewayBridge), b.vethStep(), b.ethStep(), b.process())...)
	return nil
}

// route makes host b a router, and gives host a a route to the network unless it dials published
// ports.
func (p *gatewayPath) route() error {
	if err := p.lab.EnableForwarding(p.b.ns); err != nil || p.translated {
		return err
	}
	for i, subnet := range p.lab.Addresses(lab.NetOverlay, 0) {
		if err := p.a.ns.Routes().Route(subnet.Masked(), p.b.host.Addr[i], ""); err != nil {
			return err
		}
	}
	return nil
}

// idleProxies requires that the processes docker-proxy of a published port of host b forward nothing,
// or that there are none if the engine runs without.
func (p *gatewayPath) idleProxies(port uint16) error {
	x := proxies{p.b, port}
	if !p.config.NoProxy {
		p.AddRules(driver.Rule{Counter: x.counter(), Expect: driver.ProcessIdle})
	}
	return x.watch(p.path)
}

// acceptRule is the rule by which a host's engine lets connections into a container, or into all
// containers of a network without protection. Each of its rules of a connection's family and protocol
// sees the first packet; those that follow match a rule for established connections.
type acceptRule struct {
	side *side
	pair int
	port uint16 // 0 for all connections to the network
	to   []netip.Addr
}

func (a acceptRule) counter() string {
	if a.port == 0 {
		return pathspec.CounterName(a.side.At, "accept:"+gatewayBridge, "packets")
	}
	return pathspec.CounterName(a.side.At, fmt.Sprintf("accept:%d", a.port), "packets")
}

// step is the rule's step. Without a port it is the same rule for all pairs.
func (a acceptRule) step() pathspec.Step {
	step := proven(a.side.Place, "filter", "ACCEPT", a.counter())
	if a.port == 0 {
		return step
	}
	return pathspec.PerPair(step)
}

// is reports whether a rule is this one.
func (a acceptRule) is(r firewall.Rule) bool {
	switch {
	case r.Target != "ACCEPT":
		return false
	case a.port != 0:
		return r.Port == a.port && slices.Contains(a.to, r.Dest)
	case a.side.firewall().Nftables:
		return r.Bare && r.Chain == "filter-forward-in__"+gatewayBridge
	default:
		return r.Chain == "DOCKER" && r.NotIn == gatewayBridge && !r.Dest.IsValid()
	}
}

// watch reads the packets of the rule before and after each trial, and checks that it exists
// now for each family.
func (a acceptRule) watch(ctx context.Context, p *pathspec.Path) error {
	read := func(ctx context.Context, into driver.Counters) error {
		into[a.counter()] = 0
		for _, at := range a.to {
			rules, err := a.side.firewall().Rules(ctx, firewall.FamilyOf(at), "filter")
			if err != nil {
				return err
			}
			found := slices.DeleteFunc(rules, func(r firewall.Rule) bool { return !a.is(r) })
			if len(found) == 0 {
				return fmt.Errorf("find the rule that accepts connections to %s on host %s: %s has none", at, a.side.At, a.side.firewall().Table(firewall.FamilyOf(at), "filter"))
			}
			into[a.counter()] += firewall.Packets(found)
		}
		return nil
	}
	pair := a.pair
	if a.port == 0 {
		pair = pathspec.AllPairs
	}
	return p.Watch(ctx, read, driver.Rule{Counter: a.counter(), Expect: driver.Connections, Pair: pair})
}

// untranslated requires after every trial that no rule translates an address to that of a server.
func (p *gatewayPath) untranslated() error {
	var at []string
	for _, a := range p.accepts {
		for _, to := range a.to {
			at = append(at, to.String())
		}
	}
	p.AddFacts(result.Fact{Name: p.b.At + " address translation", Value: "no DNAT rule to " + strings.Join(at, ", ")})
	return p.Check(func() error {
		for _, f := range []firewall.Family{firewall.IPv4, firewall.IPv6} {
			rules, err := p.b.firewall().Rules(context.Background(), f, "nat")
			if err != nil {
				return err
			}
			for _, r := range rules {
				if r.Target == "DNAT" && slices.Contains(at, r.To.Addr().String()) {
					return fmt.Errorf("a rule of host %s translates port %d to %s, although the gateway mode translates nothing", p.b.At, r.Port, r.To)
				}
			}
		}
		return nil
	})
}

// isolated: two containers for each pair on a bridge of a on which the host has no address.
func (p *gatewayPath) isolated(ctx context.Context) error {
	n, err := p.network(ctx, p.a)
	if err != nil {
		return err
	}
	err = p.bothOn(ctx, p.a.device(gatewayBridge), engine.ContainerSpec{Network: n.Name}, gatewayBridge, docker0, eth, lo)
	return errors.Join(err, p.Check(p.unaddressed))
}

// unaddressed requires that the host has no address on the bridge, by which a container could reach
// it.
func (p *gatewayPath) unaddressed() error {
	own, err := p.a.ns.Routes().Addresses(gatewayBridge)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(own, func(a netip.Prefix) bool { return !a.Addr().IsLinkLocalUnicast() }); i >= 0 {
		return fmt.Errorf("host %s has the address %s on %s, although the network is isolated", p.a.At, own[i], gatewayBridge)
	}
	return nil
}
