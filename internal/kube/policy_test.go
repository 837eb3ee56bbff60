package kube

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Policies restrict a pod that they select, in the directions that they are of, unless one of them
// allows everything.
func TestRestrictions(t *testing.T) {
	policy := func(name string, selector map[string]string, types ...networkingv1.PolicyType) networkingv1.NetworkPolicy {
		return networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: selector}, PolicyTypes: types}}
	}
	in, out := networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	all := policy("all", nil, in)
	all.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
	some := policy("some", nil, in)
	some.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}}}}
	send := policy("send", nil, out)
	send.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
	for _, c := range []struct {
		name            string
		policies        []networkingv1.NetworkPolicy
		ingress, egress []string
	}{
		{"none", nil, nil, nil},
		{"another pod", []networkingv1.NetworkPolicy{policy("other", map[string]string{"app": "b"}, in, out)}, nil, nil},
		{"both directions", []networkingv1.NetworkPolicy{policy("deny", map[string]string{"app": "a"}, in, out)}, []string{"deny"}, []string{"deny"}},
		{"without types", []networkingv1.NetworkPolicy{policy("deny", nil)}, []string{"deny"}, nil},
		{"some", []networkingv1.NetworkPolicy{some, policy("deny", nil, in)}, []string{"deny", "some"}, nil},
		{"everything beside", []networkingv1.NetworkPolicy{some, policy("deny", nil, in, out), all}, nil, []string{"deny"}},
		{"everything both ways", []networkingv1.NetworkPolicy{policy("deny", nil, in, out), all, send}, nil, nil},
	} {
		ingress, egress := restrictions(c.policies, map[string]string{"app": "a"})
		if !slices.Equal(ingress, c.ingress) || !slices.Equal(egress, c.egress) {
			t.Errorf("%s: %v, %v", c.name, ingress, egress)
		}
	}
}
