// Package kubetest is a test bench: a real cluster of two nodes in network namespaces of this
// machine, with everything that scripts/setup-kubernetes has built. The cluster has no
// connection to anything else. It ends with the test, and with the test program however that
// exits.
package kubetest

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/testneed"
)

// Variable is the environment variable with the directory of what scripts/setup-kubernetes has
// built. VersionVariable is that with another version of Kubernetes than the default, such as 1.33.
const (
	Variable        = "TARE_KUBERNETES"
	VersionVariable = "TARE_KUBERNETES_VERSION"
)

// CNI is how pods on different nodes are connected.
type CNI string

// The networks.
const (
	Bridge  CNI = "bridge"  // a bridge on each node, and a route to that of the other
	Flannel CNI = "flannel" // flannel with VXLAN
	// Calico is Calico with VXLAN, which enforces network policies. With the vxlanMode
	// CrossSubnet of its IPPool, pods are connected by routes.
	Calico CNI = "calico"
	// KubeRouter is kube-router with routes by BGP, which enforces network policies. Services are
	// kube-proxy's.
	KubeRouter CNI = "kube-router"
	// Cilium is Cilium with VXLAN, whose programs in the kernel forward packets between pods. With Native, nodes have routes to
	// each other's pods instead.
	Cilium CNI = "cilium"
)

// Options say what kind of cluster is needed.
type Options struct {
	CNI   CNI    // Bridge if empty
	Proxy string // mode of kube-proxy: nftables, which is the default, or iptables; or CiliumProxy
	// IPv6 gives nodes, pods and services IPv6 addresses, too. Multus gives pods additional
	// networks that ask for them; DefineNetwork creates one. Both are for Bridge only.
	IPv6, Multus bool
	Native       bool // for Cilium only
}

// CiliumProxy is no kube-proxy: Cilium's programs translate the addresses of services. For Cilium only.
const CiliumProxy = "cilium"

// The names of the nodes. NodeA is the control plane's, too.
const (
	NodeA = "node-a"
	NodeB = "node-b"
)

// programs returns the directory of the cluster's programs; see testneed.
func programs(t testing.TB) string {
	t.Helper()
	drivertest.NeedLab(t)
	dir := os.Getenv(Variable)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "tare", "kubernetes", version(t))
	}
	for _, name := range []string{"bin/kubelet", "bin/flanneld", "bin/etcd", "bin/containerd", "bin/pause", "bin/metallb-speaker", "bin/calico-felix", "bin/kube-router", "bin/traefik", "bin/cilium-agent", "clang/bin/clang", "bin/ipset", "cni/flannel", "cni/bridge", "cni/multus"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			testneed.Missing(t, testneed.Kubernetes, err)
		}
	}
	return dir
}

// version returns the version of Kubernetes that tools/kubernetes pins, as scripts/setup-kubernetes
// reads it.
func version(t testing.TB) string {
	t.Helper()
	modules := cmp.Or(os.Getenv(VersionVariable), "go") + ".mod"
	text, err := os.ReadFile(filepath.Join(drivertest.Root(t), "tools/kubernetes", modules))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`k8s.io/kubernetes (v[0-9.]+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("tools/kubernetes/%s does not name a version of k8s.io/kubernetes", modules)
	}
	return string(found[1])
}
