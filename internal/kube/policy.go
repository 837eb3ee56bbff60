package kube

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"tare/internal/kube/api"
)

// CreatePolicies creates a number of network policies that select pods and allow only addresses for
// documentation, so that a network that enforces policies checks each connection against all of
// them; and one more that allows everything. That one exists first, so that nothing is ever denied,
// and its name is the last, because networks check policies in the order of their names. A cluster
// whose network has no policies ignores them.
func (c *Cluster) CreatePolicies(ctx context.Context, run, namespace, name string, count int, selector map[string]string) error {
	if count == 0 {
		return nil
	}
	both := []string{api.PolicyTypeIngress, api.PolicyTypeEgress}
	create := func(suffix string, from, to []api.NetworkPolicyPeer) error {
		p := api.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-" + suffix, Namespace: namespace, Labels: labels(run, "policy")},
			Spec: api.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: selector}, PolicyTypes: both,
				Ingress: []api.NetworkPolicyIngressRule{{From: from}}, Egress: []api.NetworkPolicyEgressRule{{To: to}},
			},
		}
		return c.fail(c.ensure(ctx, in(networking, namespace, "networkpolicies"), p), "create network policy %s", p.Name)
	}
	if err := create("rest", nil, nil); err != nil {
		return err
	}
	return createAll(count, func(i int) error {
		documentation := []api.NetworkPolicyPeer{{IPBlock: &api.IPBlock{CIDR: fmt.Sprintf("192.0.2.%d/32", i%256)}}}
		return create(fmt.Sprint(i+1), documentation, documentation)
	})
}

// Restrictions returns the names of the network policies that together do not allow the pod
// everything, sorted: as to what it receives, and what it sends. There are none if a policy that
// selects the pod allows everything, because policies add up.
func (p *Pod) Restrictions(ctx context.Context) (ingress, egress []string, err error) {
	var list api.NetworkPolicyList
	if err := p.cluster.get(ctx, in(networking, p.Namespace, "networkpolicies"), nil, &list); err != nil {
		return nil, nil, p.cluster.fail(err, "list the network policies of namespace %s", p.Namespace)
	}
	ingress, egress = restrictions(list.Items, p.manifest("").Labels)
	return ingress, egress, nil
}

func restrictions(policies []api.NetworkPolicy, pod map[string]string) (ingress, egress []string) {
	var allIn, allOut bool
	for _, p := range policies {
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || !selector.Matches(k8slabels.Set(pod)) {
			continue
		}
		types := p.Spec.PolicyTypes
		if len(types) == 0 { // the API server fills it in
			types = []string{api.PolicyTypeIngress}
		}
		if slices.Contains(types, api.PolicyTypeIngress) {
			ingress = append(ingress, p.Name)
			allIn = allIn || slices.ContainsFunc(p.Spec.Ingress, func(r api.NetworkPolicyIngressRule) bool { return len(r.From) == 0 && len(r.Ports) == 0 })
		}
		if slices.Contains(types, api.PolicyTypeEgress) {
			egress = append(egress, p.Name)
			allOut = allOut || slices.ContainsFunc(p.Spec.Egress, func(r api.NetworkPolicyEgressRule) bool { return len(r.To) == 0 && len(r.Ports) == 0 })
		}
	}
	if allIn {
		ingress = nil
	}
	if allOut {
		egress = nil
	}
	slices.Sort(ingress)
	slices.Sort(egress)
	return ingress, egress
}
