package k8s

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/result"
)

// loadBalancer is the mode with a service's external address.
const loadBalancer = "k8s/loadbalancer"

// loadBalancer: a process on a node to the external address of a service, whose pod is on the
// other. On most clusters the client's node translates that address itself, so that no packet
// passes the load balancer; then the path is that of a service. Otherwise only the two ends of
// the path are known.
func (p *path) loadBalancer(ctx context.Context) error {
	local := p.order.Options[OptionPolicy] == "Local"
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		s, err := p.pods.newService(ctx, ends[0], kube.ServiceSpec{Balanced: true, Class: p.order.Options[OptionClass], Local: local})
		if err != nil {
			return err
		}
		b, err := s.AwaitBalancer(ctx)
		var none *kube.NoBalancer
		if errors.As(err, &none) {
			return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("cluster %s: %s", p.cluster.Context, none.Reason)}
		}
		if err != nil {
			return err
		}
		from := p.process(p.a, true, pair)
		step := []pathspec.Step{p.read.ConnectionStep("service", "LoadBalancer")}
		if b.Direct {
			err = p.carry(ctx, pair, from, ends[0], step)
		} else {
			err = p.carryPast(ctx, pair, from, ends[0], b, step)
		}
		if err != nil {
			return err
		}
		if pair == 1 {
			p.balancerFacts(b, local)
		}
		p.served = append(p.served, served{client: from, server: ends[0], service: s})
		err = p.reached.addPair(ctx, pair, from, ends[0], ends[0].reach().through(b.Addresses, pathspec.FirstPort))
		if err != nil && local {
			return fmt.Errorf("%w (with policy Local, a node without a pod of the service may drop what it sends to the address itself, as with kube-proxy in mode nftables: leave out policy)", err)
		}
		if err != nil {
			return err
		}
		if pair == 1 && !b.Direct {
			p.AddFacts(result.Fact{Name: "replies", Value: p.repliesText()})
		}
		return nil
	}, wanted{host: p.b})
}

// repliesText says how replies return on a path through a load balancer. Its own address in place
// of the client's is where replies go; else they go to the client.
func (p *path) repliesText() string {
	if p.reached.sourceKept {
		return "past the load balancer (direct server return), unless routes lead through it: the server's node sends them to the client's own address"
	}
	return "through the load balancer or the node that translated the client's address"
}

// carryPast adds the rules for a path through a load balancer outside of the nodes: the pod must
// carry the traffic exactly, and the client's node sends it to the load balancer.
func (p *path) carryPast(ctx context.Context, pair int, from, to *endpoint, b kube.Balancer, service []pathspec.Step) error {
	plug, err := p.read.MustCarry(ctx, &to.Endpoint, pair, false)
	if err != nil || pair > 1 {
		return err
	}
	out, err := p.a.DeviceToward(ctx, b.Addresses[0])
	if err != nil {
		return err
	}
	p.read.MustMoveAtLeast(pathspec.AllPairs, p.a.Place, device(out), driver.ForwardAtLeast, driver.ReverseAtLeast)
	left := append(from.steps(remote.Attachment{}), pathspec.DeviceStep(p.a.Place, device(out)))
	p.SetSteps(append(append(left, service...), pathspec.Reversed(to.steps(plug))...)...)
	return nil
}

// balancerFacts says what is measured.
func (p *path) balancerFacts(b kube.Balancer, local bool) {
	passed := "passed by the packets: the cluster reports that its addresses are not translated by nodes (ipMode Proxy, or a name)"
	if b.Direct {
		passed = "not passed by the packets: the client is in the cluster, and its node translates the address (ipMode VIP)"
	}
	var all []string
	for _, a := range b.Addresses {
		all = append(all, a.String())
	}
	p.AddFacts(
		result.Fact{Name: "external address", Value: strings.TrimPrefix(b.Name+" "+strings.Join(all, ", "), " ")},
		result.Fact{Name: "load balancer", Value: passed},
		result.Fact{Name: "external traffic policy", Value: policyName(local)})
}

// policyName returns the name of an external traffic policy.
func policyName(local bool) string {
	if local {
		return "Local"
	}
	return "Cluster"
}
