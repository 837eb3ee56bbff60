package proxy

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/proxy/relay"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// prove declares what the counters must show, and the steps of the path.
//
// Client and server know the packets of their own connections, which are the first and the last
// leg. Of the packets of a proxy only the payload is known.
func (p *placedPath) prove() error {
	for i, l := range p.legs {
		toward, back := driver.ForwardAtLeast, driver.ReverseAtLeast
		if i == 0 {
			toward = driver.Forward
		}
		if i == len(p.legs)-1 {
			back = driver.Reverse
		}
		if err := p.count(l); err != nil {
			return err
		}
		rule := func(n node, dev, counter string, e driver.Expect) {
			p.AddRules(driver.Rule{Counter: pathspec.CounterName(n.At, dev, counter), Expect: e})
		}
		if l.local() {
			p.MustCarryBothAtLeast(pathspec.AllPairs, l.to.Place, device(lo))
		} else {
			p.MustCarryAtLeast(pathspec.AllPairs, l.from.Place, device(l.fromDev), pathspec.Transmits)
			p.MustCarryAtLeast(pathspec.AllPairs, l.to.Place, device(l.toDev), pathspec.Receives)
			rule(l.from, l.fromDev, linuxnet.CountOtherTCP+"_bytes", driver.NoTraffic)
		}
		opened := driver.Connections
		if i > 0 {
			opened = p.connections()
		}
		rule(l.to, l.toDev, linuxnet.CountOpened+"_packets", opened)
		rule(l.to, l.toDev, linuxnet.CountToPorts+"_bytes", toward)
		rule(l.from, l.fromDev, linuxnet.CountFromPorts+"_bytes", back)
		rule(l.to, l.toDev, linuxnet.CountOtherTCP+"_bytes", driver.NoTraffic)
		if l.tls {
			rule(l.to, l.toDev, linuxnet.CountClientHello+"_packets", opened)
			rule(l.from, l.fromDev, linuxnet.CountServerHello+"_packets", opened)
			rule(l.to, l.toDev, linuxnet.CountClearHTTP+"_packets", driver.NoMatch)
		}
	}
	for _, x := range p.proxies {
		p.mustBeBusy(x)
		p.mustHandle(x)
	}
	p.idle()
	p.drawPlaced()
	return nil
}

// count counts the packets that arrive on both sides of a leg.
func (p *placedPath) count(l leg) error {
	sides := []struct {
		node
		dev string
	}{{l.to, l.toDev}, {l.from, l.fromDev}}
	if l.local() {
		sides = sides[:1]
	}
	for _, s := range sides {
		of := table + "-" + s.dev
		if err := s.ns.Rules().CountTCPIngress(of, s.dev, port(0), port(p.PairCount-1), l.tls); err != nil {
			return err
		}
		p.AddReader(func(_ context.Context, into driver.Counters) error {
			counts, err := s.ns.Rules().IngressCounts(of)
			for name, n := range counts {
				into[pathspec.CounterName(s.At, s.dev, name+"_bytes")], into[pathspec.CounterName(s.At, s.dev, name+"_packets")] = n.Bytes, n.Packets
			}
			return err
		})
	}
	return nil
}

// connections is what is known of the connections that a proxy opens.
func (b build) connections() driver.Expect {
	switch {
	case !b.http:
		return driver.Connections
	case b.reuse:
		return driver.SharedConnections
	}
	return driver.OwnConnections
}

// mustHandle requires that a proxy that reads requests has handled each request, and no other.
func (p *placedPath) mustHandle(x placedProxy) {
	if x.requests == nil {
		return
	}
	counter := pathspec.CounterName(x.At, x.name, "requests")
	p.AddReader(func(ctx context.Context, into driver.Counters) (err error) {
		if into[counter], err = x.requests(ctx); err != nil {
			err = fmt.Errorf("read the requests of %s: %w", x.proc.Name, err)
		}
		return err
	})
	p.AddRules(driver.Rule{Counter: counter, Expect: driver.Requests})
}

// mustBeBusy requires that the traffic has kept a proxy busy.
func (p *placedPath) mustBeBusy(x placedProxy) {
	counter := pathspec.CounterName(x.At, x.name, "run_ns")
	if x.reload.signal != 0 {
		p.AddReader(x.runTimes(counter))
	} else {
		p.ReadRunTime(counter, x.proc.Name, x.pids...)
	}
	p.AddRules(driver.Rule{Counter: counter, Expect: driver.ProcessBusy})
}

// idle requires that nothing takes the devices beside the path.
func (p *placedPath) idle() {
	used := func(n node, dev string) bool {
		return slices.ContainsFunc(p.legs, func(l leg) bool { return l.from.ns == n.ns && l.fromDev == dev || l.to.ns == n.ns && l.toDev == dev })
	}
	nodes := []node{p.a, p.b}
	for _, x := range p.proxies {
		if x.ns != p.a.ns && x.ns != p.b.ns {
			nodes = append(nodes, x.node)
		}
	}
	for _, n := range nodes {
		for _, dev := range []string{lo, lab.Underlay} {
			if !used(n, dev) {
				p.MustBeIdle(n.Place, device(dev))
			}
		}
	}
}

// drawPlaced sets the steps.
func (p *placedPath) drawPlaced() {
	steps := []pathspec.Step{pathspec.ProcessStep(p.a.Place)}
	for i, l := range p.legs {
		if !l.local() {
			steps = append(steps, pathspec.DeviceStep(l.from.Place, device(l.fromDev)))
		}
		steps = append(steps, pathspec.DeviceStep(l.to.Place, device(l.toDev)))
		if i < len(p.proxies) {
			x := p.proxies[i]
			label := comm
			if p.program != programOwn {
				label = p.program
			}
			steps = append(steps, pathspec.ProvenBy(pathspec.RuleStep(x.Place, "proxy", label), x.At+"/"+x.name))
		}
	}
	p.SetSteps(append(steps, pathspec.ProcessStep(p.b.Place))...)
}

// checkCrossing sends a random message through the proxies and back, over each address family,
// while it captures the frames of each link between hosts: there it is in the clear, or with TLS
// in encrypted records alone. While the connections are open, the one of the client must end at
// the first proxy, and that of the server at the last. Proxies that read requests get it as the body
// of one, see forwarded.
func (p *placedPath) checkCrossing(ctx context.Context) error {
	within := timelimit.Scaled(readyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	pair := p.Pairs()[0]
	for i, listen := range pair.Server.Listen {
		if err := p.crosses(ctx, listen, pair.Server.Dial[i]); err != nil {
			return fmt.Errorf("send a message through the proxies, from host a to %s and back: %w", listen, err)
		}
	}
	for _, x := range p.proxies {
		n, err := threads(x.pids...)
		if err != nil {
			return err
		}
		p.AddFact("threads of "+x.proc.Name, fmt.Sprint(n))
	}
	return nil
}

// crosses checks one address family.
func (p *placedPath) crosses(ctx context.Context, listen, dial netip.AddrPort) error {
	message := make([]byte, markerBytes)
	if _, err := rand.Read(message); err != nil {
		return err
	}
	captures := map[int]*linuxnet.Capture{}
	for i, l := range p.legs {
		if l.local() {
			continue
		}
		frames, err := l.to.ns.Capture(l.toDev)
		if err != nil {
			return err
		}
		defer frames.Close()
		captures[i] = frames
	}
	met := func(client, server net.Conn) error {
		if err := p.proxies[0].mustOwn(dial, client.LocalAddr()); err != nil {
			return err
		}
		last := p.proxies[len(p.proxies)-1]
		return last.mustOwn(server.RemoteAddr().(*net.TCPAddr).AddrPort(), server.LocalAddr())
	}
	var err error
	if p.http {
		err = p.request(ctx, message, listen, dial, met)
	} else {
		err = echo(ctx, p.a.ns, p.b.ns, message, listen, dial, met)
	}
	if err != nil {
		return err
	}
	for i, frames := range captures {
		crossed, err := frames.Frames()
		if err != nil {
			return err
		}
		l := p.legs[i]
		check := checkFrames
		if p.http {
			check = checkMessages
		}
		if err := check(crossed, message, l.tls); err != nil {
			return fmt.Errorf("to %s: %w", l.to.At, err)
		}
		if l.tls && dial.Addr().Unmap().Is4() {
			if err := p.recordTLS(crossed); err != nil {
				return err
			}
		}
	}
	return nil
}

// mustOwn checks that the proxy has the connection with these addresses.
func (x placedProxy) mustOwn(local netip.AddrPort, remote net.Addr) error {
	peer := remote.(*net.TCPAddr).AddrPort()
	who, err := x.ns.Sockets().ConnectionOwners(local, peer)
	if err != nil {
		return err
	}
	if len(who) != 1 || !slices.Contains(x.pids, who[0]) {
		return fmt.Errorf("the connection from %s to %s in %s is of processes %v, not of %s alone, which is %v", local, peer, x.At, who, x.proc.Name, x.pids)
	}
	return nil
}

// recordTLS records what the proxies negotiated, as the ServerHello on the link shows. That both
// are verified is in their configuration.
func (p *placedPath) recordTLS(frames [][]byte) error {
	s, ok := negotiatedIn(frames)
	if !ok {
		return fmt.Errorf("none of %d frames between the proxies has a ServerHello of TLS 1.3", len(frames))
	}
	s.Mutual = p.mutual
	if s.Suite != suite {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the proxies negotiated %s; the mode is of %s, as in service meshes", s.Suite, suite)}
	}
	p.AddFact("TLS", p.tlsText(s)+", a full handshake for each connection")
	return nil
}

// tlsText describes what the proxies negotiated.
func (b build) tlsText(s relay.State) string {
	if b.mutual {
		return s.String()
	}
	return fmt.Sprintf("%s, %s, key exchange %s, the certificate of the second proxy alone", s.Version, s.Suite, s.Curve)
}
