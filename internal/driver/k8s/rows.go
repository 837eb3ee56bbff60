package k8s

import (
	"context"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/kube"
	"tare/internal/study"
)

// row is a mode: what it is called, what it needs and what builds it.
type row struct {
	driver.Mode
	near  bool // both endpoints are on the first node; otherwise it requires two
	nodes bool // an endpoint is a process on the host network
	// rights are those that it needs beyond those of every run; nil for none. existing means that the run uses an existing namespace.
	rights func(existing bool) []kube.Right
	build  func(*path, context.Context) error
}

// The baselines: processes on the host network of two nodes, or of one; without the host network,
// two pods of a node.
const (
	hostnet      = "k8s/hostnet"
	hostnetLocal = "k8s/hostnet-local"
	podLocal     = "k8s/pod-local"
)

// setupTime is roughly how long setting up and removing a mode takes.
const setupTime = 4 * time.Second

// rows are the modes of this package. One without a baseline is compared with the host network of as many nodes as it has.
func rows() []row {
	both, client, server := study.Ends{Client: true, Server: true}, study.Ends{Client: true}, study.Ends{Server: true}
	policy, service := []string{driver.PolicyAdded}, []string{driver.PolicyAdded, study.EndpointReplaced}
	return []row{
		{Mode: driver.Mode{ID: hostnet, Title: "pods on the host network of two nodes", TimesSetup: true},
			nodes: true, build: (*path).nodes},
		{Mode: driver.Mode{ID: hostnetLocal, Title: "two processes of a pod on the host network of one node", TimesSetup: true},
			near: true, nodes: true, build: (*path).nodes},
		{Mode: driver.Mode{ID: "k8s/pod", Title: "pod to a pod on another node", Events: policy, Limits: both},
			build: (*path).podToPod},
		{Mode: driver.Mode{ID: podLocal, Title: "pod to a pod on the same node", Events: policy, Limits: both},
			near: true, build: (*path).podToPod},
		{Mode: driver.Mode{ID: "k8s/pod-to-node", Title: "pod to a process on the host network of another node", Limits: client},
			nodes: true, build: (*path).podToNode},
		{Mode: driver.Mode{ID: "k8s/node-to-pod", Title: "process on the host network of a node to a pod on another node", Events: policy, Limits: server},
			nodes: true, build: (*path).nodeToPod},
		{Mode: driver.Mode{ID: "k8s/service", Title: "pod to a service (ClusterIP) whose pod is on another node", Events: service, TimesSetup: true, Limits: both},
			rights: kube.ServiceRights, build: (*path).service},
		{Mode: driver.Mode{ID: "k8s/service-local", Title: "pod to a service (ClusterIP) whose pod is on the same node", Events: service, TimesSetup: true, Limits: both},
			near: true, rights: kube.ServiceRights, build: (*path).service},
		{Mode: driver.Mode{ID: "k8s/nodeport", Title: "process on a node to a service's port on another node, where its pod is", Events: service, Limits: server},
			nodes: true, rights: serviceAnd(func(bool) []kube.Right { return kube.NodePortRights() }), build: (*path).nodePort},
		{Mode: driver.Mode{ID: loadBalancer, Title: "process on a node to a service's external address, whose pod is on another node", Events: service, Limits: server},
			nodes: true, rights: serviceAnd(func(bool) []kube.Right { return kube.BalancerRights() }), build: (*path).loadBalancer},
		{Mode: driver.Mode{ID: ingressMode + "NAME", Title: "pod to a pod on another node through the controller of an IngressClass, which reads each request", Baseline: "k8s/pod", Events: service, Limits: both, Cannot: cannotRead},
			rights: serviceAnd(kube.IngressRights), build: (*path).ingress},
		{Mode: driver.Mode{ID: gatewayMode + "NAME", Title: "pod to a pod on another node through a Gateway, which reads each request", Baseline: "k8s/pod", Events: service, Limits: both, Cannot: gatewayCannotRead},
			rights: serviceAnd(kube.GatewayRights), build: (*path).gateway},
		{Mode: driver.Mode{ID: networkMode + "NAME", Title: "pod to a pod on another node over an additional network of both (Multus)", Limits: both},
			rights: func(bool) []kube.Right { return kube.NetworkRights() }, build: (*path).additionalNetwork},
		{Mode: driver.Mode{ID: "k8s/hairpin", Title: "pod to itself through its own service", Limits: both, Cannot: cannotShare},
			near: true, rights: kube.ServiceRights, build: (*path).hairpin},
	}
}

// serviceAnd returns the rights of a mode with a service, and others.
func serviceAnd(others func(existing bool) []kube.Right) func(existing bool) []kube.Right {
	return func(existing bool) []kube.Right { return slices.Concat(kube.ServiceRights(existing), others(existing)) }
}

// rowOf finds the row of a mode, or nil.
func rowOf(mode string) *row {
	all := rows()
	i := slices.IndexFunc(all, func(r row) bool { return r.ID == idOf(mode) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// rightsOf are those that a mode needs beyond those of every run, with those of its events.
func rightsOf(mode string, existing bool) (out []kube.Right) {
	r := rowOf(mode)
	if r == nil {
		return nil
	}
	if r.rights != nil {
		out = r.rights(existing)
	}
	for _, event := range r.Events {
		switch event {
		case driver.PolicyAdded:
			out = append(out, kube.PolicyEventRights(event)...)
		case study.EndpointReplaced:
			out = append(out, kube.LeadRights(event)...)
		}
	}
	return out
}

// Modes lists the modes.
func (d *Driver) Modes() []driver.Mode {
	far, near := hostnet, hostnetLocal
	if d.options.NoHostNetwork {
		far, near = podLocal, podLocal
	}
	var all []driver.Mode
	for _, r := range rows() {
		m := r.Mode
		if base := m.ID == hostnet || m.ID == hostnetLocal || m.ID == near; m.Baseline == "" && !base {
			m.Baseline = far
			if r.near {
				m.Baseline = near
			}
		}
		m.SetupTime, m.Options = setupTime, m.Limits != (study.Ends{})
		all = append(all, m)
	}
	return all
}
