// Package testneed is how a test says what it needs of the machine. What is missing skips the test, with a reason
// that scripts/tests counts; on a machine that is known to have it, it fails the test, because a part of tare, or
// the set-up of the tests, then does not work.
package testneed

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Need is what a machine may lack. A skipped test says "needs NEED: " and why the machine does not have it.
type Need string

// The needs of tests.
const (
	Root       Need = "root"           // the machine's, not that of a user namespace
	Labs       Need = "labs"           // network namespaces, as root or in a user namespace
	Static     Need = "a static build" // CGO_ENABLED=0, for containers and guests
	BPF        Need = "eBPF"
	IPv6       Need = "IPv6"
	NFT        Need = "nft"
	Iptables   Need = "iptables"
	Feature    Need = "a feature of the kernel" // that no mode needs
	Engine     Need = "a packaged Docker Engine"
	Current    Need = "a current Docker Engine"
	Rootless   Need = "a rootless Docker Engine"
	Podman     Need = "Podman"
	NewPodman  Need = "a current Podman"
	Netavark   Need = "netavark"
	Incus      Need = "Incus"
	CNI        Need = "CNI plugins"
	HAProxy    Need = "HAProxy"
	Nginx      Need = "nginx"
	Caddy      Need = "Caddy"
	Envoy      Need = "Envoy"
	Nebula     Need = "Nebula"
	OVS        Need = "Open vSwitch"
	StrongSwan Need = "strongSwan"
	Slirp      Need = "slirp4netns and pasta"
	Tools      Need = "iperf3 and iperf2"
	Web        Need = "wrk, h2load, nginx, curl and OpenSSL"
	QEMU       Need = "QEMU"
	Kernel     Need = "a kernel for guests"
	Kubernetes Need = "Kubernetes"
	SSH        Need = "an ssh server"
	Wine       Need = "Wine"
	Browser    Need = "a browser"
	Compiler   Need = "a C compiler for eBPF"
	Other      Need = "another machine" // that the test says, and no set-up could bring
)

// Variable is the environment variable that names the kind of machine that tests run on, one of Machines. Without
// it, whatever is missing skips.
const Variable = "TARE_TEST_MACHINE"

// Machine is what a known kind of machine lacks, with the set-up of the stage that a test belongs to. What is not
// listed it has.
type Machine struct {
	Needs []Need
	// Modes are those that no driver can build there, with or without a variant. What only a current
	// Docker Engine has is no such mode: its tests need testneed.Current.
	Modes []string
}

// Machines are the kinds of machines that a stage knows.
func Machines() map[string]Machine {
	return map[string]Machine{
		// Debian 12 as root, with a kernel that has no modules. Package inside tests what it lacks in a guest.
		"reference": {Needs: []Need{Other}, Modes: []string{
			"netns/ipvlan", "docker/ipvlan", "cni/network:ipvlan", // CONFIG_IPVLAN
			"netns/netkit",                             // CONFIG_NETKIT
			"ipsec/kernel", "docker/overlay-encrypted", // CONFIG_INET_ESP
			"wireguard/kernel",                    // CONFIG_WIREGUARD
			"docker/ingress",                      // CONFIG_IP_VS
			"ovs/flat", "ovs/vxlan", "ovs/geneve", // CONFIG_OPENVSWITCH
			"podman/rootless-pasta", // Podman 4.4
		}},
		// Debian 12 or later as root, with its own kernel.
		"debian": {Needs: []Need{Other}, Modes: []string{"netns/netkit", "podman/rootless-pasta"}}, // from Linux 6.7; Podman 4.4
		// The kernel of Debian 12's backports in the guest of package inside.
		"guest": {Needs: []Need{Other}, Modes: []string{"podman/rootless-pasta"}}, // from Podman 4.4
	}
}

// Missing skips the test, because the machine lacks what it needs, or fails it on a machine that should have it. A
// short run has no set-up, so nothing is missing there: the test is left to its stage.
func Missing(t testing.TB, need Need, why any) {
	t.Helper()
	NotShort(t)
	kind := os.Getenv(Variable)
	if kind == "" {
		t.Skipf("needs %s: %v", need, why)
	}
	m, known := Machines()[kind]
	if !known {
		t.Fatalf("%s=%q: no such kind of machine", Variable, kind)
	}
	if !slices.Contains(m.Needs, need) {
		t.Fatalf("needs %s, which a machine of the kind %q has: %v", need, kind, why)
	}
	t.Skipf("needs %s: %v", need, why)
}

// Unsupported skips the test of a mode that cannot be built here, or fails it on a machine that can build it.
func Unsupported(t testing.TB, mode string, why any) {
	t.Helper()
	if kind := os.Getenv(Variable); kind != "" {
		m, known := Machines()[kind]
		if !known {
			t.Fatalf("%s=%q: no such kind of machine", Variable, kind)
		}
		base, _, _ := strings.Cut(mode, "+")
		if !slices.Contains(m.Modes, base) {
			t.Fatalf("%s is unsupported, which a machine of the kind %q supports: %v", mode, kind, why)
		}
	}
	t.Skipf("needs the mode %s: %v", mode, why)
}

// NotShort skips the test in short runs, which are those of `make check`: without labs, engines and builds.
func NotShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left to make test")
	}
}
