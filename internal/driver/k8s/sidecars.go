package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/warning"
)

// loopback is the device of a pod over which its connections are led to a proxy in the pod, and from that to its server.
const loopback = "lo"

// Injection is the containers that a cluster adds to the pods of a run, by name and image: Added as it does by itself, and Kept also
// to pods that ask for none.
type Injection struct{ Added, Kept []string }

// Injection asks the cluster what it would add to the pods of a run. Without an existing namespace it creates the run's own for that,
// because injectors go by namespaces, and removes it.
func (d *Driver) Injection(ctx context.Context) (found Injection, err error) {
	run, err := runid.New()
	if err != nil {
		return found, err
	}
	defer run.Release()
	c, nodes := d.Cluster()
	space := d.podNamespace(run.ID)
	if d.options.Namespace == "" {
		defer func() {
			if left := c.RemoveNamespaces(context.WithoutCancel(ctx), space); left != nil {
				err = errors.Join(err, fmt.Errorf("%w; tare gc --kube removes what is left", left))
			}
		}()
		if err := c.CreateNamespace(ctx, run.ID, space, kube.Restricted); err != nil {
			return found, err
		}
		if err := c.AwaitAccount(ctx, space); err != nil {
			return found, err
		}
	}
	spec := kube.PodSpec{Run: run.ID, Part: "check", Name: kube.Name(run.ID, "check"), Namespace: space, Node: nodes[0].Name}
	if found.Added, err = c.WouldInject(ctx, spec); err != nil || len(found.Added) == 0 {
		return found, err
	}
	spec.NoSidecars = true
	found.Kept, err = c.WouldInject(ctx, spec)
	return found, err
}

// noSidecars reports whether the mode asks for pods without them.
func (p *pods) noSidecars() bool { return p.order.Options[OptionSidecars] == driver.Off }

// noteInjected looks for containers that the cluster has added to a pod. It returns an *Unsupported if the mode asks for none.
func (p *pods) noteInjected(ctx context.Context, e *endpoint) (err error) {
	if e.injected, err = e.pod.Injected(ctx); err != nil || len(e.injected) == 0 || !p.noSidecars() {
		return err
	}
	return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("cluster %s adds containers to the pod of the %s, which asks for none (%s: %s): %s; exclude namespace %s from injection, or use another (--namespace)",
		p.cluster.Context, e.Name, OptionSidecars, driver.Off, strings.Join(e.injected, ", "), e.pod.Namespace)}
}

// containers names the containers that the cluster has added to the pod, or else who can intercept its connections.
func (e *endpoint) containers() string {
	if len(e.injected) == 0 {
		return "no container: a process of the node, such as an ambient mesh's"
	}
	return strings.Join(e.injected, ", ")
}

// setIntercepted records at which ends of a pair proxies intercept connections, and returns an *Unsupported where the mode is not measured
// through them.
func (p *reached) setIntercepted(from, to *endpoint, found agent.Intercepted, measured bool) error {
	from.intercepted, to.intercepted = found.Client, found.Server
	var at []string
	for _, e := range []*endpoint{from, to} {
		if e.intercepted {
			at = append(at, fmt.Sprintf("of the %s (%s)", e.Name, e.containers()))
		}
	}
	switch {
	case len(at) == 0:
		return nil
	case p.pods.noSidecars():
		return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("a proxy intercepts TCP in the pod %s, which asks for no sidecars (%s: %s); exclude the namespace from the mesh, or use another (--namespace)", strings.Join(at, " and in that "), OptionSidecars, driver.Off)}
	case p.pods.order.Clock.FindsOut():
		return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("a proxy accepts the connections in the pod %s, so that nothing tells when the server answers first; leave it out with the option %s: %s", strings.Join(at, " and in that "), OptionSidecars, driver.Off)}
	case !measured:
		return &driver.Unsupported{Mode: p.spec.Mode, Reason: fmt.Sprintf("a proxy intercepts TCP in the pod %s, and the mode is not proven through one; leave it out with the option %s: %s, or measure k8s/pod or k8s/service", strings.Join(at, " and in that "), OptionSidecars, driver.Off)}
	}
	return nil
}

// refuseSidecars returns an *Unsupported if proxies intercept the connections of two pods of a mode that is not measured through them. Where
// these cannot reach each other directly, as where a policy allows the controller alone, that is not known.
func (p *reached) refuseSidecars(ctx context.Context, from, to *endpoint) error {
	r := to.reach()
	met, err := agent.FindProxies(ctx, from.Agent, to.Agent, netip.AddrPortFrom(r.listen[0], r.listenPort), netip.AddrPortFrom(r.dial[0], r.dialPort), policyTimeout())
	if err != nil {
		return errors.Join(from.Agent.Err(), to.Agent.Err())
	}
	return p.setIntercepted(from, to, met.Intercepted, false)
}

// carryProxied requires that the devices of a pod carry what it sends, and of what it receives the payload: that is in packets of a proxy.
// Where a proxy in the pod intercepts its connections, so is what it sends, and its loopback carries them to the proxy.
func (p *path) carryProxied(ctx context.Context, pair int, e *endpoint) (remote.Attachment, error) {
	plug, err := p.read.FindAttachment(ctx, &e.Endpoint)
	if err != nil {
		return plug, err
	}
	own, ownAtLeast, other := driver.Forward, driver.ForwardAtLeast, driver.ReverseAtLeast
	if !e.Client {
		own, ownAtLeast, other = driver.Reverse, driver.ReverseAtLeast, driver.ForwardAtLeast
	}
	must := func(dev pathspec.Device, counter string, expect driver.Expect) {
		p.ReadDevice(e.Place, dev)
		p.AddRules(driver.Rule{Counter: dev.Counter(e.Place, counter), Expect: expect, Pair: pair})
	}
	if e.intercepted {
		own = ownAtLeast
		must(pathspec.Device{Name: loopback}, "tx_bytes", driver.TCPAtLeast)
	}
	must(device(e.Link), "tx_bytes", own)
	must(device(e.Link), "rx_bytes", other)
	if plug.IsVeth {
		p.read.HostEndMustCarry(pair, &e.Endpoint, plug, other, own)
	}
	return plug, nil
}

// sidecarSteps returns what a pod's connections pass in it before its device.
func (e *endpoint) sidecarSteps() []pathspec.Step {
	if !e.intercepted {
		return nil
	}
	proxy := pathspec.RuleStep(e.Place, "proxy", "sidecar", result.Fact{Name: "containers that were added", Value: e.containers()})
	return []pathspec.Step{pathspec.PerPair(pathspec.DeviceStep(e.Place, pathspec.Device{Name: loopback})), pathspec.PerPair(pathspec.ProvenBy(proxy, e.At+"/"+loopback))}
}

// sidecarWarnings says of each pod what the cluster has added to it, and what that does to the results.
func (p *pods) sidecarWarnings() (out []result.Warning) {
	for _, e := range p.endpoints {
		say := func(format string, args ...any) {
			out = append(out, warning.New(warning.InjectedContainers, p.order.Name, format, args...))
		}
		switch {
		case e.intercepted:
			say("a proxy in the pod of the %s ends its TCP connections, which are measured through it; the cluster added %s. Connection latency, round-trip times and retransmissions of the kernel are those up to the own proxy; "+
				"without it: the option %s: %s.", e.Name, e.containers(), OptionSidecars, driver.Off)
		case len(e.injected) > 0:
			say("the cluster added containers to the pod of the %s: %s. Their CPU time is in the cost of the mode; leave them out with the option %s: %s, or another namespace (--namespace).", e.Name, e.containers(), OptionSidecars, driver.Off)
		}
	}
	return out
}
