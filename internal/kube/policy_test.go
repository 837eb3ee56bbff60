package kube

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/kube/api"
)

// Policies restrict a pod that they select, in the directions that they are of, unless one of them
// allows everything.
func TestRestrictions(t *testing.T) {
	policy := func(name string, selector map[string]string, types ...string) api.NetworkPolicy {
		return api.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: selector}, PolicyTypes: types}}
	}
	in, out := api.PolicyTypeIngress, api.PolicyTypeEgress
	all := policy("all", nil, in)
	all.Spec.Ingress = []api.NetworkPolicyIngressRule{{}}
	some := policy("some", nil, in)
	some.Spec.Ingress = []api.NetworkPolicyIngressRule{{From: []api.NetworkPolicyPeer{{IPBlock: &api.IPBlock{CIDR: "192.0.2.0/24"}}}}}
	send := policy("send", nil, out)
	send.Spec.Egress = []api.NetworkPolicyEgressRule{{}}
	for _, c := range []struct {
		name            string
		policies        []api.NetworkPolicy
		ingress, egress []string
	}{
		{"none", nil, nil, nil},
		{"another pod", []api.NetworkPolicy{policy("other", map[string]string{"app": "b"}, in, out)}, nil, nil},
		{"both directions", []api.NetworkPolicy{policy("deny", map[string]string{"app": "a"}, in, out)}, []string{"deny"}, []string{"deny"}},
		{"without types", []api.NetworkPolicy{policy("deny", nil)}, []string{"deny"}, nil},
		{"some", []api.NetworkPolicy{some, policy("deny", nil, in)}, []string{"deny", "some"}, nil},
		{"everything beside", []api.NetworkPolicy{some, policy("deny", nil, in, out), all}, nil, []string{"deny"}},
		{"everything both ways", []api.NetworkPolicy{policy("deny", nil, in, out), all, send}, nil, nil},
	} {
		ingress, egress := restrictions(c.policies, map[string]string{"app": "a"})
		if !slices.Equal(ingress, c.ingress) || !slices.Equal(egress, c.egress) {
			t.Errorf("%s: %v, %v", c.name, ingress, egress)
		}
	}
}
