package kubetest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"tare/internal/engine/private"
	"tare/internal/lab"
)

// pauseImage is the image of a pod's first process.
const pauseImage = "localhost/pause:1"

// shellImage is an image with nothing but a shell.
const shellImage = "localhost/shell:1"

func arch() string { return runtime.GOARCH }

// control starts the control plane on host a.
func (c *Cluster) control(t testing.TB) {
	t.Helper()
	at, service := c.Lab.A.Addr[0], c.services().Addr().Next()
	server := fmt.Sprintf("https://%s:6443", at)
	c.pki.server(t, "apiserver", at, service)
	c.pki.client(t, "kubelet-client", "system:masters")
	c.pki.kubeconfig(t, "local-admin", server, "local-admin", "system:masters", "")
	c.proxy = startProxy(t, c.Lab.A.NS)
	c.Admin = c.pki.kubeconfig(t, "admin", server, "admin", "system:masters", c.proxy.url)
	c.Stranger = c.pki.kubeconfig(t, "stranger", server, "stranger", "", c.proxy.url)
	manager := c.pki.kubeconfig(t, "manager", server, "system:kube-controller-manager", "", "")
	scheduler := c.pki.kubeconfig(t, "scheduler", server, "system:kube-scheduler", "", "")
	c.pki.kubeconfig(t, "proxy", server, "system:kube-proxy", "", "")
	for _, h := range []*lab.Host{c.Lab.A, c.Lab.B} {
		name := nodeName(h)
		c.pki.kubeconfig(t, name, server, "system:node:"+name, "system:nodes", "")
	}
	c.write(t, "tokens.csv", c.pki.tokens.String())
	managed := []string{
		c.bin("kube-controller-manager"), "--kubeconfig=" + manager, "--service-account-private-key-file=" + c.path("sa.key"), "--root-ca-file=" + c.path("ca.crt"),
		"--use-service-account-credentials=true", "--leader-elect=false", "--bind-address=127.0.0.1", "--service-cluster-ip-range=" + c.both(c.services(), c.services6()),
		"--cluster-signing-cert-file=" + c.path("ca.crt"), "--cluster-signing-key-file=" + c.path("ca.key"),
	}
	if c.options.CNI == Flannel || c.options.CNI == KubeRouter || c.options.CNI == Cilium {
		managed = append(managed, "--allocate-node-cidrs=true", "--cluster-cidr="+c.pods().String(), "--node-cidr-mask-size=24")
	}
	const etcd = "http://127.0.0.1:2379"
	steps := []step{
		{Name: "etcd", Args: []string{
			c.bin("etcd"), "--data-dir=/run/etcd", "--unsafe-no-fsync", "--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=default=http://127.0.0.1:2380",
		}},
		{Name: "apiserver", Args: []string{
			c.bin("kube-apiserver"), "--etcd-servers=" + etcd, "--advertise-address=" + at.String(), "--bind-address=0.0.0.0", "--secure-port=6443",
			"--service-cluster-ip-range=" + c.both(c.services(), c.services6()), "--tls-cert-file=" + c.path("apiserver.crt"), "--tls-private-key-file=" + c.path("apiserver.key"),
			"--client-ca-file=" + c.path("ca.crt"), "--token-auth-file=" + c.path("tokens.csv"), "--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + c.path("sa.pub"), "--service-account-signing-key-file=" + c.path("sa.key"), "--authorization-mode=Node,RBAC",
			"--kubelet-client-certificate=" + c.path("kubelet-client.crt"), "--kubelet-client-key=" + c.path("kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP", "--allow-privileged=true",
		}},
		{Name: "manager", Args: managed},
		{Name: "scheduler", Args: []string{c.bin("kube-scheduler"), "--kubeconfig=" + scheduler, "--leader-elect=false", "--bind-address=127.0.0.1"}},
	}
	switch c.options.CNI {
	case Calico:
		steps = append(steps, c.calicoControl(t)...)
	case Cilium:
		steps = append(steps, c.ciliumControl(t)...)
	}
	c.boot(t, c.Lab.A, "control", steps)
}

func nodeName(h *lab.Host) string { return "node-" + h.Name }

// Directories of a node, all in its own /run.
const (
	containerdSocket = "/run/containerd/containerd.sock"
	cniConfig        = "/run/cni"
	flannelEnv       = "/run/flannel/subnet.env"
)

// node starts a node on a host.
func (c *Cluster) node(t testing.TB, h *lab.Host) {
	t.Helper()
	name, ip := nodeName(h), h.Addr[0]
	if err := private.MakeGroups(c.claimed(h.Name)); err != nil {
		t.Fatal(err)
	}
	file := func(base, text string) string { return c.write(t, name+"-"+base, text) }
	containerd := file("containerd.toml", fmt.Sprintf(`version = 2
root = "/run/containerd-root"
state = "/run/containerd"
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  stream_server_address = "127.0.0.1"
  tolerate_missing_hugetlb_controller = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, containerdSocket, pauseImage, filepath.Join(c.programs, "cni"), cniConfig))
	kubelet := file("kubelet.yaml", fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix://%s
address: %s
healthzBindAddress: %s
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}}
authorization: {mode: Webhook}
evictionHard: {memory.available: "100Mi", nodefs.available: "1%%", imagefs.available: "1%%", nodefs.inodesFree: "1%%"}
imageGCHighThresholdPercent: 100
resolvConf: %s
volumePluginDir: /run/kubelet-plugins
nodeStatusUpdateFrequency: 5s
syncFrequency: 10s
shutdownGracePeriod: 0s
`, c.cgroup(h.Name), containerdSocket, ip, ip, c.path("ca.crt"), file("resolv.conf", "")))
	proxy := file("proxy.yaml", fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: %s}
mode: %s
clusterCIDR: %s
hostnameOverride: %s
healthzBindAddress: %s:10256
metricsBindAddress: %s:10249
nodePortAddresses: ["primary"]
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
nftables: {minSyncPeriod: 50ms}
iptables: {minSyncPeriod: 50ms}
`, c.path("proxy.kubeconfig"), c.options.Proxy, c.both(c.pods(), c.pods6()), name, ip, ip))
	ctr := func(image string) step {
		return step{Name: "import", Once: true, Args: []string{c.bin("ctr"), "--address=" + containerdSocket, "--namespace=k8s.io", "images", "import", c.path(image)}}
	}
	steps := []step{
		{Name: "mkdir", Once: true, Args: []string{"/bin/mkdir", "-p", cniConfig, filepath.Dir(flannelEnv)}},
		{Name: "containerd", Args: []string{c.bin("containerd"), "--config=" + containerd}},
		{Name: "socket", After: containerdSocket, Once: true, Args: []string{c.bin("ctr"), "--address=" + containerdSocket, "version"}},
		ctr("pause.tar"), ctr("shell.tar"), ctr("tare.tar"),
	}
	steps = append(steps, c.cni(h, file)...)
	steps = append(steps, c.multus(h, file)...)
	steps = append(steps, step{Name: "kubelet", Args: []string{c.bin("kubelet"), "--config=" + kubelet, "--kubeconfig=" + c.path(name+".kubeconfig"), "--hostname-override=" + name, "--node-ip=" + c.nodeAddresses(h), "--root-dir=/run/kubelet"}})
	if c.options.Proxy != CiliumProxy {
		steps = append(steps, step{Name: "proxy", Args: []string{c.bin("kube-proxy"), "--config=" + proxy}})
	}
	c.boot(t, h, name, steps)
}

// bridgeNetwork returns the configuration of the CNI plugin bridge on a node.
func (c *Cluster) bridgeNetwork(h *lab.Host) string {
	return fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "bridge", "plugins": [
{"type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "ipMasq": false, "hairpinMode": true, "mtu": 1500,
 "ipam": {"type": "host-local", "dataDir": %q, "ranges": %s}},
{"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}]}`, addressState, c.ranges(c.podsOf(h), c.PodsIPv6(h)))
}

// cni returns the steps that give a node its network. Its configuration appears only when the
// network is ready, and so does the node.
func (c *Cluster) cni(h *lab.Host, file func(base, text string) string) []step {
	install := step{Name: "cni", Args: []string{"/bin/cp", "", filepath.Join(cniConfig, "10-"+string(c.options.CNI)+".conflist")}, Once: true}
	if c.options.CNI == Bridge {
		install.Args[1] = file("bridge.conflist", c.bridgeNetwork(h))
		return []step{install}
	}
	switch c.options.CNI {
	case Calico:
		return c.calico(h, file, install)
	case KubeRouter:
		return c.kubeRouter(h, file, install)
	case Cilium:
		return c.cilium(h, install)
	}
	install.After = flannelEnv
	install.Args[1] = file("flannel.conflist", `{"cniVersion": "0.3.1", "name": "cbr0", "plugins": [
{"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
{"type": "portmap", "capabilities": {"portMappings": true}}]}`)
	net := file("net-conf.json", fmt.Sprintf(`{"Network": %q, "SubnetLen": 24, "Backend": {"Type": "vxlan", "VNI": 1, "Port": 8472}}`, c.pods().String()))
	// The node's configuration appears only after its kubelet has registered it.
	install.Once = false
	install.Args = []string{"/bin/sh", "-c", `cp "$0" "$1" && sleep infinity`, install.Args[1], install.Args[2]}
	return []step{
		{Name: "flannel", Args: []string{"/usr/bin/env", "NODE_NAME=" + nodeName(h), c.bin("flanneld"), "-kube-subnet-mgr", "-kubeconfig-file=" + c.path("local-admin.kubeconfig"),
			"-net-config-path=" + net, "-iface=" + lab.Underlay, "-ip-masq=false", "-healthz-port=0"}},
		install,
	}
}
