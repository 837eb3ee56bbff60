package proxy

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/proxy/relay"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs. All pairs share the
// proxies.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("proxy", o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	if b, is := row.Build.placed(o.Order); is {
		return d.provisionPlaced(ctx, o, b)
	}
	base, err := labdriver.Up(o, "a proxy")
	if err != nil {
		return nil, err
	}
	p := &path{Path: base, tls: row.Build.tls}
	if err := p.build(ctx); err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{Checks: []func() error{p.checkTLS}, FlushConnections: p.flushConnections}, p), nil
}

// path is a mode that is set up.
type path struct {
	labdriver.Path
	near, far *side
	tls       bool        // between the proxies
	state     relay.State // of TLS, as negotiated during the set-up
}

// side is a host with the endpoints of one role and their proxy.
type side struct {
	pathspec.Place
	host    *lab.Host
	ns      *linuxnet.NS
	role    string // client or server
	net     lab.Net
	gateway []netip.Addr   // the host's addresses on its bridge
	subnets []netip.Prefix // of the sandboxes
	boxes   []sandbox
	proxy   *daemon.Exchange
}

// sandbox is an endpoint with its addresses.
type sandbox struct {
	pathspec.Place
	ns  *linuxnet.NS
	own []netip.Addr
}

// The names of devices in a lab, as an engine would choose them.
const (
	eth = "eth0"
	br  = "br0"
	lo  = "lo"
)

func (p *path) build(ctx context.Context) error {
	p.near = p.side(p.OnLab.A, "client", lab.NetA)
	p.far = p.side(p.OnLab.B, "server", lab.NetB)
	for _, s := range p.sides() {
		if err := p.bridge(s); err != nil {
			return err
		}
		err := p.ForEachPair(func(pair int) error { return p.plug(s, pair) })
		if err != nil {
			return err
		}
	}
	for i, client := range p.near.boxes {
		server := p.far.boxes[i]
		p.AddPairNamespaces(client.ns, server.ns)
		p.AddPair(labdriver.NamespaceEndpoint(client.Place, client.ns), labdriver.NamespaceEndpoint(server.Place, server.ns), server.own, p.near.gateway, port(i))
	}
	if err := p.start(); err != nil {
		return err
	}
	if err := p.prove(); err != nil {
		return err
	}
	return p.checkCrossing(ctx)
}

// port is the TCP port of a pair, counted from 0, at both proxies and at the server.
func port(i int) uint16 { return uint16(pathspec.FirstPort + i) } //nolint:gosec // up to MaxPairs

// sides returns both sides, the client's first.
func (p *path) sides() []*side { return []*side{p.near, p.far} }

func (p *path) side(h *lab.Host, role string, net lab.Net) *side {
	return &side{Place: labdriver.NamespacePlace(h.NS, h.Name, h.Name), host: h, ns: h.NS, role: role, net: net}
}

// bridge creates the bridge of a host's sandboxes. The host does not forward packets: without
// its proxy nothing leaves.
func (p *path) bridge(s *side) error {
	if err := s.ns.Links().Bridge(p.OnLab.Device(br, p.OnLab.Spec.MTU)); err != nil {
		return err
	}
	if err := p.OnLab.SetUpDevice(s.ns, br); err != nil {
		return err
	}
	for _, a := range p.OnLab.Addresses(s.net, 1) {
		if err := s.ns.Routes().Address(br, a); err != nil {
			return err
		}
		s.gateway, s.subnets = append(s.gateway, a.Addr()), append(s.subnets, a.Masked())
	}
	return nil
}

// plug creates a sandbox of a pair on a host's bridge.
func (p *path) plug(s *side, pair int) error {
	name, veth, mtu := lab.PairName(s.role, pair), lab.VethName(pair-1), p.OnLab.Spec.MTU
	ns, err := p.Sandbox(s.At, name)
	if err != nil {
		return err
	}
	own := p.OnLab.Addresses(s.net, 1+pair)
	if err := s.ns.Links().Veth(p.OnLab.Device(veth, mtu), ns, p.OnLab.Device(eth, mtu)); err != nil {
		return err
	}
	if err := s.ns.Links().Attach(veth, br); err != nil {
		return err
	}
	if err := errors.Join(p.OnLab.SetUpDevice(s.ns, veth), p.OnLab.SetUpDevice(ns, eth)); err != nil {
		return err
	}
	for _, a := range own {
		if err := ns.Routes().Address(eth, a); err != nil {
			return err
		}
	}
	s.boxes = append(s.boxes, sandbox{labdriver.NamespacePlace(ns, s.At, s.At+"/"+name), ns, lab.PrefixAddrs(own)})
	return nil
}

// start starts both proxies. The client's accepts at the address of its bridge and dials the
// other host; the server's accepts there and dials the server.
func (p *path) start() error {
	near, far := relay.Config{Side: relay.Client}, relay.Config{Side: relay.Server}
	if p.tls {
		var err error
		if near.TLS, far.TLS, err = relay.Issue(time.Now()); err != nil {
			return err
		}
	}
	for i, server := range p.far.boxes {
		for family, own := range server.own {
			between := netip.AddrPortFrom(p.OnLab.B.Addr[family], port(i))
			near.Routes = append(near.Routes, relay.Route{Listen: netip.AddrPortFrom(p.near.gateway[family], port(i)), Dial: between})
			far.Routes = append(far.Routes, relay.Route{Listen: between, Dial: netip.AddrPortFrom(own, port(i))})
		}
	}
	for i, cfg := range []relay.Config{near, far} {
		s := p.sides()[i]
		proc, err := daemon.StartSelf("the proxy of host "+s.At, Command, p.OnLab.Spec.Claim.ID, s.ns.Start)
		if err != nil {
			return err
		}
		p.AddProcess(proc)
		s.proxy = daemon.NewExchange(proc)
		if err := s.proxy.Send(cfg); err != nil {
			return err
		}
	}
	for _, s := range p.sides() {
		var listening relay.Counters
		if err := s.proxy.Receive(&listening); err != nil {
			return err
		}
		p.AddDeciding("proxy of host "+s.At, "tare, congestion control "+listening.Congestion)
	}
	return nil
}

// counters reads the counters of a side's proxy.
func (s *side) counters() (c relay.Counters, err error) {
	err = s.proxy.Ask(askCounters, &c)
	return c, err
}

// flushConnections ends what is left of connections of earlier trials.
func (p *path) flushConnections(context.Context) error {
	for _, s := range p.sides() {
		var c relay.Counters
		if err := s.proxy.Ask(askFlush, &c); err != nil {
			return p.ExplainError(err)
		}
	}
	return nil
}
