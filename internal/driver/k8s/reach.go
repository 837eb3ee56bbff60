package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/result"
	"tare/internal/timelimit"
)

// reach is where the server of a pair listens and what its client dials: one address of each
// family, IPv4 first.
type reach struct {
	listen, dial         []netip.Addr
	listenPort, dialPort uint16
	want                 remote.Connectivity
	sidecars             bool // connections may end at proxies in the pods
}

// reach returns where a pod is reached without a service.
func (e *endpoint) reach() reach {
	all := []netip.Addr{e.Addr}
	if e.ipv6.IsValid() {
		all = append(all, e.ipv6)
	}
	return reach{listen: all, dial: all, listenPort: pathspec.FirstPort, dialPort: pathspec.FirstPort}
}

// translated allows that addresses are translated.
func (r reach) translated() reach {
	r.want = remote.AnyConnectivity
	return r
}

// throughSidecars allows that proxies in the pods intercept connections.
func (r reach) throughSidecars() reach {
	r.sidecars = true
	return r
}

// through returns a reach whose client dials other addresses. Families that these do not have are
// left out.
func (r reach) through(dial []netip.Addr, port uint16) reach {
	out := reach{listenPort: r.listenPort, dialPort: port, want: remote.AnyConnectivity}
	for _, own := range r.listen {
		for _, d := range dial {
			if d.Is6() == own.Is6() {
				out.listen, out.dial = append(out.listen, own), append(out.dial, d)
				break
			}
		}
	}
	return out
}

// atNode returns where a process on the host network of another node is reached.
func (p *path) atNode(h *remote.Host) reach {
	all := []netip.Addr{h.Address}
	if six := p.driver.nodeOf(h).IPv6; six.IsValid() {
		all = append(all, six)
	}
	return reach{listen: all, dial: all, want: remote.AnyConnectivity}
}

// reached is which addresses lead to the servers of a path, and what happens to them on the way.
type reached struct {
	spec       *pathspec.Path
	read       *remote.Path
	pods       *pods
	noIPv6     string     // why workloads over IPv6 are left out, "" if nothing is known
	sourceKept bool       // the server sees the client's own address
	seen       netip.Addr // the address of the first client that its server saw; invalid until then
}

// ipv6Of returns the IPv6 address at which an endpoint is reached beside its IPv4 address.
func (p *reached) ipv6Of(e *endpoint, h *remote.Host) netip.Addr {
	if e.pod == nil {
		return p.pods.driver.nodeOf(h).IPv6
	}
	return e.ipv6
}

// checkIPv6Device leaves IPv6 out if a node reaches the two addresses of an endpoint by different
// devices: the rules for devices do not depend on a trial's family.
func (p *reached) checkIPv6Device(ctx context.Context, h *remote.Host, v4, v6 netip.Addr) {
	six, err := h.DeviceToward(ctx, v6)
	if err != nil {
		p.noIPv6 = err.Error()
		return
	}
	if four, err := h.DeviceToward(ctx, v4); err == nil && six.Name != four.Name {
		p.noIPv6 = fmt.Sprintf("on node %s its packets take device %s, and those of IPv4 take %s", p.pods.driver.nodeOf(h).Name, six.Name, four.Name)
	}
}

// addPair adds a pair and checks its exchange in each address family, and records for the first
// pair what happens to the addresses of its connections.
func (p *reached) addPair(ctx context.Context, pair int, from, to *endpoint, r reach) error {
	if len(r.dial) == 0 {
		return fmt.Errorf("%s and what leads to it have no address of the same family", to.At)
	}
	var all []remote.Exchange
	var met []agent.Reachability
	for i := range r.dial {
		x := remote.Exchange{
			Client: &from.Endpoint, Server: &to.Endpoint, Want: r.want,
			Listen: netip.AddrPortFrom(r.listen[i], r.listenPort), Dial: netip.AddrPortFrom(r.dial[i], r.dialPort),
		}
		if i > 0 && p.noIPv6 != "" {
			break
		}
		m, err := p.meet(ctx, x)
		if err != nil {
			return err
		}
		if x.Intercepted = m.Intercepted; i > 0 && m.Intercepted != met[0].Intercepted {
			p.noIPv6 = "proxies in the pods intercept only one of both families"
			break
		}
		all, met = append(all, x), append(met, m)
	}
	if len(all) < len(r.dial) {
		if r.listen, r.dial = r.listen[:1], r.dial[:1]; pair == 1 {
			p.spec.AddFacts(result.Fact{Name: "IPv6", Value: "left out: " + p.noIPv6})
		}
	}
	if err := p.setIntercepted(from, to, met[0].Intercepted, r.sidecars); err != nil {
		return err
	}
	p.spec.AddPairPorts(from.Spec(), to.Spec(), pathspec.WithPort(r.listen, r.listenPort), pathspec.WithPort(r.dial, r.dialPort))
	for i, x := range all {
		if pair == 1 && (x.Client.Sandboxed || x.Server.Sandboxed) {
			p.recordAddresses(x, met[i])
		}
		if err := p.checkExchange(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// checkExchange checks the exchange of a pair in one address family.
func (p *reached) checkExchange(ctx context.Context, x remote.Exchange) error {
	err := p.read.CheckExchange(ctx, x)
	u, unlike := errors.AsType[*remote.UnexpectedConnectivity](err)
	switch {
	case !unlike:
		return err
	case u.Network == "tcp" && u.Intercepted != u.Result.Intercepted:
		return fmt.Errorf("a proxy in the pod of %s or %s intercepted a connection and then not the next one; check the redirection of its sidecar", x.Client.At, x.Server.At)
	}
	return fmt.Errorf("a proxy between %s and %s opens connections of its own: the server saw %s, and the client dialled from %s over %s; look for a policy with a proxy, or one on the nodes", x.Client.At, x.Server.At, u.Result.Seen, u.Result.From, u.Network)
}

// policyTimeout takes the place of reachTimeout where network policies may deny the exchange.
func policyTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// restriction says which network policies do not allow the pods of an exchange everything, "" if
// there are none or they are not known. Only networks that enforce policies deny anything by them,
// and some of these policies may allow the exchange.
func (p *reached) restriction(ctx context.Context, x remote.Exchange) string {
	for _, e := range p.pods.endpoints {
		if e.At != x.Client.At && e.At != x.Server.At {
			continue
		}
		ingress, egress, err := e.pod.Restrictions(ctx)
		if err != nil {
			return "" // the user may not list them
		}
		which, direction := ingress, "ingress"
		if e.Client {
			which, direction = egress, "egress"
		}
		if len(which) > 0 {
			return fmt.Sprintf("network policy %s in namespace %s restricts the %s of the %s's pod: allow it, or run in another namespace", strings.Join(which, ", "), e.pod.Namespace, direction, e.Name)
		}
	}
	return ""
}

// meet makes a connection, as soon as that is possible, and returns what client and server see of it. Processes on the network of
// their nodes, without pods, make none.
func (p *reached) meet(ctx context.Context, x remote.Exchange) (met agent.Reachability, err error) {
	if !x.Client.Sandboxed && !x.Server.Sandboxed {
		return met, nil
	}
	wait, hint := reachTimeout(), "check network policies and the firewalls of the nodes"
	if denies := p.restriction(ctx, x); denies != "" {
		wait, hint = policyTimeout(), denies
	}
	watch := p.read.Watch(ctx, x)
	met, err = agent.FindProxies(ctx, x.Client.Agent, x.Server.Agent, x.Listen, x.Dial, wait)
	if x.Client.At == x.Server.At && met.Seen == met.From { // one connection, with both ends in the pod
		met.Intercepted = agent.Intercepted{}
	}
	if err != nil {
		err = fmt.Errorf("%s cannot reach %s at %s: %w; %s", x.Client.At, x.Server.At, x.Dial, driver.WithCause(err, watch.Cause(ctx, 0)), hint)
	}
	return met, err
}

// recordAddresses adds facts about which addresses of a connection are translated, as client and server see them.
func (p *reached) recordAddresses(x remote.Exchange, met agent.Reachability) {
	p.sourceKept = met.Seen.Addr() == met.From.Addr()
	if !p.seen.IsValid() {
		p.seen = met.Seen.Addr()
	}
	to, from := "kept", "kept"
	switch {
	case x.Listen.Addr() == x.Dial.Addr():
	case met.Intercepted.Client: // which may know the pods of a service, and dial one itself
		to = fmt.Sprintf("chosen by a proxy in the client's pod, or translated behind it, from %s to %s", x.Dial.Addr(), x.Listen.Addr())
	default:
		to = fmt.Sprintf("translated from %s to %s (DNAT)", x.Dial.Addr(), x.Listen.Addr())
	}
	switch {
	case met.Intercepted.Server:
		from = fmt.Sprintf("that of a proxy in the server's pod (%s)", met.Seen.Addr())
	case !p.sourceKept:
		from = fmt.Sprintf("translated to %s (SNAT)", met.Seen.Addr())
	}
	family := ""
	if x.Dial.Addr().Is6() && p.spec.Pairs()[0].Server.Dial[0].Addr().Is4() {
		family = " (IPv6)"
	}
	p.spec.AddFacts(result.Fact{Name: "destination address" + family, Value: to}, result.Fact{Name: "source address" + family, Value: from})
}
