package kube_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// checkInjected adds a container to a pod, as an admission webhook does, and expects it to be named.
func checkInjected(t *testing.T, c *kubetest.Cluster, k *kube.Cluster, spec kube.PodSpec) {
	t.Helper()
	pod := must.Get(k.Run(t.Context(), spec))(t)
	if added, err := pod.Injected(t.Context()); err != nil || len(added) > 0 {
		t.Errorf("of a pod as it was created: %v, %v", added, err)
	}
	var whole map[string]any
	must.Do(t, json.Unmarshal([]byte(c.Kubectl(t, "", "get", "pod", spec.Name, "-n", spec.Namespace, "-o", "json")), &whole))
	restricted := map[string]any{"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": map[string]any{"drop": []string{"ALL"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"}}
	whole["spec"].(map[string]any)["ephemeralContainers"] = []any{map[string]any{"name": "mesh-proxy", "image": "localhost/proxy:1", "imagePullPolicy": "Never", "securityContext": restricted}}
	raw := must.Get(json.Marshal(whole))(t)
	c.Kubectl(t, string(raw), "replace", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/ephemeralcontainers", spec.Namespace, spec.Name), "-f", "-")
	must.EqualFor(t, "added", []string{"mesh-proxy (localhost/proxy:1)"}, must.Get(pod.Injected(t.Context()))(t))
	must.Do(t, pod.Remove(t.Context()))
}

// checkFacts reads what the cluster tells of a node, and as a user who may read nothing of it.
func checkFacts(t *testing.T, c *kubetest.Cluster, k *kube.Cluster) {
	t.Helper()
	value := func(facts []result.Fact, name string) string {
		for _, f := range facts {
			if f.Name == name {
				return f.Value
			}
		}
		return ""
	}
	all := append(k.NodeFacts(t.Context(), kubetest.NodeA), k.NetworkFacts(t.Context())...)
	if got := value(all, "CPU manager policy"); got != "none" {
		t.Errorf("CPU manager policy: %q in %v", got, all)
	}
	must.EqualFor(t, "mode of kube-proxy", "unknown: the cluster does not have it", value(all, kube.FactProxyMode))
	if got := value(all, "pods"); !strings.HasSuffix(got, " of others run on the node") {
		t.Errorf("pods: %q", got)
	}
	stranger := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Stranger}))(t)
	for _, f := range append(stranger.NodeFacts(t.Context(), kubetest.NodeA), stranger.NetworkFacts(t.Context())...) {
		must.EqualFor(t, fmt.Sprintf("a stranger reads %s", f.Name), "unknown: the user may not read it", f.Value)
	}
}
