package kubetest

import (
	"fmt"
	"path/filepath"
	"testing"

	"tare/internal/lab"
)

// calicoObjects are what Calico's installation creates: the pool that it routes, and the mark
// that its objects are there. NAT is off, as with the other networks.
const calicoObjects = `apiVersion: crd.projectcalico.org/v1
kind: IPPool
metadata: {name: pods}
spec: {cidr: %q, vxlanMode: Always, ipipMode: Never, natOutgoing: false, nodeSelector: all()}
---
apiVersion: crd.projectcalico.org/v1
kind: ClusterInformation
metadata: {name: default}
spec: {datastoreReady: true}
`

// calicoControl returns the steps that create Calico's objects in the cluster.
func (c *Cluster) calicoControl(t testing.TB) []step {
	t.Helper()
	c.write(t, "calico.yaml", fmt.Sprintf(calicoObjects, c.pods()))
	apply := func(file string) step {
		return step{Name: "calico", Once: true, Args: c.localKubectl("apply", "--server-side", "-f", file)}
	}
	return []step{apply(filepath.Join(c.programs, "calico")), apply(c.path("calico.yaml"))}
}

// localKubectl returns the arguments of kubectl on a node, with all rights.
func (c *Cluster) localKubectl(args ...string) []string {
	return append([]string{c.bin("kubectl"), "--kubeconfig=" + c.path("local-admin.kubeconfig")}, args...)
}

// calico returns the steps that give a node its network: what Calico's own container does at its
// start, its agent, and the configuration of its plugin as soon as the agent is ready.
func (c *Cluster) calico(h *lab.Host, file func(base, text string) string, install step) []step {
	name, pods := nodeName(h), c.podsOf(h)
	install.Args[1] = file("calico.conflist", fmt.Sprintf(`{"cniVersion": "0.3.1", "name": "calico", "plugins": [
{"type": "calico", "datastore_type": "kubernetes", "nodename": %q, "nodename_file_optional": true, "mtu": 1450, "log_level": "warning",
 "ipam": {"type": "host-local", "subnet": "%s"}, "policy": {"type": "k8s"}, "kubernetes": {"kubeconfig": %q}},
{"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}]}`, name, pods, c.path("local-admin.kubeconfig")))
	install.Args = []string{"/bin/sh", "-c", `wget=$0; until "$wget" wget -q -O /dev/null http://127.0.0.1:9099/readiness; do sleep 0.1; done; cp "$1" "$2" && sleep infinity`, c.bin("busybox"), install.Args[1], install.Args[2]}
	// The node's object exists only after its kubelet has registered it.
	install.Once = false
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"projectcalico.org/IPv4Address": "%s/24", "projectcalico.org/IPv4VXLANTunnelAddr": %q}}, "spec": {"podCIDR": "%s", "podCIDRs": ["%s"]}}`, h.Addr[0], pods.Addr(), pods, pods)
	describe := append([]string{"/bin/sh", "-c", `until "$@"; do sleep 0.2; done; sleep infinity`, "describe"}, c.localKubectl("patch", "node", name, "--type=merge", "-p", patch)...)
	return []step{
		{Name: "describe", Args: describe},
		{Name: "felix", Args: []string{
			"/usr/bin/env", "KUBECONFIG=" + c.path("local-admin.kubeconfig"), "USE_POD_CIDR=true", "LD_LIBRARY_PATH=" + filepath.Join(c.programs, "lib"),
			"FELIX_DATASTORETYPE=kubernetes", "FELIX_FELIXHOSTNAME=" + name, "FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT", "FELIX_IPV6SUPPORT=false",
			"FELIX_IPTABLESBACKEND=NFT", "FELIX_BPFENABLED=false", "FELIX_XDPENABLED=false", "FELIX_USAGEREPORTINGENABLED=false",
			"FELIX_HEALTHENABLED=true", "FELIX_HEALTHHOST=127.0.0.1", "FELIX_LOGSEVERITYSCREEN=warning", "FELIX_LOGSEVERITYSYS=none", "FELIX_LOGFILEPATH=none",
			c.bin("calico-felix"),
		}},
		install,
	}
}
