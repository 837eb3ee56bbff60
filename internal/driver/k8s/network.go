package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"tare/internal/agent/wire"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/kube"
	"tare/internal/result"
)

// networkMode is the mode with an additional network, before its name.
const networkMode = "k8s/network:"

// additionalNetwork: a pod to another on the other node, over a network that both have beside
// their own. What the network's plugin puts between the nodes is its own affair: the devices of
// the pods prove the path, and those of the cluster's own network, which must be idle.
func (p *path) additionalNetwork(ctx context.Context) error {
	var err error
	if p.pods.network, err = findNetwork(ctx, p.cluster, p.Mode); err != nil {
		return err
	}
	return p.eachPair(ctx, func(pair int, ends []*endpoint) error {
		var steps [2][]pathspec.Step
		for i, e := range ends {
			if steps[i], err = p.onNetwork(ctx, pair, e); err != nil {
				return withoutNetwork(p.cluster, p.Mode, err)
			}
		}
		if pair == 1 {
			p.SetSteps(append(steps[0], pathspec.Reversed(steps[1])...)...)
			p.AddFacts(result.Fact{Name: "network", Value: p.pods.network.String()})
			if p.pods.network.Type != "" {
				p.AddFacts(result.Deciding("network plugin", p.pods.network.Type))
			}
			p.AddFacts(result.Fact{Name: "device in the pods", Value: fmt.Sprintf("%s (%s), MTU %d", ends[1].Link.Name, ends[1].Link.Kind, ends[1].Link.MTU)})
		}
		return p.reached.addPair(ctx, pair, ends[0], ends[1], ends[1].reach())
	}, wanted{host: p.a, client: true}, wanted{host: p.b})
}

// findNetwork finds the additional network that a mode names.
func findNetwork(ctx context.Context, c *kube.Cluster, mode string) (*kube.Network, error) {
	n, err := c.Network(ctx, strings.TrimPrefix(mode, networkMode))
	return n, withoutNetwork(c, mode, err)
}

// withoutNetwork returns the error of a mode for which a network cannot be used.
func withoutNetwork(c *kube.Cluster, mode string, err error) error {
	if none, ok := errors.AsType[*kube.NoNetwork](err); ok {
		return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("cluster %s: %s", c.Context, none.Reason)}
	}
	return err
}

// onNetwork moves an endpoint to the pod's device on the additional network and adds its rules. It
// returns the steps from the endpoint towards its node.
func (p *path) onNetwork(ctx context.Context, pair int, e *endpoint) ([]pathspec.Step, error) {
	name, addrs, err := e.pod.Attachment()
	if err != nil {
		return nil, err
	}
	own := e.Link
	if err := e.FindLink(ctx, addrs[0]); err != nil {
		return nil, fmt.Errorf("find the device of pod %s on network %s: %w", e.pod.Name, p.pods.network, err)
	}
	if e.Link.Name != name || e.Link.Name == own.Name {
		return nil, fmt.Errorf("pod %s has the address %s of network %s on device %s, and the cluster reports %s; check the network's plugin", e.pod.Name, addrs[0], p.pods.network, e.Link.Name, name)
	}
	e.ipv6 = netip.Addr{}
	if last := addrs[len(addrs)-1]; last.Is6() != addrs[0].Is6() {
		e.ipv6 = last
	}
	plug, err := p.read.MustCarry(ctx, &e.Endpoint, pair, false)
	if err != nil {
		return nil, err
	}
	p.MustBeIdle(e.Place, device(own))
	steps := e.steps(plug)
	if plug.IsVeth || pair > 1 {
		return steps, nil
	}
	parent, ok, err := parentOf(ctx, e)
	if ok {
		tx, rx := driver.ForwardAtLeast, driver.ReverseAtLeast
		if !e.Client {
			tx, rx = rx, tx
		}
		p.read.MustMoveAtLeast(pathspec.AllPairs, e.Host.Place, device(parent), tx, rx)
		steps = append(steps, pathspec.DeviceStep(e.Host.Place, device(parent)))
	}
	return steps, err
}

// parentOf returns the device of the node below a pod's, if the node has one.
func parentOf(ctx context.Context, e *endpoint) (parent wire.Link, ok bool, err error) {
	if e.Host.Monitor == nil || e.Link.Kind != "macvlan" && e.Link.Kind != "ipvlan" && e.Link.Kind != "vlan" {
		return parent, false, nil
	}
	links, _, err := e.Host.Monitor.Links(ctx, netip.Addr{})
	for _, l := range links {
		if l.Index == e.Link.Peer {
			return l, true, nil
		}
	}
	return parent, false, err
}
