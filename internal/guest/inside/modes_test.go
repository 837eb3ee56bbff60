//go:build linux

package inside_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver/daemon"
	"tare/internal/engine/private"
	"tare/internal/process"
	"tare/internal/study"
	"tare/internal/testkit/testneed"
)

// mode is measured in the guest. Modules are loaded into the kernel for it, carried are the
// programs and files that it needs.
type mode struct {
	id      string
	with    string // settings of a variant, such as {endpoint: other}; empty for none
	drawn   string // as which mode the path of a variant is drawn
	modules []string
	carried func(t *testing.T) []string // nil for nothing
}

// guest is one virtual machine and what runs in it, one after another. Modes with their own
// processes are measured separately, because the processes share the one CPU with all others.
type guest struct {
	name  string
	runs  [][]mode
	tests []tested
	// engine puts the programs of the current Docker Engine into the guest, and mounts the control
	// groups that it needs.
	engine bool
	memory int    // MB; 0 for 1024
	least  string // the oldest kernel that has the modes; empty if any has them
}

// guests run concurrently. To add a mode, add a line here.
var guests = []guest{
	{name: "tunnels", tests: []tested{
		{name: "ESP", folder: "internal/linuxnet", run: "TestESP", modules: esp, missing: "add an IPsec ESP association"},
		{name: "conntrack", folder: "internal/runner", run: "TestGuestFullTracking", missing: "needs another machine"},
		{name: "netem", folder: "internal/runner", run: "TestGuestNetem", modules: []string{"veth", "sch_netem"}, carried: []string{"/sbin/tc"}, missing: "needs another machine"},
		{name: "clock", folder: "internal/runner", run: "TestGuestClock", modules: []string{"veth"}, missing: "needs another machine"},
	}, runs: [][]mode{
		{
			{id: "host"},
			{id: "netns/published", modules: []string{"bridge", "veth", "nf_tables", "nft_chain_nat", "nft_nat", "nft_masq", "nft_ct", "nft_fib_inet", "nf_conntrack_netlink"}},
			{id: "netns/vxlan", modules: []string{"bridge", "veth", "vxlan"}},
			{id: "netns/macvlan", modules: []string{"veth", "macvlan"}},
			{id: "netns/ipvlan", modules: []string{"veth", "ipvlan"}},
			{id: "wireguard/kernel", modules: []string{"veth", "bridge", "nf_tables", "wireguard"}},
		}, {
			{id: "host"},
			{id: "ipsec/kernel", modules: append([]string{"bridge", "nf_tables"}, esp...), carried: strongSwan},
		},
	}},
	{name: "swarm", engine: true, memory: 2048, runs: [][]mode{
		{
			{id: "host"},
			{id: "docker/overlay-encrypted", modules: slices.Concat(dockerModules, swarmModules, esp), carried: dockerEngine},
		}, {
			{id: "host"},
			{id: "docker/ingress", with: "{endpoint: other}", drawn: "docker/ingress-endpoint-other"},
		},
	}},
	{name: "mesh", engine: true, memory: 2048, tests: []tested{
		{name: "ingress", folder: "internal/driver/engines", run: "TestEnginesIngressShortcut", missing: "no IPVS (CONFIG_IP_VS)"},
	}, runs: [][]mode{
		{
			{id: "host"},
			{id: "docker/ingress", modules: slices.Concat(dockerModules, swarmModules), carried: dockerEngine},
		},
	}},
	{name: "switches", tests: []tested{
		{name: "OVS", folder: "internal/driver/ovs", run: "TestConformance/ovs/geneve_beside_a_cable", missing: "lacks the Open vSwitch datapath"},
	}, runs: [][]mode{
		{
			{id: "host"},
			{id: "ovs/flat", modules: []string{"veth", "openvswitch"}, carried: openVSwitch},
			{id: "ovs/vxlan", modules: []string{"nf_tables", "vxlan", "vport_vxlan"}, carried: openVSwitch},
			{id: "ovs/geneve", modules: []string{"nf_tables", "geneve", "vport_geneve"}, carried: openVSwitch},
		},
	}},
	{name: "netkit", least: "6.7", tests: []tested{
		{name: "netkit", folder: "internal/driver/netns", run: "TestConformance/netns/netkit/netns/netkit_beside_a_cable", missing: "the kernel lacks netkit devices"},
	}, runs: [][]mode{
		{
			{id: "host"},
			{id: "netns/ebpf", modules: []string{"veth"}},
			{id: "netns/netkit"},
		},
	}},
}

// Every mode that the reference machine lacks is measured in a guest, except for those that the guest's
// kernel lacks, and those whose devices another mode has.
func TestModesOfGuests(t *testing.T) {
	machines := testneed.Machines()
	other := map[string]string{"docker/ipvlan": "netns/ipvlan", "cni/network:ipvlan": "netns/ipvlan"}
	measured := map[string]bool{}
	for _, g := range guests {
		for _, m := range slices.Concat(g.runs...) {
			measured[m.id] = true
			if slices.Contains(machines["guest"].Modes, m.id) {
				t.Errorf("%s is measured in a guest, which is said to lack it", m.id)
			}
		}
	}
	for _, mode := range machines["reference"].Modes {
		if !measured[cmp.Or(other[mode], mode)] && !slices.Contains(machines["guest"].Modes, mode) {
			t.Errorf("no machine tests %s", mode)
		}
	}
}

// dockerModules are the modules of a Docker Engine whose rules are those of iptables on nf_tables, and
// swarmModules those of a Swarm's networks, with the routing mesh of published ports.
var (
	dockerModules = strings.Fields("bridge br_netfilter veth overlay nf_tables nft_compat nft_chain_nat nf_conntrack_netlink " +
		"xt_addrtype xt_conntrack xt_comment xt_tcpudp xt_nat xt_MASQUERADE xt_REDIRECT xt_mark xt_set ip_set ip_set_hash_net")
	swarmModules = strings.Fields("vxlan xt_u32 xt_bpf xt_policy xt_ipvs ip_vs ip_vs_rr")
)

var enginePrograms = []string{"dockerd", "docker-proxy", "containerd", "containerd-shim-runc-v2", "runc"}

// currentEngine returns the directory of the Docker Engine that scripts/setup-engines has built.
func currentEngine(t *testing.T) string {
	t.Helper()
	found, err := private.Find(study.CurrentEngine)
	if err != nil {
		testneed.Missing(t, testneed.Current, err)
	}
	return found.Dir
}

// dockerEngine are the programs of the current Docker Engine and of iptables.
func dockerEngine(t *testing.T) []string {
	files := []string{"/bin/mount"}
	for _, name := range enginePrograms {
		files = append(files, filepath.Join(currentEngine(t), name))
	}
	for _, program := range []string{"iptables", "iptables-save", "ip6tables", "ip6tables-save"} {
		files = append(files, packaged(t, testneed.Iptables, program))
	}
	for _, pattern := range []string{"libxt_*.so", "libipt_*.so", "libip6t_*.so"} {
		found, err := filepath.Glob(filepath.Join("/usr/lib/x86_64-linux-gnu/xtables", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("find the extensions of iptables (%s): %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// drawing returns the mode as which the path is drawn, and name the mode's name in its study.
func (m mode) drawing() string { return cmp.Or(m.drawn, m.id) }

func (m mode) name() string {
	if m.with == "" {
		return m.id
	}
	return strings.ReplaceAll(m.drawing(), "/", "-")
}

// tested is a test of a package that runs in a guest. On a kernel without the feature it must print
// the text missing, and on one with the feature it must not.
type tested struct {
	name, folder, run string
	modules, carried  []string
	missing           string
}

// esp are the modules of IPsec with AES-GCM, which the kernel would load automatically if modprobe
// existed.
var esp = []string{"veth", "xfrm_user", "esp4", "gcm", "ctr", "ghash_generic", "seqiv", "sha3_generic", "jitterentropy_rng", "drbg", "hmac", "sha256_generic", "sha512_generic", "aes_generic"}

// optional are modules that some kernels have built in, also as part of another, or do not need.
var optional = []string{"crc32c_generic", "nft_counter", "nft_objref", "echainiv", "cryptomgr"}

// strongSwan is charon with the plugins that the driver loads, except for openssl and
// kernel-libipsec: the others replace the first, and the second is not needed.
func strongSwan(t *testing.T) []string {
	charon := installed(t, testneed.StrongSwan, "charon", "/usr/lib/ipsec", "/usr/libexec/ipsec")
	files := []string{charon}
	for _, plugin := range strings.Fields("random nonce aes aesni gcm sha1 sha2 hmac kdf mgf1 curve25519 pem pkcs1 x509 constraints pubkey kernel-netlink socket-default vici") {
		files = append(files, filepath.Join(filepath.Dir(charon), "plugins/libstrongswan-"+plugin+".so"))
	}
	return files
}

// openVSwitch are the programs of a switch and the schema of its database.
func openVSwitch(t *testing.T) []string {
	files := []string{"/usr/share/openvswitch/vswitch.ovsschema"}
	for _, program := range []string{"ovsdb-server", "ovs-vswitchd", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl"} {
		files = append(files, installed(t, testneed.OVS, program))
	}
	return files
}

// installed returns the path of a program of this machine, in any directory where drivers look.
func installed(t *testing.T, need testneed.Need, program string, more ...string) string {
	t.Helper()
	path, err := daemon.Find(program, more...)
	if err != nil {
		testneed.Missing(t, need, err)
	}
	return path
}

// packaged returns the path of a program in a directory of the system: one that is unpacked elsewhere starts with
// a script, for which a guest has no shell.
func packaged(t *testing.T, need testneed.Need, program string) string {
	t.Helper()
	dirs := process.SystemPath()
	i := slices.IndexFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, program))
		return err == nil
	})
	if i < 0 {
		testneed.Missing(t, need, program+" is not in "+strings.Join(dirs, ", "))
	}
	return filepath.Join(dirs[i], program)
}

// shortStudy is the smallest study that provisions, proves and measures modes, and longStudy one with ratios.
func shortStudy(modes []mode) string {
	return studyText(modes, "blocks: 2\npilot: 0s", "[{workload: tcp_stream, duration: 300ms, warmup: 50ms}]")
}

func longStudy(modes []mode) string {
	return studyText(modes, "blocks: 7\npilot: 0s", "[{workload: tcp_stream, duration: 1s, warmup: 200ms}, {workload: tcp_rr, duration: 1s, warmup: 200ms}]")
}

func studyText(modes []mode, length, workloads string) string {
	var names []string
	for _, m := range modes {
		text := m.id
		if m.with != "" {
			text = fmt.Sprintf("{mode: %s, id: %s, with: %s}", m.id, m.name(), m.with)
		}
		names = append(names, text)
	}
	return fmt.Sprintf("name: inside\n%s\nsettle: 10ms\nevidence: {counters: off, drops: off, stacks: off}\ncost_pass: {rate: off}\n"+
		"invalid: {steal: off, others: off, unsettled: off}\nmodes: [%s]\nworkloads: %s\n", length, strings.Join(names, ", "), workloads)
}
