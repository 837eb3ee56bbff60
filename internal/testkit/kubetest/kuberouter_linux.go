package kubetest

import (
	"path/filepath"

	"tare/internal/lab"
)

// kubeRouter returns the steps that give a node its network: the agent, which completes a configuration
// of the plugin bridge with the node's subnet, and learns by BGP where the other node's pods are. The
// plugin gets the configuration when there is such a route, so that the node is ready with it.
func (c *Cluster) kubeRouter(h *lab.Host, file func(base, text string) string, install step) []step {
	config := file("kube-router.conflist", `{"cniVersion": "0.3.1", "name": "kube-router", "plugins": [
{"name": "kubernetes", "type": "bridge", "bridge": "kube-bridge", "isDefaultGateway": true, "hairpinMode": true, "ipam": {"type": "host-local"}},
{"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}]}`)
	other := c.Lab.A
	if h == other {
		other = c.Lab.B
	}
	install.Once = false // kube-router needs the node's object, which only its kubelet creates
	install.Args = []string{"/bin/sh", "-c", `until grep -q '"subnet"' "$0" && ip route | grep -q "via $2 "; do sleep 0.1; done; cp "$0" "$1" && sleep infinity`, config, install.Args[2], other.Addr[0].String()}
	return []step{
		{Name: "kube-router", Args: []string{
			"/usr/bin/env", "KUBE_ROUTER_CNI_CONF_FILE=" + config, "LD_LIBRARY_PATH=" + filepath.Join(c.programs, "lib"),
			c.bin("kube-router"), "--kubeconfig=" + c.path("local-admin.kubeconfig"), "--hostname-override=" + nodeName(h),
			"--run-router=true", "--run-firewall=true", "--run-service-proxy=false", "--enable-overlay=false", "--enable-pod-egress=false",
			"--service-cluster-ip-range=" + c.services().String(), "--health-port=0",
		}},
		install,
	}
}
