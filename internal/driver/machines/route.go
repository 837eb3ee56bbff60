package machines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/timelimit"
)

// Route is how the first machine reaches the second: one entry for each address family that
// works, IPv4 first. There is at least one.
type Route []Family

// Family is the addresses of both machines in one address family: that from which the first
// dials, and that at which it reaches the second, where it found Port free.
type Family struct {
	From, To netip.Addr
	Port     uint16
}

// FirstPort is the port of the second machine at which the first server of a run listens.
// Each path uses the ports that follow, as many as it has pairs, for TCP and UDP. They are
// fixed, so that a firewall can allow them.
const FirstPort = 5301

// mostCandidates is how many addresses of a machine are tried for each family.
const mostCandidates = 3

// exchangeTimeout bounds each exchange of the search for an address.
func exchangeTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// end is one of the two machines while the route is sought.
type end struct {
	Named
	agent *agent.Client
	links []wire.Link
}

// findRoute finds the addresses by which two machines exchange data over TCP and UDP.
func findRoute(ctx context.Context, named [2]Named, agents [2]*agent.Client) (Route, error) {
	var ends [2]end
	for i := range ends {
		links, _, err := agents[i].Links(ctx, netip.Addr{})
		if err != nil {
			return nil, err
		}
		ends[i] = end{named[i], agents[i], links}
	}
	a, b := ends[0], ends[1]
	var tried [2][]attempt // by family
	var both sync.WaitGroup
	for i, v6 := range []bool{false, true} {
		both.Go(func() {
			for _, to := range candidates(b, a, v6) {
				t := try(ctx, a, b, to)
				tried[i] = append(tried[i], t)
				if t.err == nil || ctx.Err() != nil {
					return
				}
			}
		})
	}
	both.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var found Route
	var failed []attempt
	for _, t := range slices.Concat(tried[0], tried[1]) {
		if t.err == nil {
			found = append(found, Family{t.from, t.to, t.port})
		} else {
			failed = append(failed, t)
		}
	}
	if b.Address.IsValid() {
		// The user's choice is not silently replaced by an address of the other family.
		named := func(f Family) bool { return f.To == b.Address }
		if !slices.ContainsFunc(found, named) {
			found = nil
		}
	}
	if len(found) == 0 {
		return nil, explain(a, b, failed)
	}
	if a.Address.IsValid() { // at which the second machine reaches the first
		for i := range found {
			if found[i].From.Is4() == a.Address.Is4() {
				found[i].From = a.Address
			}
		}
	}
	return found, nil
}

// candidates lists the addresses of one family at which a machine may be reached from another:
// the one that the user named; else its own, first those in a subnet of the other, and then
// the one of its ssh address, if it has none of that family and that is an address.
func candidates(of, from end, v6 bool) []netip.Addr {
	if of.Address.IsValid() && of.Address.Is6() == v6 {
		return []netip.Addr{of.Address}
	}
	taken := map[netip.Addr]bool{}
	var subnets []netip.Prefix
	for _, l := range from.links {
		for _, p := range l.Addresses {
			taken[p.Addr()] = true
			if l.Up && !l.Loopback {
				subnets = append(subnets, p.Masked())
			}
		}
	}
	var near, far []netip.Addr
	for _, l := range of.links {
		if !l.Up || l.Loopback {
			continue
		}
		for _, p := range l.Addresses {
			addr := p.Addr()
			switch {
			case addr.Is6() != v6 || !addr.IsGlobalUnicast() || addr.IsLinkLocalUnicast():
			case taken[addr]: // such as that of docker0, which both have
			case slices.ContainsFunc(subnets, func(s netip.Prefix) bool { return s.Contains(addr) }):
				near = append(near, addr)
			case l.Kind != "bridge": // the bridge of an engine is behind its host
				far = append(far, addr)
			}
		}
	}
	login, err := netip.ParseAddr(of.Machine.Host)
	if err == nil && login.Is6() == v6 && !taken[login] && !login.IsLoopback() {
		if i := slices.Index(far, login); i >= 0 {
			far = slices.Delete(far, i, i+1)
		}
		if !slices.Contains(near, login) {
			far = slices.Insert(far, 0, login)
		}
	}
	all := append(near, far...)
	return all[:min(len(all), mostCandidates)]
}

// attempt is what came of an address.
type attempt struct {
	to, from netip.Addr
	port     uint16
	noRoute  bool
	tcp, udp error // of the exchange over each
	arrived  bool  // datagrams of the first machine arrived at the second
	err      error // nil if both can exchange data over both
}

// try lets two machines exchange data over TCP and UDP at an address of the second.
func try(ctx context.Context, a, b end, to netip.Addr) attempt {
	t := attempt{to: to}
	if _, t.from, t.err = a.agent.Links(ctx, to); t.err != nil {
		t.noRoute = true
		return t
	}
	if owns(a.links, to) {
		t.err = fmt.Errorf("host %s has the address %s itself, so both hosts are one machine", a.Name, to)
		return t
	}
	on := to
	if !owns(b.links, to) { // another machine forwards it
		on = wildcard(to)
	}
	for t.port = FirstPort; t.port < FirstPort+mostPorts; t.port++ {
		over := func(network string) (agent.Reachability, error) {
			return agent.CheckReachability(ctx, a.agent, b.agent, network, netip.AddrPortFrom(on, t.port), netip.AddrPortFrom(to, t.port), exchangeTimeout())
		}
		// A connection tells only that it was not answered; of a datagram the way there and the
		// way back are known.
		var both sync.WaitGroup
		both.Go(func() { _, t.tcp = over("tcp") })
		both.Go(func() {
			var met agent.Reachability
			met, t.udp = over("udp")
			t.arrived = met.Arrived
		})
		both.Wait()
		t.err = cmp.Or(t.tcp, t.udp)
		var taken *agent.ListenError
		if !errors.As(t.err, &taken) {
			break
		}
	}
	return t
}

// mostPorts is the maximum number of ports in use that are skipped.
const mostPorts = 100

func owns(links []wire.Link, addr netip.Addr) bool {
	return slices.ContainsFunc(links, func(l wire.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(p netip.Prefix) bool { return p.Addr() == addr })
	})
}

func wildcard(like netip.Addr) netip.Addr {
	if like.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// explain says why no address of the second machine works, in one line with a fix. The
// attempt that came furthest is the reason.
func explain(a, b end, failed []attempt) error {
	both := fmt.Sprintf("host %s cannot reach host %s, though both can be logged in to", a.Named, b.Named)
	fix := fmt.Sprintf("name the address of host %s in the network between the two: --host %s=ADDRESS, or address: in the study", b.Name, b.Machine)
	if len(failed) == 0 {
		return fmt.Errorf("%s: host %s has no address but loopback, link-local and those of host %s; %s", both, b.Name, a.Name, fix)
	}
	var tried []string
	for _, t := range failed {
		tried = append(tried, t.to.String())
	}
	if !slices.ContainsFunc(failed, func(t attempt) bool { return !t.noRoute }) {
		return fmt.Errorf("%s: no route from host %s to %s: %w; connect the two, or %s", both, a.Name, strings.Join(tried, ", "), failed[0].err, fix)
	}
	best := failed[0]
	for _, t := range failed {
		if best.noRoute || t.arrived && !best.arrived {
			best = t
		}
	}
	way := fmt.Sprintf("%s port %d", best.to, best.port)
	allow := fmt.Sprintf("allow TCP and UDP from port %d on in the firewalls", FirstPort)
	switch {
	case best.port == 0:
		return fmt.Errorf("%s: %w; %s", both, best.err, fix)
	case best.tcp == nil:
		return fmt.Errorf("%s over UDP: TCP to %s passes, datagrams do not (%w); %s", both, way, best.err, allow)
	case best.udp == nil:
		return fmt.Errorf("%s over TCP: datagrams to %s pass, connections do not (%w); %s", both, way, best.err, allow)
	case best.arrived:
		return fmt.Errorf("%s: packets of host %s arrive at %s, but the answers of host %s are dropped on their way back (%w); %s of host %s and between the two, or %s",
			both, a.Name, way, b.Name, best.err, allow, a.Name, fix)
	}
	return fmt.Errorf("%s: packets of host %s to %s are dropped before they arrive (%w); %s of host %s and between the two, or %s",
		both, a.Name, way, best.err, allow, b.Name, fix)
}
