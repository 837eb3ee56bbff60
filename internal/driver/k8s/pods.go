package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
)

// pods are the pods, services and routes of a path, with what its options add to them.
type pods struct {
	spec      *pathspec.Path
	order     driver.Order
	driver    *Driver
	cluster   *kube.Cluster
	session   *remote.Session
	network   *kube.Network // an additional one of the pods, nil in most modes
	endpoints []*endpoint
	services  []*kube.Service
	routes    []*kube.Route
	started   []*kube.Pod // without an endpoint: how long one takes to answer was measured
	mu        sync.Mutex  // guards the facts, while the pods of a pair start
}

// ownLabel returns the labels of the pods of this mode, which policies select. Those of another run
// may be in the same namespace.
func (p *pods) ownLabel() map[string]string {
	return map[string]string{kube.LabelRun: p.session.Run, "io.tare.mode": p.order.Label}
}

// pairLabel returns the labels of one pod of this mode, which services select.
func (p *pods) pairLabel(name string) map[string]string {
	l := p.ownLabel()
	l["io.tare.endpoint"] = name
	return l
}

// wanted is a pod that a path needs.
type wanted struct {
	host   *remote.Host
	client bool
	answer *answering // nil but for a server whose set-up is measured
}

// podName is the name of the pod of an endpoint.
func (p *pods) podName(at *remote.Host, endpoint string) string {
	return kube.Name(p.session.Run, p.order.Label, at.At, endpoint)
}

// start creates the pods of a pair, all at once, with their agents.
func (p *pods) start(ctx context.Context, pair int, want ...wanted) ([]*endpoint, error) {
	out, errs := make([]*endpoint, len(want)), make([]error, len(want))
	var wg sync.WaitGroup
	for i, w := range want {
		wg.Go(func() { out[i], errs[i] = p.startOne(ctx, pair, w) })
	}
	wg.Wait()
	for _, e := range out {
		if e != nil {
			p.endpoints = append(p.endpoints, e)
		}
	}
	return out, errors.Join(errs...)
}

// startOne returns an endpoint also with an error, if its pod exists.
func (p *pods) startOne(ctx context.Context, pair int, w wanted) (*endpoint, error) {
	name := endpointName(w.client, pair)
	run := p.session.Run
	limit := p.order.Limits.Server
	if w.client {
		limit = p.order.Limits.Client
	}
	spec := kube.PodSpec{
		Run: run, Part: name, Name: p.podName(w.host, name), Namespace: p.driver.podNamespace(run), Node: p.driver.nodeOf(w.host).Name, Labels: p.pairLabel(name), Limit: limit,
		RuntimeClass: p.order.Options[OptionRuntimeClass], NoSidecars: p.noSidecars(), Network: p.network,
	}
	w.answer.begin(&spec)
	pod, err := p.cluster.Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	w.answer.exists()
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
		p.spec.AddFacts(f)
		p.mu.Unlock()
	}
	return e, p.noteInjected(ctx, e)
}

// newService creates a service with one pod behind it.
func (p *pods) newService(ctx context.Context, behind *endpoint, spec kube.ServiceSpec) (*kube.Service, error) {
	return p.createService(ctx, behind.pod.Name, behind.Name, behind.pod, spec)
}

// createService creates a service for the pod of an endpoint, and waits for the pod unless that is nil.
func (p *pods) createService(ctx context.Context, name, endpoint string, pod *kube.Pod, spec kube.ServiceSpec) (*kube.Service, error) {
	spec.Run, spec.Namespace, spec.Port = p.session.Run, p.driver.podNamespace(p.session.Run), pathspec.FirstPort
	spec.Name, spec.Selector = name, p.pairLabel(endpoint)
	s, err := p.cluster.CreateService(ctx, spec, pod)
	if s != nil {
		p.services = append(p.services, s)
	}
	return s, err
}

// decoys returns the name of the mode's own services without traffic.
func (p *pods) decoys() string { return kube.Name(p.session.Run, p.order.Label, "decoy") }

// policies describes a number of network policies that select the pods of this mode.
func (p *pods) policies(of string, count int) kube.PolicySpec {
	run := p.session.Run
	return kube.PolicySpec{Run: run, Namespace: p.driver.podNamespace(run), Name: kube.Name(run, of, p.order.Label), Selector: p.ownLabel(), Count: count}
}

// prepare creates what the options of a mode require before its pods.
func (p *pods) prepare(ctx context.Context) error {
	run := p.session.Run
	if class := p.order.Options[OptionRuntimeClass]; class != "" {
		if err := p.checkRuntimeClass(ctx, class); err != nil {
			return err
		}
	}
	policies, err := count(p.order, OptionPolicies)
	if err != nil {
		return err
	}
	if err := p.cluster.CreatePolicies(ctx, p.policies("policy", policies)); err != nil {
		return err
	}
	services, err := count(p.order, OptionServices)
	if err != nil {
		return err
	}
	return p.cluster.CreateDecoys(ctx, run, p.driver.podNamespace(run), p.decoys(), services)
}

// checkRuntimeClass returns an *Unsupported if the cluster has no such runtime class. A user who
// may not list them learns it from the refusal of the pod.
func (p *pods) checkRuntimeClass(ctx context.Context, class string) error {
	all, err := p.cluster.RuntimeClasses(ctx)
	if _, ok := findClass(all, class); ok || err != nil {
		return nil //nolint:nilerr // see above
	}
	return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("cluster %s has no runtime class %s; it has %s", p.cluster.Context, class, classNames(all))}
}

// remove removes the pods, the services and the routes, all at once, and what the options have added.
func (p *pods) remove(ctx context.Context) error {
	var all []func() error
	for _, e := range p.endpoints {
		all = append(all, func() error { return errors.Join(e.Close(), e.pod.Remove(ctx)) })
	}
	for _, pod := range p.started {
		all = append(all, func() error { return pod.Remove(ctx) })
	}
	for _, s := range p.services {
		all = append(all, func() error { return s.Remove(ctx) })
	}
	for _, r := range p.routes {
		all = append(all, func() error { return r.Remove(ctx) })
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, remove := range all {
		wg.Go(func() { errs[i] = remove() })
	}
	wg.Wait()
	if p.order.Options[OptionServices] != "" {
		errs = append(errs, p.cluster.RemoveDecoys(ctx, p.session.Run, p.driver.podNamespace(p.session.Run), p.decoys()))
	}
	return errors.Join(errs...)
}
