package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// The modes through a proxy of the cluster that reads requests, before the name of the ingress class or of the gateway.
const (
	ingressMode = "k8s/ingress:"
	gatewayMode = "k8s/gateway:"
)

// ThroughController reports whether a mode is one through an ingress controller or a gateway.
func ThroughController(mode string) bool {
	return strings.HasPrefix(mode, ingressMode) || strings.HasPrefix(mode, gatewayMode)
}

// controller is a proxy of the cluster that reads requests, and leads those for a host to a service.
type controller struct {
	name   string // in messages, such as IngressClass NAME
	facts  []result.Fact
	http2  bool                     // it speaks HTTP/2 in the clear, to a service that says so
	host   func(name string) string // that requests name
	create func(context.Context, kube.RouteSpec) (*kube.Route, error)
	// await waits until the controller has a route, and returns where it takes its requests, IPv4 first; no address if
	// nothing tells it.
	await func(context.Context, *kube.Route) (at []netip.Addr, port uint16, err error)
}

// findIngress finds the class that a mode names.
func findIngress(ctx context.Context, c *kube.Cluster, mode string) (kube.Class, error) {
	all, err := c.IngressClasses(ctx)
	if err != nil {
		return kube.Class{}, err
	}
	name := strings.TrimPrefix(mode, ingressMode)
	class, ok := findClass(all, name)
	if !ok {
		return class, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("cluster %s has no IngressClass %s; it has %s", c.Context, name, classNames(all))}
	}
	return class, nil
}

// findGateway finds the gateway that a mode names.
func findGateway(ctx context.Context, c *kube.Cluster, mode string) (*kube.Gateway, error) {
	g, err := c.Gateway(ctx, strings.TrimPrefix(mode, gatewayMode))
	return g, withoutController(c, mode, err)
}

// withoutController returns the error of a mode whose controller leads no requests to it.
func withoutController(c *kube.Cluster, mode string, err error) error {
	none, noGateway := errors.AsType[*kube.NoGateway](err)
	refused, noRoute := errors.AsType[*kube.NoRoute](err)
	switch {
	case noGateway:
		return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("cluster %s: %s", c.Context, none.Reason)}
	case noRoute:
		return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("cluster %s: %s", c.Context, refused.Reason)}
	}
	return err
}

// ingress: a pod to another on the other node, through the controller of an ingress class.
func (p *path) ingress(ctx context.Context) error {
	class, err := findIngress(ctx, p.cluster, p.Mode)
	if err != nil {
		return err
	}
	return p.throughController(ctx, controller{
		name:  "IngressClass " + class.Name,
		facts: []result.Fact{result.Deciding("ingress class", fmt.Sprintf("%s, of controller %s", class.Name, class.Controller))},
		host:  func(name string) string { return name + ".invalid" },
		create: func(ctx context.Context, r kube.RouteSpec) (*kube.Route, error) {
			return p.cluster.CreateIngress(ctx, r, class.Name)
		},
		await: func(ctx context.Context, r *kube.Route) ([]netip.Addr, uint16, error) {
			if p.order.Options[OptionAddress] != "" {
				return nil, kube.HTTPPort, nil
			}
			at, err := r.AwaitIngress(ctx, class)
			return at, kube.HTTPPort, err
		},
	})
}

// gateway: a pod to another on the other node, through a gateway.
func (p *path) gateway(ctx context.Context) error {
	g, err := findGateway(ctx, p.cluster, p.Mode)
	if err != nil {
		return err
	}
	return p.throughController(ctx, controller{
		name:  "Gateway " + g.String(),
		facts: []result.Fact{result.Deciding("gateway", fmt.Sprintf("%s, of class %s", g, g.Class))},
		host:  g.Host,
		http2: true,
		create: func(ctx context.Context, r kube.RouteSpec) (*kube.Route, error) {
			return p.cluster.CreateHTTPRoute(ctx, r, g)
		},
		await: func(ctx context.Context, r *kube.Route) ([]netip.Addr, uint16, error) {
			return g.Addresses, g.Port, r.AwaitHTTPRoute(ctx, g)
		},
	})
}

// throughController builds a path through a proxy that the cluster has. Where that runs, and what is between it and the
// pods, is not known, so that only the pods' devices and the requests prove the path: each must have arrived with
// X-Forwarded-For.
func (p *path) throughController(ctx context.Context, by controller) error {
	p.requests = pathspec.CounterName(p.b.At, "server", "forwarded_requests")
	p.AddRules(driver.Rule{Counter: p.requests, Expect: driver.Requests, Pair: pathspec.AllPairs})
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		from, to := ends[0], ends[1]
		if err := p.reached.refuseSidecars(ctx, from, to); err != nil {
			return err
		}
		s, err := p.pods.newService(ctx, to, kube.ServiceSpec{HTTP: true})
		if err != nil {
			return err
		}
		var hosts [2]string // of HTTP/1.1, HTTP/2
		var at []netip.Addr
		var port uint16
		for i, name := range []string{kube.Name(s.Run, p.order.Label, to.At, "h2"), to.pod.Name} { // the last one is tried
			http2 := i == 0
			if http2 && !by.http2 {
				continue
			}
			host := by.host(name)
			r, err := p.pods.newRoute(ctx, by, kube.RouteSpec{Name: name, Host: host, Service: s, HTTP2: http2})
			if err != nil {
				return err
			}
			if at, port, err = by.await(ctx, r); err != nil {
				return withoutController(p.cluster, p.Mode, err)
			}
			hosts[1-i] = host
		}
		if option := p.order.Options[OptionAddress]; option != "" {
			if at, port, err = parseAddress(option, port); err != nil {
				return err
			}
		}
		steps := [2][]pathspec.Step{}
		for i, e := range ends {
			plug, err := p.carryProxied(ctx, pair, e)
			if err != nil {
				return err
			}
			steps[i] = e.steps(plug)
		}
		if pair == 1 {
			proxy := pathspec.ProvenBy(pathspec.RuleStep(p.b.Place, "proxy", by.name), p.b.At+"/server")
			p.SetSteps(append(append(steps[0], proxy), pathspec.Reversed(steps[1])...)...)
			p.AddFacts(by.facts...)
		}
		at = slices.DeleteFunc(at, func(a netip.Addr) bool { return a.Is6() != s.Addresses[0].Is6() })
		way := to.reach().through(at, port)
		if len(way.dial) == 0 {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("cluster %s: %s has no address of the family that the cluster's services have by default; name one with the option %s", p.cluster.Context, by.name, OptionAddress)}
		}
		p.AddPairPorts(from.Spec(), to.Spec(), pathspec.WithPort(way.listen, way.listenPort), pathspec.WithPort(way.dial, port))
		p.NameHosts(hosts[0], hosts[1])
		p.served = append(p.served, served{client: from, server: to, service: s, host: hosts[0]})
		return p.reached.checkForwarded(ctx, pair, by.name, hosts[0], from, to, way)
	}, wanted{host: p.a, client: true}, wanted{host: p.b})
}

// newRoute creates what makes a controller lead requests for a host to a service.
func (p *pods) newRoute(ctx context.Context, by controller, spec kube.RouteSpec) (*kube.Route, error) {
	spec.Run, spec.Namespace = spec.Service.Run, spec.Service.Namespace
	r, err := by.create(ctx, spec)
	if r != nil {
		p.routes = append(p.routes, r)
	}
	return r, err
}

// forwardTimeout bounds how long a controller that has accepted a route may take until it leads requests by it.
func forwardTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// checkForwarded sends a request through a controller in each address family, as soon as that leads it to the server, and
// records for the first pair what the server sees of it.
func (p *reached) checkForwarded(ctx context.Context, pair int, by, host string, from, to *endpoint, r reach) error {
	for i, dial := range r.dial {
		x := remote.Exchange{Client: &from.Endpoint, Server: &to.Endpoint, Listen: netip.AddrPortFrom(r.listen[i], r.listenPort), Dial: netip.AddrPortFrom(dial, r.dialPort)}
		wait, hint := forwardTimeout(), "check that its controller runs, and network policies"
		if denies := p.restriction(ctx, x); denies != "" {
			wait, hint = policyTimeout(), denies
		}
		met, err := agent.CheckForwarded(ctx, from.Agent, to.Agent, host, x.Listen, x.Dial, wait)
		if gone := errors.Join(from.Agent.Err(), to.Agent.Err()); gone != nil {
			return gone
		}
		if err != nil {
			return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("%s leads no requests of %s to %s: %v; %s", by, from.At, to.At, err, hint)}
		}
		if len(met.Forwarded) == 0 {
			return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("the server got a request for %s at %s from %s without X-Forwarded-For, so nothing proves that it passed %s; let its controller add that field", host, x.Dial, met.Seen.Addr(), by)}
		}
		if pair == 1 && i == 0 {
			p.recordForwarded(met, x.Dial)
		}
	}
	return nil
}

// recordForwarded adds facts about who has sent a request to whom.
func (p *reached) recordForwarded(met agent.Reachability, dial netip.AddrPort) {
	client := met.Forwarded[len(met.Forwarded)-1]
	if client == met.From.Addr().String() {
		client = "kept"
	} else {
		client = fmt.Sprintf("%.60q in its place", client)
	}
	p.spec.AddFacts(
		result.Fact{Name: "address of the proxy", Value: dial.String()},
		result.Fact{Name: "client's address in X-Forwarded-For", Value: client},
		result.Fact{Name: "proxy as the server sees it", Value: p.pods.driver.whereIs(met.Seen.Addr())})
}

// whereIs returns an address, and the node that has it, if it is one of the run.
func (d *Driver) whereIs(a netip.Addr) string {
	_, nodes := d.Cluster()
	for _, n := range nodes {
		if n.Address == a || n.IPv6 == a {
			return fmt.Sprintf("%s, on the network of node %s", a, n.Name)
		}
		for _, pods := range n.PodCIDR {
			if pods.Contains(a) {
				return fmt.Sprintf("%s, of the pods of node %s", a, n.Name)
			}
		}
	}
	return a.String()
}

// parseAddress reads the option address: an address, and a port if that is not the usual one.
func parseAddress(text string, port uint16) ([]netip.Addr, uint16, error) {
	if at, err := netip.ParseAddrPort(text); err == nil && at.Port() > 0 {
		return []netip.Addr{at.Addr().Unmap()}, at.Port(), nil
	}
	at, err := netip.ParseAddr(text)
	if err != nil {
		return nil, 0, fmt.Errorf("option %s is %s; it must be an IP address, or one with a port such as 192.0.2.1:8080", OptionAddress, strconv.Quote(text))
	}
	return []netip.Addr{at.Unmap()}, port, nil
}

// cannotRead says why an ingress controller cannot carry a workload.
func cannotRead(w study.Workload, of traffic.Spec, with map[string]string) string {
	if w.Kind == "http2" || w.Kind == "grpc" {
		return "no standard makes a controller speak HTTP/2 in the clear to the service of an Ingress; use http, or k8s/gateway"
	}
	return gatewayCannotRead(w, of, with)
}

// gatewayCannotRead says why a gateway cannot carry a workload.
func gatewayCannotRead(w study.Workload, _ traffic.Spec, _ map[string]string) string {
	switch {
	case w.Kind != "http" && w.Kind != "http2" && w.Kind != "grpc":
		return "it sends no requests of HTTP, and the mode's controller reads requests"
	case w.Streaming == study.Bidi || w.Streaming == study.ServerStreams:
		return "each of its calls is one request with many messages, and each message must be found as a request that was forwarded"
	case w.TLS == study.On:
		return "it is in TLS from client to server, and the mode's controller must read requests"
	case w.Tool != "" && w.Tool != study.BuiltIn:
		return "an external tool names no host, by which the mode's controller finds the server"
	}
	return ""
}
