package k8s

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// reachTimeout bounds how long the cluster may take until a new pod or service is reached: its
// network and the proxy of each node follow the API server with a delay.
func reachTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }

// nodes: processes on the host network of two nodes, or of one through its own address.
func (p *path) nodes(ctx context.Context) error {
	at, err := p.read.ServerAddress(ctx)
	if err != nil {
		return err
	}
	return p.ForEachPair(func(pair int) error {
		from, to := p.process(p.a, true, pair), p.process(p.b, false, pair)
		if pair == 1 {
			if err := p.read.AddUnderlay(ctx, from.steps(remote.Attachment{}), to.steps(remote.Attachment{})); err != nil {
				return err
			}
		}
		r := reach{listen: []netip.Addr{p.b.ListenAddress(ctx, at)}, dial: []netip.Addr{at}}
		if at6 := p.driver.nodeOf(p.b).IPv6; at6.IsValid() {
			r.listen, r.dial = append(r.listen, p.b.ListenAddress(ctx, at6)), append(r.dial, at6)
			if p.a != p.b {
				p.reached.checkIPv6Device(ctx, p.a, at, at6)
			}
		}
		if p.order.Clock.FindsOut() {
			if err := p.timedNode(ctx, from, r.dial); err != nil {
				return err
			}
		}
		return p.reached.addPair(ctx, pair, from, to, r)
	})
}

// podToPod: a pod to another on the other node, or on the same.
func (p *path) podToPod(ctx context.Context) error {
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		p.checkIPv6(ctx, ends[1])
		if err := p.reached.addPair(ctx, pair, ends[0], ends[1], ends[1].reach().throughSidecars()); err != nil {
			return err
		}
		p.served = append(p.served, served{client: ends[0], server: ends[1]})
		return p.carry(ctx, pair, ends[0], ends[1], nil)
	}, wanted{host: p.a, client: true}, wanted{host: p.b})
}

// service: a pod to a service with one pod behind it.
func (p *path) service(ctx context.Context) error {
	if p.order.Clock.FindsOut() {
		client, server, s, err := p.timedService(ctx)
		if err != nil {
			return err
		}
		if err := p.throughService(ctx, 1, client, server, s); err != nil {
			return err
		}
		return p.timePolicy(ctx, client, server)
	}
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		s, err := p.pods.newService(ctx, ends[1], kube.ServiceSpec{})
		if err != nil {
			return err
		}
		return p.throughService(ctx, pair, ends[0], ends[1], s)
	}, wanted{host: p.a, client: true}, wanted{host: p.b})
}

// throughService adds a pair whose client reaches the server by the service.
func (p *path) throughService(ctx context.Context, pair int, client, server *endpoint, s *kube.Service) error {
	p.checkIPv6(ctx, server)
	if err := p.reached.addPair(ctx, pair, client, server, server.reach().through(s.Addresses, pathspec.FirstPort).throughSidecars()); err != nil {
		return err
	}
	p.served = append(p.served, served{client: client, server: server, service: s})
	translates := p.read.ConnectionStep("service", "ClusterIP")
	if client.intercepted {
		translates = pathspec.RuleStep(p.a.Place, "service", "ClusterIP, or the sidecar's choice")
	}
	return p.carry(ctx, pair, client, server, []pathspec.Step{translates})
}

// podToNode: a pod to a process on the other node.
func (p *path) podToNode(ctx context.Context) error {
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		to := p.process(p.b, false, pair)
		p.checkIPv6(ctx, to)
		// Many networks translate what leaves the pods for another address. Whether replies pass
		// the tunnel is known only when the server has seen the client.
		if err := p.reached.addPair(ctx, pair, ends[0], to, p.atNode(p.b).throughSidecars()); err != nil {
			return err
		}
		return p.carry(ctx, pair, ends[0], to, nil)
	}, wanted{host: p.a, client: true})
}

// nodeToPod: a process on a node to a pod on the other.
func (p *path) nodeToPod(ctx context.Context) error {
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		from := p.process(p.a, true, pair)
		p.checkIPv6(ctx, ends[0])
		if err := p.reached.addPair(ctx, pair, from, ends[0], ends[0].reach().translated().throughSidecars()); err != nil {
			return err
		}
		p.served = append(p.served, served{client: from, server: ends[0]})
		return p.carry(ctx, pair, from, ends[0], nil)
	}, wanted{host: p.b})
}

// nodePort: a process on a node to a service's port on the other, where its pod is. With the option
// endpoint the pod is on the client's node: the node that is asked forwards all packets of both
// directions, and translates both addresses.
func (p *path) nodePort(ctx context.Context) error {
	local, elsewhere := p.order.Options[OptionPolicy] == "Local", p.order.Options[OptionEndpoint] == EndpointOther
	of := p.b
	if elsewhere {
		of = p.a
	}
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		to := ends[0]
		s, err := p.pods.newService(ctx, to, kube.ServiceSpec{OnNodes: true, Local: local})
		if err != nil {
			return err
		}
		plug, err := p.read.MustCarry(ctx, &to.Endpoint, pair, false)
		if err != nil {
			return err
		}
		from := p.process(p.a, true, pair)
		if pair == 1 {
			service, right := []pathspec.Step{p.read.ConnectionStep("service", "NodePort")}, pathspec.Reversed(to.steps(plug))
			if elsewhere {
				err = p.forwarded(ctx, from.steps(remote.Attachment{}), to, service, right)
			} else {
				err = p.read.AddUnderlay(ctx, from.steps(remote.Attachment{}), append(service, right...))
			}
			if err != nil {
				return err
			}
			p.AddFacts(result.Fact{Name: "external traffic policy", Value: policyName(local)}, result.Fact{Name: "port on the nodes", Value: fmt.Sprint(s.NodePort)})
		}
		p.served = append(p.served, served{client: from, server: to, service: s})
		return p.reached.addPair(ctx, pair, from, to, to.reach().through(p.atNode(p.b).dial, s.NodePort))
	}, wanted{host: of})
}

// cannotShare is Cannot of hairpin.
func cannotShare(w study.Workload, _ traffic.Spec, _ map[string]string) string {
	if w.FanIn <= 1 {
		return ""
	}
	return "the client of each server is the server's own pod; use pairs"
}

// hairpin: a pod to itself through its service. Both directions pass its device both ways.
func (p *path) hairpin(ctx context.Context) error {
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		to := ends[0]
		from := *to
		from.Client = true
		s, err := p.pods.newService(ctx, to, kube.ServiceSpec{})
		if err != nil {
			return err
		}
		at, err := p.read.FindAttachment(ctx, &to.Endpoint)
		if err != nil {
			return err
		}
		p.MustCarryBoth(pair, to.Place, pathspec.Device{Name: to.Link.Name})
		if at.IsVeth {
			p.read.HostEndMustCarry(pair, &to.Endpoint, at, driver.Both, driver.Both)
		}
		if pair == 1 {
			there := to.steps(at)
			p.SetSteps(append(append(there, p.read.ConnectionStep("service", "ClusterIP")), pathspec.Reversed(there)...)...)
		}
		if err := p.reached.addPair(ctx, pair, &from, to, to.reach().through(s.Addresses, pathspec.FirstPort)); err != nil {
			return fmt.Errorf("%w (a pod reaches itself only if its device or bridge has hairpin mode on)", err)
		}
		return nil
	}, wanted{host: p.a})
}

// carry adds the rules for what is between two endpoints, of which at least one is a pod, and the
// steps of the path with those of service in the client's node.
func (p *path) carry(ctx context.Context, pair int, from, to *endpoint, service []pathspec.Step) error {
	plugs := [2]remote.Attachment{}
	for i, e := range []*endpoint{from, to} {
		if e.pod == nil {
			continue
		}
		var err error
		if from.intercepted || to.intercepted {
			plugs[i], err = p.carryProxied(ctx, pair, e)
		} else {
			plugs[i], err = p.read.MustCarry(ctx, &e.Endpoint, pair, false)
		}
		if err != nil {
			return err
		}
	}
	if pair > 1 {
		return nil
	}
	left, right := from.steps(plugs[0]), pathspec.Reversed(to.steps(plugs[1]))
	left = append(left, service...)
	if p.a == p.b {
		if b := plugs[0].Bridge; b.Name != "" && b == plugs[1].Bridge && len(service) == 0 {
			right = right[1:] // both are on the same bridge
		}
		p.SetSteps(append(left, right...)...)
		return nil
	}
	if p.driver.options.NoHostNetwork {
		p.AddFacts(result.Fact{Name: "between the nodes", Value: "unknown: no pod on the host network reads the devices of the nodes"})
		p.SetSteps(append(left, right...)...)
		return nil
	}
	between, err := p.carryBetween(ctx, from, to, len(service) > 0)
	if err != nil {
		return err
	}
	p.SetSteps(append(append(left, between...), right...)...)
	return nil
}
