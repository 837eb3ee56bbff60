package k8s

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/kube"
	"tare/internal/testkit/must"
)

// A run in an existing namespace with named nodes requires nothing of the whole cluster. One in
// namespaces of its own does.
func TestRightsOfTheCluster(t *testing.T) {
	wide := func(o Options) (out []string) {
		for _, r := range o.Rights([]string{podLocal, "k8s/nodeport"}, OptionPolicies) {
			if r.Cluster && !r.Optional {
				out = append(out, r.String())
			}
		}
		return out
	}
	if got := wide(Options{Namespace: "bench", Nodes: []string{"a", "b"}}); len(got) > 0 {
		t.Errorf("with a namespace and nodes: %v", got)
	}
	must.EqualFor(t, "with a namespace", []string{"list nodes"}, wide(Options{Namespace: "bench"}))
	must.EqualFor(t, "without", []string{"list nodes", "create namespaces", "get namespaces", "delete namespaces"}, wide(Options{}))
	// What a mode needs that is left out is not asked for.
	for _, r := range (Options{NoHostNetwork: true}).Rights([]string{"k8s/nodeport", loadBalancer}) {
		if r.Resource == "services" {
			t.Errorf("a mode that is left out needs the right to %s", r)
		}
	}
}

// Without the host network, the baseline is a pod on the same node.
func TestBaselineWithoutHostNetwork(t *testing.T) {
	for _, m := range New(Options{NoHostNetwork: true}).Modes() {
		want := podLocal
		if m.ID == podLocal || m.ID == hostnet || m.ID == hostnetLocal {
			want = ""
		}
		if m.ID == ingressMode+"NAME" || m.ID == gatewayMode+"NAME" {
			want = "k8s/pod"
		}
		must.EqualFor(t, fmt.Sprintf("%s is compared with", m.ID), want, m.Baseline)
	}
}

// A right that is optional somewhere and required elsewhere is required.
func TestUnionOfRights(t *testing.T) {
	all := kube.UnionOf(kube.RunRights(true, true), kube.RunRights(true, false))
	i := slices.IndexFunc(all, func(r kube.Right) bool { return r.Resource == "nodes" })
	if i < 0 || all[i].Optional || len(all) != len(kube.RunRights(true, false)) {
		t.Errorf("the union is %v", all)
	}
}
