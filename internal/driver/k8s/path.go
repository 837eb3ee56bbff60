package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/agent"
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
	order     driver.ModeSpec
	driver    *Driver
	cluster   *kube.Cluster
	session   *remote.Session
	read      remote.Path  // what agents read of its nodes, added to Path
	a, b      *remote.Host // of the client and the server; equal in modes within one node
	endpoints []*endpoint
	services  []*kube.Service
	facts     []result.Fact
	close     sync.Once
	closed    error
}

// endpoint is a pod with an agent that reads its network, or a process on the host network.
type endpoint struct {
	remote.Endpoint
	pod *kube.Pod // nil for a process on the host network
}

// ownLabel is the label of the pods of this mode, which policies select.
func (p *path) ownLabel() map[string]string { return map[string]string{"io.tare.mode": p.order.Label} }

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
		Run: run, Part: name, Name: kube.Name(run, p.order.Label, w.host.At, name), Namespace: podNamespace(run), Node: p.node(w.host), Labels: p.pairLabel(name), Limit: limit,
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
	if !ok {
		return e, fmt.Errorf("the cluster gave pod %s no IPv4 address", pod.Name)
	}
	if err := e.FindLink(ctx, addr); err != nil {
		return e, fmt.Errorf("find the device of pod %s: %w", pod.Name, err)
	}
	return e, nil
}

// node returns the cluster's name of a host.
func (p *path) node(h *remote.Host) string {
	_, nodes := p.driver.Cluster()
	if h.At == hostName(1) {
		return nodes[1].Name
	}
	return nodes[0].Name
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

// addPair adds a pair and checks its exchange, and records for the first pair what happens to the
// addresses of its connections.
func (p *path) addPair(ctx context.Context, pair int, x remote.Exchange) error {
	if pair == 1 {
		if err := p.recordAddresses(ctx, x); err != nil {
			return err
		}
	}
	err := p.read.AddPair(ctx, x)
	var u *remote.UnexpectedConnectivity
	if errors.As(err, &u) {
		return fmt.Errorf("a proxy between %s and %s opens connections of its own: the server saw %s, and the client dialled from %s over %s; look for a sidecar or a policy with a proxy", x.Client.At, x.Server.At, u.Result.Seen, u.Result.From, u.Network)
	}
	return err
}

// recordAddresses makes a connection, as soon as that is possible, and adds facts about which of
// its addresses are translated, as client and server see them.
func (p *path) recordAddresses(ctx context.Context, x remote.Exchange) error {
	met, err := agent.CheckReachability(ctx, x.Client.Agent, x.Server.Agent, "tcp", x.Listen, x.Dial, reachTimeout)
	if err != nil {
		return fmt.Errorf("%s cannot reach %s at %s: %w; check network policies and the firewalls of the nodes", x.Client.At, x.Server.At, x.Dial, err)
	}
	translated := func(kept bool) string {
		if kept {
			return "kept"
		}
		return "translated"
	}
	to := translated(x.Listen.Addr() == x.Dial.Addr())
	from := translated(met.Seen.Addr() == met.From.Addr())
	switch {
	case to != "kept":
		to += fmt.Sprintf(" from %s to %s (DNAT)", x.Dial.Addr(), x.Listen.Addr())
	}
	if from != "kept" {
		from += fmt.Sprintf(" to %s (SNAT)", met.Seen.Addr())
	}
	if met.Seen.Addr().IsLoopback() {
		from = fmt.Sprintf("that of a proxy in the server's pod (%s)", met.Seen.Addr())
	}
	p.facts = append(p.facts, result.Fact{Name: "destination address", Value: to}, result.Fact{Name: "source address", Value: from})
	return nil
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
	if n := p.order.Options[OptionPolicies]; n != "" {
		facts = append(facts, result.Fact{Name: "network policies", Value: n})
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

// at returns where a pod's server listens.
func (e *endpoint) at() netip.AddrPort { return netip.AddrPortFrom(e.Addr, pathspec.FirstPort) }
