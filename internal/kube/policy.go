package kube

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"tare/internal/kube/api"
)

// PolicySpec describes network policies of a run.
type PolicySpec struct {
	Run, Namespace, Name string            // their names begin with Name, and their part is Name
	Selector             map[string]string // of the pods that they select
	Count                int               // of those that allow only addresses for documentation; with Open it may be 0
	// Open is the port over TCP that alone is open in the selected pods, to everyone; 0 for all ports. The policies then leave alone what
	// pods send: some networks let a packet pass whose sender may send it, whatever its receiver may receive.
	Open uint16
}

// part selects the policies of the specification.
func (p PolicySpec) part() string { return LabelRun + "=" + p.Run + "," + LabelPart + "=" + p.Name }

// CreatePolicies creates a number of network policies that select pods and allow only addresses for
// documentation, so that a network that enforces policies checks each connection against all of
// them; and one more that allows the rest. That one exists first, so that nothing of it is ever denied,
// and its name is the last, because networks check policies in the order of their names. A cluster
// whose network has no policies ignores them.
func (c *Cluster) CreatePolicies(ctx context.Context, spec PolicySpec) error {
	if spec.Count == 0 && spec.Open == 0 {
		return nil
	}
	create := func(suffix string, from api.NetworkPolicyIngressRule, to api.NetworkPolicyEgressRule) error {
		p := api.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: spec.Name + "-" + suffix, Namespace: spec.Namespace, Labels: labels(spec.Run, spec.Name)},
			Spec: api.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: spec.Selector}, PolicyTypes: []string{api.PolicyTypeIngress}, Ingress: []api.NetworkPolicyIngressRule{from},
			},
		}
		if spec.Open == 0 {
			p.Spec.PolicyTypes, p.Spec.Egress = append(p.Spec.PolicyTypes, api.PolicyTypeEgress), []api.NetworkPolicyEgressRule{to}
		}
		return c.fail(c.ensure(ctx, in(networking, spec.Namespace, "networkpolicies"), p), "create network policy %s", p.Name)
	}
	var rest api.NetworkPolicyIngressRule
	if spec.Open > 0 {
		rest.Ports = []api.NetworkPolicyPort{{Port: ptr(intstr.FromInt32(int32(spec.Open)))}}
	}
	if err := create("rest", rest, api.NetworkPolicyEgressRule{}); err != nil {
		return err
	}
	return createAll(spec.Count, func(i int) error {
		documentation := []api.NetworkPolicyPeer{{IPBlock: &api.IPBlock{CIDR: fmt.Sprintf("192.0.2.%d/32", i%256)}}}
		return create(fmt.Sprint(i+1), api.NetworkPolicyIngressRule{From: documentation}, api.NetworkPolicyEgressRule{To: documentation})
	})
}

// Policies returns how many of the policies that CreatePolicies created for a specification exist.
func (c *Cluster) Policies(ctx context.Context, spec PolicySpec) (int, error) {
	var list api.NetworkPolicyList
	err := c.get(ctx, in(networking, spec.Namespace, "networkpolicies"), url.Values{"labelSelector": {spec.part()}}, &list)
	return len(list.Items), c.fail(err, "list the network policies %s", spec.Name)
}

// RemovePolicies removes what CreatePolicies created for a specification.
func (c *Cluster) RemovePolicies(ctx context.Context, spec PolicySpec) error {
	return c.fail(c.removeAll(ctx, networking, spec.Namespace, "networkpolicies", spec.part()), "remove the network policies %s", spec.Name)
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
