package proxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/proxy/relay"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// placedPath is a mode whose proxies are placed beside endpoints or between the hosts. Client and
// server are on the lab's hosts themselves, so that the difference from the mode host is the
// proxies.
type placedPath struct {
	labdriver.Path
	build
	a, b    node
	legs    []leg         // from client to server; there is a proxy between each two
	proxies []placedProxy // in this order
}

// node is a network stack on the path.
type node struct {
	pathspec.Place
	ns *linuxnet.NS
}

// leg is a TCP connection of the chain for each connection of the client: from the client or a
// proxy to the next proxy or the server.
type leg struct {
	from, to       node
	fromDev, toDev string       // the devices that receive its packets
	at             []netip.Addr // where its receiver listens, by address family
	tls            bool
}

// local reports whether both endpoints of the leg are in one network stack.
func (l leg) local() bool { return l.toDev == lo }

// placedProxy is a proxy that runs.
type placedProxy struct {
	node
	name string // in the names of its counters
	proc *daemon.Process
	// isChild means that the proxy is the child of proc. pids are the processes of the proxy itself.
	isChild bool
	pids    []int
	workers int // how many processes it starts
	// starter means that its first process only starts workers: it has no connection.
	starter bool
	// flush ends connections; nil if they end by themselves.
	flush func() error
	// requests reads how many requests the proxy has handled; nil if it reads none.
	requests func(ctx context.Context) (uint64, error)
	reload   reloading
}

// The names of devices and of the sandbox of a proxy between the hosts.
const (
	hopName   = "hop"
	toHop     = "eth1" // of a host
	hopFirst  = "eth0" // of the hop, towards host a
	hopSecond = "eth1" // towards host b
)

// provisionPlaced builds a mode with placed proxies in its own lab.
func (d Driver) provisionPlaced(ctx context.Context, o labdriver.Order, b build) (*driver.Path, error) {
	start, err := b.starter(ctx, o.Mode)
	if err != nil {
		return nil, err
	}
	base, err := labdriver.Up(o, "a proxy")
	if err != nil {
		return nil, err
	}
	p := &placedPath{Path: base, build: b}
	p.a, p.b = nodeOf(p.OnLab.A.NS, "a", "a"), nodeOf(p.OnLab.B.NS, "b", "b")
	if err := p.setUp(ctx, start); err != nil {
		if errors.Is(err, linuxnet.ErrPayloadMatch) {
			err = &driver.Unsupported{Mode: o.Mode, Reason: p.ExplainError(err).Error()}
		}
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{FlushConnections: p.flushConnections, RewritesHeads: p.http, Lost: p.lost, Events: p.events()}, p), nil
}

func nodeOf(ns *linuxnet.NS, host, at string) node {
	return node{labdriver.NamespacePlace(ns, host, at), ns}
}

func (p *placedPath) setUp(ctx context.Context, start startProxy) error {
	if err := p.chain(); err != nil {
		return err
	}
	last := p.legs[len(p.legs)-1]
	err := p.ForEachPair(func(pair int) error {
		p.AddPairNamespaces(p.a.ns, p.b.ns)
		p.AddPair(labdriver.NamespaceEndpoint(p.a.Place, p.a.ns), labdriver.NamespaceEndpoint(p.b.Place, p.b.ns), last.at, p.legs[0].at, port(pair-1))
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.startProxies(ctx, start); err != nil {
		return err
	}
	if err := p.prove(); err != nil {
		return err
	}
	p.AddFact("proxy placement", p.placementText())
	p.AddFact("connections of the proxies", p.connectionsText())
	return p.checkCrossing(ctx)
}

func (b build) connectionsText() string {
	switch {
	case !b.http:
		return "one for each connection of the client, none is reused"
	case b.reuse:
		return "kept and shared by requests of all clients"
	}
	return "one to the next hop for each request, none is reused"
}

func (b build) placementText() string {
	switch {
	case b.placement == atClient:
		return "beside the client, in its network namespace"
	case b.placement == atServer:
		return "beside the server, in its network namespace"
	case b.placement == atHop && b.tls:
		return "beside the client, in its network namespace, and on a host between client and server"
	case b.placement == atHop:
		return "on a host between client and server"
	}
	return "beside client and server, in their network namespaces"
}

// chain sets the legs of the placement.
func (p *placedPath) chain() error {
	loopback := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	if p.OnLab.IPv6 {
		loopback = append(loopback, netip.IPv6Loopback())
	}
	beside := func(n node) leg { return leg{from: n, to: n, fromDev: lo, toDev: lo, at: loopback} }
	underlay := leg{from: p.a, to: p.b, fromDev: lab.Underlay, toDev: lab.Underlay, at: p.OnLab.B.Addr}
	switch p.placement {
	case atBoth:
		underlay.tls = p.tls
		p.legs = []leg{beside(p.a), underlay, beside(p.b)}
	case atClient:
		p.legs = []leg{beside(p.a), underlay}
	case atServer:
		p.legs = []leg{underlay, beside(p.b)}
	case atHop:
		first, second, err := p.hop()
		if err != nil {
			return err
		}
		p.legs = []leg{first, second}
		if p.tls {
			p.legs[0].tls = true
			p.legs = []leg{beside(p.a), p.legs[0], second}
		}
	default:
		return fmt.Errorf("a proxy cannot be placed at %q", p.placement)
	}
	return nil
}

// hop creates the host between, with a link to each host of the lab, like the lab's own.
func (p *placedPath) hop() (first, second leg, err error) {
	ns, err := p.Sandbox("b", hopName)
	if err != nil {
		return first, second, err
	}
	between := nodeOf(ns, "b", "b/"+hopName)
	link := func(n node, dev string, net lab.Net) (host, hop []netip.Addr, err error) {
		mtu := p.OnLab.Spec.MTU
		if err := n.ns.Links().Veth(p.OnLab.Device(toHop, mtu), ns, p.OnLab.Device(dev, mtu)); err != nil {
			return nil, nil, err
		}
		if host, err = p.connect(n.ns, toHop, net, 1); err != nil {
			return nil, nil, err
		}
		hop, err = p.connect(ns, dev, net, 2)
		return host, hop, err
	}
	_, near, err := link(p.a, hopFirst, lab.NetA)
	if err != nil {
		return first, second, err
	}
	server, _, err := link(p.b, hopSecond, lab.NetB)
	first = leg{from: p.a, to: between, fromDev: toHop, toDev: hopFirst, at: near}
	second = leg{from: between, to: p.b, fromDev: hopSecond, toDev: toHop, at: server}
	return first, second, err
}

// connect sets up one side of a link, as the lab does for its own.
func (p *placedPath) connect(ns *linuxnet.NS, dev string, net lab.Net, host int) ([]netip.Addr, error) {
	if err := p.OnLab.SetUpDevice(ns, dev); err != nil {
		return nil, err
	}
	own := p.OnLab.Addresses(net, host)
	for _, a := range own {
		if err := ns.Routes().Address(dev, a); err != nil {
			return nil, err
		}
	}
	if rate := p.OnLab.Spec.Rate; rate > 0 {
		return lab.PrefixAddrs(own), ns.Tuning().Limit(dev, rate, p.OnLab.Spec.MTU)
	}
	return lab.PrefixAddrs(own), nil
}

// proxyConfig is what a proxy forwards.
type proxyConfig struct {
	run, name string // name is shown in messages
	at        node
	routes    []relay.Route
	// accepts and dials are the credentials with which the proxy accepts or dials TLS, or nil.
	accepts, dials *relay.Credentials
	congestion     string // in the namespace
	build
}

// startProxies starts the proxy between each two legs.
func (p *placedPath) startProxies(ctx context.Context, start startProxy) error {
	var client, server *relay.Credentials
	if p.tls {
		var err error
		if client, server, err = relay.Issue(time.Now()); err != nil {
			return err
		}
	}
	for i := range len(p.legs) - 1 {
		in, out := p.legs[i], p.legs[i+1]
		cfg := proxyConfig{run: p.OnLab.Spec.Claim.ID, name: "the proxy in " + in.to.At, at: in.to, build: p.build}
		if in.tls {
			cfg.accepts = server
		}
		if out.tls {
			cfg.dials = client
		}
		for pair := range p.PairCount {
			for family := range in.at {
				cfg.routes = append(cfg.routes, relay.Route{Listen: netip.AddrPortFrom(in.at[family], port(pair)), Dial: netip.AddrPortFrom(out.at[family], port(pair))})
			}
		}
		var err error
		if cfg.congestion, err = setCongestion(in.to.ns); err != nil {
			return fmt.Errorf("set the congestion control of %s: %w", cfg.name, err)
		}
		made, err := start(ctx, p, cfg)
		if err != nil {
			return err
		}
		made.node, made.name = in.to, counted
		p.proxies = append(p.proxies, made)
	}
	return p.listening(ctx)
}

// setCongestion sets the default congestion control of a namespace, which the proxies in it
// have unless they set another: that which tare sets for client and server unless a study names
// another, or reno, which every namespace may have. Client and server set their own.
func setCongestion(ns *linuxnet.NS) (string, error) {
	for _, name := range []string{"cubic", "reno"} {
		err := ns.Sysctl(driver.SysctlCongestion, name)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err == nil {
			break
		}
	}
	return ns.ReadSysctl(driver.SysctlCongestion)
}

// listening waits until each proxy, and nobody else, listens on the first and the last port.
func (p *placedPath) listening(ctx context.Context) error {
	for i := range p.proxies {
		x := &p.proxies[i]
		err := x.proc.WaitFor(ctx, timelimit.Scaled(readyTimeout), "listen", func() (err error) {
			if x.isChild {
				// At first it may be another: Go tries out what the kernel can with a process of its own.
				if x.pids, err = x.programPIDs(); err != nil {
					return err
				}
			}
			for _, at := range []uint16{port(0), port(p.PairCount - 1)} {
				who, err := x.ns.Sockets().Listeners(at)
				if err != nil {
					return err
				}
				if slices.Sort(who); !slices.Equal(who, x.pids) {
					return fmt.Errorf("processes %v listen on port %d, not %v", who, at, x.pids)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// programPIDs returns the processes of an installed proxy that have connections: all its workers, and itself unless it only starts them.
func (x placedProxy) programPIDs() ([]int, error) {
	pid, err := x.proc.ProgramPID()
	if err != nil {
		return nil, err
	}
	all, err := linuxnet.Descendants(pid)
	if err != nil {
		return nil, err
	}
	if len(all) != x.workers {
		return nil, fmt.Errorf("it has %d processes besides its first, not %d", len(all), x.workers)
	}
	if !x.starter {
		all = append(all, pid)
	}
	slices.Sort(all)
	return all, nil
}

// lost returns how a proxy has ended, nil if all run.
func (p *placedPath) lost() error {
	for _, x := range p.proxies {
		if err := x.proc.CheckRunning(); err != nil {
			return err
		}
	}
	return nil
}

// endTimeout limits how long connections of a trial may take to end after their endpoints have
// closed them.
func endTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// flushConnections waits until no connection of an earlier trial is left in a proxy, besides those between
// proxies that keep them.
func (p *placedPath) flushConnections(ctx context.Context) error {
	var kept []netip.Addr
	if p.reuse && len(p.proxies) > 1 {
		kept = p.legs[1].at
	}
	for _, x := range p.proxies {
		if x.flush != nil {
			if err := x.flush(); err != nil {
				return p.ExplainError(err)
			}
			continue
		}
		err := x.proc.WaitFor(ctx, endTimeout(), "end the connections of the trial before", func() error {
			n, err := x.ns.Sockets().OpenConnections(port(0), port(p.PairCount-1), kept...)
			if err == nil && n > 0 {
				err = fmt.Errorf("%d connections in %s are open", n, x.At)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
