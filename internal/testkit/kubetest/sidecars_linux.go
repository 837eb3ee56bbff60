package kubetest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/testkit/testneed"
)

// Injector says what is added to the pods of a namespace.
type Injector struct {
	// Intercepts makes the sidecar a proxy, HAProxy, to which rules in the pod lead all its connections over TCP. Otherwise it waits.
	Intercepts bool
	// Obstinate injects also into pods that ask for nothing by the label of Istio.
	Obstinate bool
}

// The containers that are injected: one that prepares the pod, and the sidecar.
const (
	SidecarInit = "mesh-init"
	Sidecar     = "mesh-proxy"
)

// proxyUser is the user of the sidecar, whose own connections are not led to it.
const proxyUser = 1337

// BypassSidecar is a shell command in the sidecar's container that ends the redirection of the pod's connections to it.
const BypassSidecar = "exec chroot /host iptables -t nat -F"

// InjectSidecars creates a namespace, and an admission policy that adds containers to its pods, except for those on the host network. It
// ends with the cluster.
func (c *Cluster) InjectSidecars(t testing.TB, space string, with Injector) {
	t.Helper()
	prepare, run := "true", "while :; do sleep 3600; done"
	if with.Intercepts {
		haproxy, err := exec.LookPath("haproxy")
		if err != nil {
			testneed.Missing(t, testneed.HAProxy, err)
		}
		config := c.write(t, space+"-haproxy.cfg", fmt.Sprintf("global\n  uid %d\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"+
			"listen outbound\n  bind 127.0.0.1:15001\n  server original 0.0.0.0\nlisten inbound\n  bind 0.0.0.0:15006\n  server original 0.0.0.0\n", proxyUser))
		prepare = fmt.Sprintf("chroot /host iptables -w -t nat -A OUTPUT -p tcp ! -o lo -m owner ! --uid-owner %d -j REDIRECT --to-ports 15001 && "+
			"exec chroot /host iptables -w -t nat -A PREROUTING -p tcp -j REDIRECT --to-ports 15006", proxyUser)
		run = fmt.Sprintf("exec chroot /host %s -db -f %s", haproxy, config)
	}
	container := func(name, command, more string) string {
		return fmt.Sprintf(`Object.spec.initContainers{name: %q, image: %q, command: ["/bin/sh", "-c", %q], volumeMounts: [Object.spec.initContainers.volumeMounts{name: "mesh-host", mountPath: "/host"}]%s,
securityContext: Object.spec.initContainers.securityContext{runAsUser: 0, runAsNonRoot: false, capabilities: Object.spec.initContainers.securityContext.capabilities{add: ["NET_ADMIN", "NET_RAW"]}}}`,
			name, shellImage, command, more)
	}
	// An ApplyConfiguration may have no lists that are replaced as a whole, such as a command. Each pod has a volume already.
	change := fmt.Sprintf(`[JSONPatch{op: "add", path: "/spec/initContainers", value: [%s, %s]},
JSONPatch{op: "add", path: "/spec/volumes/-", value: Object.spec.volumes{name: "mesh-host", hostPath: Object.spec.volumes.hostPath{path: "/"}}}]`,
		container(SidecarInit, prepare, ""), container(Sidecar, run, `, restartPolicy: "Always"`))
	conditions := []string{`{"name": "own-network", "expression": "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"}`}
	if !with.Obstinate {
		conditions = append(conditions, `{"name": "not-refused", "expression": "!has(object.metadata.labels) || !('sidecar.istio.io/inject' in object.metadata.labels) || object.metadata.labels['sidecar.istio.io/inject'] != 'false'"}`)
	}
	c.Create(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q}}`, space),
		fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": %q}, "spec": {"failurePolicy": "Fail", "reinvocationPolicy": "Never",
"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}, "matchConditions": [%s],
"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": %q}}]}}`, space, strings.Join(conditions, ", "), change),
		fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": %q}, "spec": {"policyName": %q,
"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": %q}}}}}`, space, space, space))
	pod := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "namespace": %q}, "spec": {"containers": [{"name": "own", "image": %q}]}}`, space, shellImage)
	c.Until(t, "the injection of "+Sidecar+" in namespace "+space, func() bool {
		out, err := c.TryKubectl(t, pod, "create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.initContainers[*].name}")
		if err != nil {
			t.Logf("%v: %s", err, out)
		}
		return strings.Contains(out, Sidecar)
	})
}
