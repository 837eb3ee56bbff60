package kubetest

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/lab"
)

// metallbSpace is the namespace of MetalLB's configuration.
const metallbSpace = "metallb-system"

// Balanced returns the addresses of each family that MetalLB has to give: one, so that a second
// service gets none.
func (c *Cluster) Balanced() []netip.Addr {
	return lab.PrefixAddrs(c.Lab.Addresses(lab.NetUnderlay, 200))
}

// StartMetalLB starts MetalLB, which gives services of type LoadBalancer addresses of the nodes'
// own network and announces them by ARP and neighbour discovery. It ends with the cluster.
func (c *Cluster) StartMetalLB(t testing.TB) {
	t.Helper()
	c.Kubectl(t, "", "create", "--validate=false", "-f", filepath.Join(c.programs, "metallb"))
	var addresses []string
	for i, p := range c.Balanced() {
		if i == 0 || c.options.IPv6 {
			addresses = append(addresses, fmt.Sprintf("%q", netip.PrefixFrom(p, p.BitLen())))
		}
	}
	c.Create(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q}}`, metallbSpace),
		fmt.Sprintf(`{"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": {"name": "nodes", "namespace": %q}, "spec": {"addresses": [%s]}}`, metallbSpace, strings.Join(addresses, ", ")),
		fmt.Sprintf(`{"apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement", "metadata": {"name": "nodes", "namespace": %q}}`, metallbSpace))
	config := "KUBECONFIG=" + c.path("local-admin.kubeconfig")
	for _, h := range []*lab.Host{c.Lab.A, c.Lab.B} {
		steps := []step{{Name: "speaker", Args: []string{"/usr/bin/env", config, c.bin("metallb-speaker"), "--namespace=" + metallbSpace, "--node-name=" + nodeName(h), "--host=127.0.0.1", "--port=7473"}}}
		if h == c.Lab.A {
			steps = append(steps, step{Name: "controller", Args: []string{"/usr/bin/env", config, c.bin("metallb-controller"), "--namespace=" + metallbSpace, "--webhook-mode=disabled", "--port=7472"}})
		}
		c.boot(t, h, "metallb-"+h.Name, steps)
	}
}

// attachmentCRD is the definition of the resource of additional networks, as in the specification
// of the Network Plumbing Working Group.
const attachmentCRD = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "network-attachment-definitions.k8s.cni.cncf.io"},
"spec": {"group": "k8s.cni.cncf.io", "scope": "Namespaced", "names": {"plural": "network-attachment-definitions", "singular": "network-attachment-definition", "kind": "NetworkAttachmentDefinition"},
"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"config": {"type": "string"}}}}}}}]}}`

// SecondNetwork is the additional network of a cluster with Multus, in the namespace default:
// macvlan devices on that of the nodes. DefineNetwork creates it.
const SecondNetwork = "second"

// addressState is where the plugin host-local keeps which addresses of a node are in use.
const addressState = "/run/cni-addresses"

// DefineNetwork creates SecondNetwork.
func (c *Cluster) DefineNetwork(t testing.TB) {
	t.Helper()
	c.Create(t, attachmentCRD)
	all := c.Lab.Addresses(lab.NetOverlay, 0)
	config := fmt.Sprintf(`{"cniVersion": "0.4.0", "name": %q, "type": "macvlan", "master": %q, "mode": "bridge",
"ipam": {"type": "host-local", "dataDir": %q, "ranges": %s}}`, SecondNetwork, lab.Underlay, addressState, c.ranges(all[0].Masked(), ipv6(all).Masked()))
	c.Create(t, fmt.Sprintf(`{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": %q, "namespace": "default"}, "spec": {"config": %q}}`, SecondNetwork, config))
}

// Create creates objects, or leaves those that exist. It repeats that until their resources are
// known: the API server serves a definition some time after it was created.
func (c *Cluster) Create(t testing.TB, objects ...string) {
	t.Helper()
	list := `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(objects, ",\n") + "]}"
	c.Until(t, list, func() bool {
		out, err := c.TryKubectl(t, list, "apply", "--validate=false", "-f", "-")
		if err != nil {
			t.Logf("%v: %s", err, out)
		}
		return err == nil
	})
}

// multus returns the steps that put Multus before a node's network.
func (c *Cluster) multus(h *lab.Host, file func(base, text string) string) []step {
	if !c.options.Multus {
		return nil
	}
	// The node's network is written here and not named: of a conflist that it reads from a file, Multus 4.2 passes the plugins only a part
	// when they are to remove a pod's network, which fails, so that a pod whose first attempt has failed never runs.
	config := file("multus.conf", fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "multus", "type": "multus", "kubeconfig": %q, "confDir": %q, "binDir": %q,
"delegates": [%s]}`, c.path("local-admin.kubeconfig"), cniConfig, filepath.Join(c.programs, "cni"), c.bridgeNetwork(h)))
	steps := []step{{Name: "multus", Once: true, Args: []string{"/bin/cp", config, filepath.Join(cniConfig, "00-multus.conf")}}}
	if h == c.Lab.B {
		// The plugin host-local knows only its own node, so that both would assign the same
		// addresses: this one continues after the hundredth.
		for i, p := range c.Lab.Addresses(lab.NetOverlay, 100) {
			at := filepath.Join(addressState, SecondNetwork, fmt.Sprintf("last_reserved_ip.%d", i))
			steps = append(steps, step{Name: "multus", Once: true, Args: []string{"/usr/bin/install", "-D", file(fmt.Sprintf("last-%d", i), p.Addr().String()), at}})
		}
	}
	return steps
}
