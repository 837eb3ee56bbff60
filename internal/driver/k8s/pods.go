package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/warning"
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
	mu        sync.Mutex // guards what follows, and the facts, while the pods of a pair start
	injected  []string   // containers that the cluster has added to pods
	warnings  []result.Warning
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
	pod, err := p.cluster.Run(ctx, kube.PodSpec{
		Run: run, Part: name, Name: kube.Name(run, p.order.Label, w.host.At, name), Namespace: p.driver.podNamespace(run), Node: p.driver.nodeOf(w.host).Name, Labels: p.pairLabel(name), Limit: limit,
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
		p.spec.AddFacts(f)
		p.mu.Unlock()
	}
	return e, p.noteInjected(ctx, e)
}

// newService creates a service with one pod behind it.
func (p *pods) newService(ctx context.Context, behind *endpoint, spec kube.ServiceSpec) (*kube.Service, error) {
	spec.Run, spec.Namespace, spec.Port = p.session.Run, p.driver.podNamespace(p.session.Run), pathspec.FirstPort
	spec.Name, spec.Selector = behind.pod.Name, p.pairLabel(behind.Name)
	s, err := p.cluster.CreateService(ctx, spec, behind.pod)
	if s != nil {
		p.services = append(p.services, s)
	}
	return s, err
}

// decoys returns the name of the mode's own services without traffic.
func (p *pods) decoys() string { return kube.Name(p.session.Run, p.order.Label, "decoy") }

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
	if err := p.cluster.CreatePolicies(ctx, run, p.driver.podNamespace(run), kube.Name(run, "policy", p.order.Label), policies, p.ownLabel()); err != nil {
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

// noteInjected looks for containers that the cluster has added to a pod, and adds a warning that
// names them.
func (p *pods) noteInjected(ctx context.Context, e *endpoint) error {
	added, err := e.pod.Injected(ctx)
	if err != nil || len(added) == 0 {
		return err
	}
	names := strings.Join(added, ", ")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.injected = append(p.injected, names)
	p.warnings = append(p.warnings, warning.New(warning.InjectedContainers, p.order.Name,
		"the cluster added containers to the pod of the %s: %s. Their CPU time is in the cost of the mode, and they may carry its traffic. Exclude the pods from injection, or use another namespace (--namespace).", e.Name, names))
	return nil
}

// remove removes the pods, the services and the routes, and what the options have added.
func (p *pods) remove(ctx context.Context) error {
	errs := make([]error, len(p.endpoints)+len(p.services)+len(p.routes))
	var wg sync.WaitGroup
	for i, e := range p.endpoints {
		wg.Go(func() { errs[i] = errors.Join(e.Close(), e.pod.Remove(ctx)) })
	}
	for i, s := range p.services {
		wg.Go(func() { errs[len(p.endpoints)+i] = s.Remove(ctx) })
	}
	for i, r := range p.routes {
		wg.Go(func() { errs[len(p.endpoints)+len(p.services)+i] = r.Remove(ctx) })
	}
	wg.Wait()
	if p.order.Options[OptionServices] != "" {
		errs = append(errs, p.cluster.RemoveDecoys(ctx, p.session.Run, p.driver.podNamespace(p.session.Run), p.decoys()))
	}
	return errors.Join(errs...)
}
