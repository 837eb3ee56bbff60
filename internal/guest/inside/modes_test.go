//go:build linux

package inside_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver/daemon"
)

// mode is weighed in the guest. Modules are those that the kernel has to be given for
// it, carried what it starts and reads.
type mode struct {
	id      string
	modules []string
	carried func(t *testing.T) []string // nil for nothing
}

// guest is one virtual machine with what is done in it, one after another. Those with
// processes of their own are weighed apart, for these share the one CPU with all others.
type guest struct {
	name  string
	runs  [][]mode
	tests []tested
}

// guests run side by side: to add a mode is a line here.
var guests = []guest{
	{name: "tunnels", tests: []tested{
		{name: "ESP", folder: "internal/linuxnet", run: "TestESP", modules: esp, lacks: "add an IPsec ESP association"},
	}, runs: [][]mode{
		{
			{id: "host"},
			{id: "netns/published", modules: []string{"bridge", "veth", "nf_tables", "nft_chain_nat", "nft_nat", "nft_masq", "nft_ct", "nft_fib_inet", "nft_objref", "nf_conntrack_netlink"}},
			{id: "netns/vxlan", modules: []string{"bridge", "veth", "vxlan"}},
			{id: "netns/macvlan", modules: []string{"veth", "macvlan"}},
			{id: "netns/ipvlan", modules: []string{"veth", "ipvlan"}},
			{id: "wireguard/kernel", modules: []string{"veth", "bridge", "nf_tables", "nft_objref", "wireguard"}},
		}, {
			{id: "host"},
			{id: "ipsec/kernel", modules: append([]string{"bridge", "nf_tables", "nft_objref"}, esp...), carried: strongSwan},
		},
	}},
	{name: "switches", tests: []tested{
		{name: "OVS", folder: "internal/driver/ovs", run: "TestShortcutsComeOutVoid/ovs/geneve", lacks: "lacks Open vSwitch's datapath"},
	}, runs: [][]mode{
		{
			{id: "host"},
			{id: "ovs/flat", modules: []string{"veth", "openvswitch"}, carried: openVSwitch},
			{id: "ovs/vxlan", modules: []string{"nf_tables", "nft_objref", "vxlan", "vport_vxlan"}, carried: openVSwitch},
			{id: "ovs/geneve", modules: []string{"nf_tables", "nft_objref", "geneve", "vport_geneve"}, carried: openVSwitch},
		},
	}},
}

// tested is a test of a package that is run in a guest. Where the kernel lacks what it is
// about it says what lacks has, and where it has it, it does not.
type tested struct {
	name, folder, run string
	modules           []string
	lacks             string
}

// esp are the modules of IPsec with AES-GCM: what the kernel would load by itself where
// there is a modprobe.
var esp = []string{"veth", "xfrm_user", "esp4", "gcm", "ctr", "ghash_generic", "seqiv", "sha3_generic", "jitterentropy_rng", "drbg", "hmac", "sha256_generic", "sha512_generic", "aes_generic"}

// optional are modules that some kernels have built in under another name, or do without.
var optional = []string{"crc32c_generic", "nft_counter", "echainiv", "cryptomgr"}

// strongSwan is charon with those of its plugins that the driver has it load, but for
// openssl and kernel-libipsec: what they do the others do, too, or nobody needs.
func strongSwan(t *testing.T) []string {
	charon := installed(t, "charon", "/usr/lib/ipsec", "/usr/libexec/ipsec")
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
		files = append(files, installed(t, program))
	}
	return files
}

// installed is a program of this machine, wherever drivers would find it.
func installed(t *testing.T, program string, more ...string) string {
	t.Helper()
	path, err := daemon.Find(program, more...)
	if err != nil {
		t.Skipf("the guest is to run %s (scripts/setup-tests installs it): %v", program, err)
	}
	return path
}

// studyText is the least that provisions, proves and weighs modes.
func studyText(modes []mode) string {
	var names []string
	for _, m := range modes {
		names = append(names, m.id)
	}
	return fmt.Sprintf("name: inside\nblocks: 2\npilot: 0s\nsettle: 10ms\nevidence: {counters: off, drops: off, stacks: off}\ncost_pass: {rate: off}\n"+
		"invalid: {steal: off, others: off, unsettled: off}\nmodes: [%s]\nworkloads: [{workload: tcp_stream, duration: 300ms, warmup: 50ms}]\n", strings.Join(names, ", "))
}
