package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
)

// path is a mode on a cluster.
type path struct {
	pathspec.Path
	order    driver.Order
	driver   *Driver
	cluster  *kube.Cluster
	session  *remote.Session
	read     remote.Path  // what agents read of its nodes, added to Path
	a, b     *remote.Host // of the client and the server; equal in modes within one node
	pods     pods
	reached  reached
	served   []served // that events are about, in their order; empty on paths without a server in a pod of its own
	requests string   // the counter of those that a proxy of the cluster forwarded, empty on paths without one
}

// endpoint is a pod with an agent that reads its network, or a process on the host network.
type endpoint struct {
	remote.Endpoint
	pod  *kube.Pod  // nil for a process on the host network
	ipv6 netip.Addr // of a pod that has an IPv4 address, too; else invalid
	// injected are the containers that the cluster has added to the pod, by name and image; intercepted means that a proxy in the pod
	// ends the connections over TCP.
	injected    []string
	intercepted bool
}

// eachPair starts the wanted pods of each pair, and calls build with them.
func (p *path) eachPair(ctx context.Context, build func(pair int, ends []*endpoint) error, want ...wanted) error {
	return p.ForEachPair(func(pair int) error {
		ends, err := p.pods.start(ctx, pair, want...)
		if err != nil {
			return err
		}
		return build(pair, ends)
	})
}

// process creates an endpoint that is a process on the host network of a node: in the pod of its
// monitor.
func (p *path) process(h *remote.Host, client bool, pair int) *endpoint {
	return &endpoint{Endpoint: remote.Endpoint{Place: h.Place, Name: endpointName(client, pair), Client: client, Host: h, Launcher: h.Launcher, Agent: h.Monitor}}
}

func endpointName(client bool, pair int) string {
	if client {
		return lab.PairName(containers.Client, pair)
	}
	return lab.PairName(containers.Server, pair)
}

// steps returns the steps from an endpoint towards its node.
func (e *endpoint) steps(at remote.Attachment) []pathspec.Step {
	if e.pod == nil {
		return []pathspec.Step{pathspec.ProcessStep(e.Place, result.Fact{Name: "started by", Value: "a pod on the host network"})}
	}
	facts := []result.Fact{{Name: "pod", Value: e.pod.Name}}
	if e.pod.Limit != (study.Limit{}) {
		facts = append(facts, result.Fact{Name: "limit", Value: containers.LimitText(e.pod.Limit)})
	}
	steps := e.StepsToHost(pathspec.ProcessStep(e.Place, facts...), at)
	return slices.Insert(steps, 1, e.sidecarSteps()...)
}

// facts returns the facts that are known without the mode's pods.
func (p *path) facts(nodes []kube.Node) []result.Fact {
	facts := []result.Fact{{Name: "cluster", Value: p.cluster.Context}, result.Deciding("kubernetes", p.cluster.Version)}
	for i, n := range nodes {
		facts = append(facts, result.Fact{Name: hostName(i) + " node", Value: n.Name})
	}
	if p.driver.options.Decoys > 0 {
		facts = append(facts, result.Fact{Name: "decoy services", Value: fmt.Sprint(p.driver.options.Decoys)})
	}
	for _, o := range []struct{ option, name string }{{OptionPolicies, "network policies"}, {OptionServices, "services without traffic"}, {OptionRuntimeClass, "runtime class"}, {OptionSidecars, "sidecars"}} {
		if value := p.order.Options[o.option]; value != "" {
			facts = append(facts, result.Fact{Name: o.name, Value: value})
		}
	}
	return facts
}

// end removes what the path has created and, with the last path of a run, what all paths
// shared.
func (p *path) end(ctx context.Context) error {
	return errors.Join(p.pods.remove(ctx), p.driver.sessions.Leave(ctx, p.session))
}

// snapshot reads all counters. If it fails because a pod has ended, the error says so.
func (p *path) snapshot(ctx context.Context) (driver.Counters, error) {
	c, err := p.Snapshot(ctx)
	return c, p.explainError(ctx, err)
}

// explainError prepends the exit reason of a pod to an error that it caused.
func (p *path) explainError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, e := range p.pods.endpoints {
		if why := e.pod.ExitReason(ctx); why != "" {
			return fmt.Errorf("%s (%w)", why, err)
		}
	}
	return err
}
