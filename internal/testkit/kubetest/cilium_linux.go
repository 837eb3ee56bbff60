package kubetest

import (
	"path/filepath"
	"strconv"
	"testing"

	"tare/internal/lab"
)

// ciliumControl returns the steps that define Cilium's objects in the cluster, which its operator does
// elsewhere. Its agent does all else that two nodes need.
func (c *Cluster) ciliumControl(t testing.TB) []step {
	t.Helper()
	return []step{{Name: "cilium", Once: true, Args: c.localKubectl("apply", "--server-side", "-f", filepath.Join(c.programs, "cilium/crds"))}}
}

// ciliumSysctls are settings of the whole machine that Cilium's agent writes.
func ciliumSysctls() map[string]string {
	return map[string]string{"kernel/unprivileged_bpf_disabled": "1", "kernel/timer_migration": "0"}
}

// cilium returns the steps that give a node its network: the agent, which compiles the programs of its kernel with
// clang, and writes the configuration of its plugin when it is ready.
func (c *Cluster) cilium(h *lab.Host, install step) []step {
	const state, library = "/run/cilium", "/var/lib/cilium"
	in := filepath.Join(c.programs, "cilium")
	routing := []string{"--routing-mode=tunnel", "--tunnel-protocol=vxlan"}
	if c.options.Native {
		routing = []string{"--routing-mode=native", "--auto-direct-node-routes=true", "--ipv4-native-routing-cidr=" + c.pods().String()}
	}
	return []step{
		{Name: "library", Once: true, Args: []string{"/bin/sh", "-c", `mkdir -p "$1" "$2" && cp -r "$0" "$1/bpf"`, filepath.Join(in, "bpf"), library, state}},
		{Name: "cilium", Args: append([]string{
			// What Cilium attaches to all control groups is attached to those of the node only.
			"/bin/sh", "-c", `for group in /sys/fs/cgroup/"$0" /sys/fs/cgroup/unified/"$0"; do [ ! -e "$group/cgroup.controllers" ] || echo $$ >"$group/cgroup.procs"; done && exec unshare --cgroup "$@"`,
			c.cgroup(h.Name), "/usr/bin/env", "K8S_NODE_NAME=" + nodeName(h), "PATH=" + filepath.Join(c.programs, "clang/bin") + ":" + filepath.Join(c.programs, "bin") + ":/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH=" + filepath.Join(c.programs, "clang/lib"),
			c.bin("cilium-agent"), "--k8s-kubeconfig-path=" + c.path("local-admin.kubeconfig"), "--cluster-name=default",
			"--state-dir=" + state, "--lib-dir=" + library, "--bpf-root=" + state + "/bpffs", "--cgroup-root=" + state + "/cgroup",
			"--ipam=kubernetes", "--identity-allocation-mode=crd", "--enable-ipv6=false", "--enable-ipv4-masquerade=false",
			"--devices=" + lab.Underlay,
			"--kube-proxy-replacement=" + strconv.FormatBool(c.options.Proxy == CiliumProxy),
			"--enable-l7-proxy=false", "--enable-hubble=false", "--enable-health-checking=false", "--enable-endpoint-health-checking=false",
			"--write-cni-conf-when-ready=" + install.Args[2], "--cni-exclusive=false",
		}, routing...)},
	}
}
