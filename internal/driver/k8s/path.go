package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/study"
)

// path is a mode on a cluster.
type path struct {
	pathspec.Path
	order      driver.Order
	driver     *Driver
	cluster    *kube.Cluster
	session    *remote.Session
	read       remote.Path  // what agents read of its nodes, added to Path
	a, b       *remote.Host // of the client and the server; equal in modes within one node
	endpoints  []*endpoint
	services   []*kube.Service
	network    *kube.Network // an additional one of the pods, nil in most modes
	sourceKept bool          // the server sees the client's own address
	seen       netip.Addr    // the address of the first client that its server saw; invalid until then
	noIPv6     string        // why workloads over IPv6 are left out, "" if nothing is known
	facts      []result.Fact
	proxied    string     // whence the server saw connections, if a proxy in its pod opens them
	mu         sync.Mutex // guards facts, injected and warnings while the pods of a pair start
	injected   []string   // containers that the cluster has added to pods
	warnings   []result.Warning
	close      sync.Once
	closed     error
}

// endpoint is a pod with an agent that reads its network, or a process on the host network.
type endpoint struct {
	remote.Endpoint
	pod  *kube.Pod  // nil for a process on the host network
	ipv6 netip.Addr // of a pod that has an IPv4 address, too; else invalid
}

// ownLabel returns the labels of the pods of this mode, which policies select. Those of another run
// may be in the same namespace.
func (p *path) ownLabel() map[string]string {
	return map[string]string{kube.LabelRun: p.session.Run, "io.tare.mode": p.order.Label}
}

// pairLabel returns the labels of one pod of this mode, which services select.
func (p *path) pairLabel(name string) map[string]string {
	l := p.ownLabel()
	l["io.tare.endpoint"] = name
	return l
}

// process creates an endpoint that is a process on the host network of a node: in the pod of its
// monitor.
func (p *path) process(h *remote.Host, client bool, pair int) *endpoint {
	return &endpoint{Endpoint: remote.Endpoint{Place: h.Place, Name: endpointName(client, pair), Client: client, Host: h, Launcher: h.Launcher, Agent: h.Monitor}}
}

func endpointName(client bool, pair int) string {
	name := "server"
	if client {
		name = "client"
	}
	if pair > 1 {
		name += fmt.Sprint(pair)
	}
	return name
}

// wanted is a pod that a path needs.
type wanted struct {
	host   *remote.Host
	client bool
}

// startPods creates the pods of a pair, all at once, with their agents.
func (p *path) startPods(ctx context.Context, pair int, want ...wanted) ([]*endpoint, error) {
	out, errs := make([]*endpoint, len(want)), make([]error, len(want))
	var wg sync.WaitGroup
	for i, w := range want {
		wg.Go(func() { out[i], errs[i] = p.startPod(ctx, pair, w) })
	}
	wg.Wait()
	for _, e := range out {
		if e != nil {
			p.endpoints = append(p.endpoints, e)
		}
	}
	return out, errors.Join(errs...)
}

// startPod returns an endpoint also with an error, if its pod exists.
func (p *path) startPod(ctx context.Context, pair int, w wanted) (*endpoint, error) {
	name := endpointName(w.client, pair)
	run := p.session.Run
	limit := p.order.Limits.Server
	if w.client {
		limit = p.order.Limits.Client
	}
	pod, err := p.cluster.Run(ctx, kube.PodSpec{
		Run: run, Part: name, Name: kube.Name(run, p.order.Label, w.host.At, name), Namespace: p.driver.podNamespace(run), Node: p.nodeOf(w.host).Name, Labels: p.pairLabel(name), Limit: limit,
		RuntimeClass: p.order.Options[OptionRuntimeClass], Network: p.network,
	})
	if err != nil {
		return nil, err
	}
	e := &endpoint{pod: pod}
	e.Endpoint = remote.Endpoint{
		Place: pathspec.Place{At: w.host.At + "/" + name, Host: w.host.Host}, Name: name, Client: w.client, Host: w.host, Launcher: pod,
	}
	if err := e.StartAgent(ctx, run); err != nil {
		return e, err
	}
	addr, ok := pod.Address(false)
	if e.ipv6, _ = pod.Address(true); !ok {
		addr, e.ipv6 = e.ipv6, netip.Addr{}
	}
	if err := e.FindLink(ctx, addr); err != nil {
		return e, fmt.Errorf("find the device of pod %s: %w", pod.Name, err)
	}
	if pair == 1 {
		f := deviceFact(ctx, e)
		p.mu.Lock()
		p.facts = append(p.facts, f)
		p.mu.Unlock()
	}
	return e, p.noteInjected(ctx, e)
}

// nodeOf returns the cluster's node of a host.
func (p *path) nodeOf(h *remote.Host) kube.Node {
	_, nodes := p.driver.Cluster()
	if h.At == hostName(1) {
		return nodes[1]
	}
	return nodes[0]
}

// steps returns the steps from an endpoint towards its node.
func (e *endpoint) steps(at remote.Attachment) []pathspec.Step {
	if e.pod == nil {
		return []pathspec.Step{pathspec.ProcessStep(e.Place, result.Fact{Name: "started by", Value: "a pod on the host network"})}
	}
	facts := []result.Fact{{Name: "pod", Value: e.pod.Name}}
	if e.pod.Limit != (study.Limit{}) {
		facts = append(facts, result.Fact{Name: "limit", Value: limitText(e.pod.Limit)})
	}
	return e.StepsToHost(pathspec.ProcessStep(e.Place, facts...), at)
}

func limitText(l study.Limit) string {
	text := ""
	if l.CPUs > 0 {
		text = fmt.Sprintf("%g CPUs", l.CPUs)
	}
	if l.Memory > 0 {
		if text != "" {
			text += ", "
		}
		text += "memory " + l.Memory.String()
	}
	return text
}

func reversed(steps []pathspec.Step) []pathspec.Step {
	out := slices.Clone(steps)
	slices.Reverse(out)
	return out
}

// allFacts returns the facts of a mode.
func (p *path) allFacts(nodes []kube.Node) []result.Fact {
	facts := []result.Fact{{Name: "cluster", Value: p.cluster.Context}, {Name: "kubernetes", Value: p.cluster.Version}}
	for i, n := range nodes {
		facts = append(facts, result.Fact{Name: hostName(i) + " node", Value: n.Name})
	}
	if p.driver.options.Decoys > 0 {
		facts = append(facts, result.Fact{Name: "decoy services", Value: fmt.Sprint(p.driver.options.Decoys)})
	}
	for _, o := range []struct{ option, name string }{{OptionPolicies, "network policies"}, {OptionServices, "services without traffic"}, {OptionRuntimeClass, "runtime class"}} {
		if value := p.order.Options[o.option]; value != "" {
			facts = append(facts, result.Fact{Name: o.name, Value: value})
		}
	}
	return append(facts, p.facts...)
}

// shut removes what the path has created and, with the last path of a run, what all paths
// shared.
func (p *path) shut(ctx context.Context) error {
	p.close.Do(func() { p.closed = p.end(ctx) })
	return p.closed
}

func (p *path) end(ctx context.Context) error {
	errs := make([]error, len(p.endpoints)+len(p.services))
	var wg sync.WaitGroup
	for i, e := range p.endpoints {
		wg.Go(func() { errs[i] = errors.Join(e.Close(), e.pod.Remove(ctx)) })
	}
	for i, s := range p.services {
		wg.Go(func() { errs[len(p.endpoints)+i] = s.Remove(ctx) })
	}
	wg.Wait()
	if p.order.Options[OptionServices] != "" {
		errs = append(errs, p.cluster.RemoveDecoys(ctx, p.session.Run, p.driver.podNamespace(p.session.Run), p.decoys()))
	}
	return errors.Join(append(errs, p.driver.sessions.Leave(ctx, p.session))...)
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
	for _, e := range p.endpoints {
		if why := e.pod.ExitReason(ctx); why != "" {
			return fmt.Errorf("%s (%w)", why, err)
		}
	}
	return err
}
