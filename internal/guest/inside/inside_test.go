//go:build linux

package inside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/drivertest"
	"tare/internal/guest"
	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
	"tare/internal/result"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// modes are weighed in the guest: to add one is a line here. Modules are those that the
// kernel has to be given for it, programs those that it starts.
var modes = []struct {
	mode     string
	modules  []string
	programs []string
}{
	{mode: "host"},
	{mode: "netns/published", modules: []string{"bridge", "veth", "nf_tables", "nft_chain_nat", "nft_nat", "nft_masq", "nft_ct", "nft_fib_inet", "nft_objref", "nf_conntrack_netlink"}},
	{mode: "netns/vxlan", modules: []string{"bridge", "veth", "vxlan"}},
	{mode: "netns/macvlan", modules: []string{"veth", "macvlan"}},
	{mode: "netns/ipvlan", modules: []string{"veth", "ipvlan"}},
	{mode: "wireguard/kernel", modules: []string{"veth", "bridge", "wireguard"}},
}

// tests are tests of a package that are run in the guest. Where the kernel lacks what
// they are about they say what lacks has, and where it has it, they do not.
var tests = []struct {
	name, folder, run string
	modules           []string
	lacks             string
}{
	{
		name: "ESP", folder: "internal/linuxnet", run: "TestESP", lacks: "add an IPsec ESP association",
		modules: []string{"veth", "xfrm_user", "esp4", "gcm", "ctr", "ghash_generic", "seqiv", "sha3_generic", "jitterentropy_rng", "drbg", "hmac", "sha256_generic", "sha512_generic", "aes_generic"},
	},
}

// optional are modules that some kernels have built in under another name, or do without.
var optional = []string{"crc32c_generic", "nft_counter", "echainiv", "cryptomgr"}

// studyText is the least that provisions, proves and weighs modes.
func studyText() string {
	var names []string
	for _, m := range modes {
		names = append(names, m.mode)
	}
	return fmt.Sprintf("name: inside\nblocks: 2\npilot: 0s\nsettle: 10ms\nevidence: {counters: off, drops: off, stacks: off}\ncost_pass: {rate: off}\n"+
		"invalid: {steal: off, others: off, unsettled: off}\nmodes: [%s]\nworkloads: [{workload: tcp_stream, duration: 300ms, warmup: 50ms}]\n", strings.Join(names, ", "))
}

// Paths that this machine's kernel may not have work in a guest whose kernel has them:
// the same programs make, prove and weigh them there.
func TestKernelPaths(t *testing.T) {
	k, err := kernel.Find(drivertest.NeedGuest(t))
	if err != nil {
		t.Fatal(err)
	}
	l := drivertest.Lab(t, nil)
	s := guest.Spec{Run: l.Spec.Claim.ID, Label: "inside", Place: "the guest of kernel paths", Host: l.A.NS, Kernel: k, Accel: guest.TCG, Memory: 1024, Optional: optional}
	programs := map[string]string{"tare": build(t, "build", "./cmd/tare")}
	for _, m := range modes {
		s.Modules = append(s.Modules, m.modules...)
		for _, p := range m.programs {
			t.Fatalf("%s needs %s: programs with libraries are not carried yet", m.mode, p)
		}
	}
	for _, tt := range tests {
		s.Modules = append(s.Modules, tt.modules...)
		programs[tt.name] = build(t, "test", "./"+tt.folder)
	}
	s.More = func(a *initramfs.Archive) error {
		for name, path := range programs {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := a.Program("bin/"+name, f); err != nil {
				return err
			}
		}
		text := studyText()
		return a.File("study.yaml", 0o644, strings.NewReader(text), int64(len(text)))
	}
	m, err := guest.Boot(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Logf("hello after %s", m.Took)
	if err := m.Configure(t.Context(), guest.Net{}); err != nil {
		t.Fatal(err)
	}
	weighed(t, m, programs["tare"])
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"-test.v", "-test.run", "^" + tt.run + "$"}
			code, said := in(t, m, append([]string{"/bin/" + tt.name}, args...)...)
			if code != 0 || !strings.Contains(said, "--- PASS: "+tt.run) || strings.Contains(said, tt.lacks) {
				t.Errorf("in the guest: exit code %d\n%s", code, said)
			}
			outside, err := exec.CommandContext(t.Context(), programs[tt.name], args...).CombinedOutput()
			if err != nil {
				t.Fatalf("on this machine: %v\n%s", err, outside)
			}
			t.Logf("this machine's kernel has it: %t", !bytes.Contains(outside, []byte(tt.lacks)))
		})
	}
}

// weighed runs the study in the guest and tries its modes on this machine.
func weighed(t *testing.T, m *guest.Machine, tare string) {
	t.Helper()
	code, said := in(t, m, "/bin/tare", "run", "/study.yaml", "--json", "--out", "/tmp/run")
	at := strings.Index(said, "{\n")
	var run result.Run
	if at < 0 || code != 0 && code != 4 { // 4: measured, and not fit to judge
		t.Fatalf("exit code %d\n%s", code, said)
	}
	if err := json.NewDecoder(strings.NewReader(said[at:])).Decode(&run); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, got := range run.Modes {
		t.Run(got.ID, func(t *testing.T) {
			if got.Status != result.ModeMeasured {
				t.Errorf("in the guest it is %s: %s", got.Status, got.Reason)
			}
			outside, err := exec.CommandContext(t.Context(), tare, "modes", "--probe", got.ID).Output()
			if err != nil || !bytes.Contains(outside, []byte(" yes ")) && !bytes.Contains(outside, []byte(" unsupported ")) {
				t.Errorf("on this machine: %v\n%s", err, outside)
			}
			t.Logf("this machine's kernel has it: %t", bytes.Contains(outside, []byte(" yes ")))
		})
	}
	if len(run.Modes) != len(modes) || run.Trials.OK < 2*len(modes) {
		t.Errorf("%d of %d modes, %+v", len(run.Modes), len(modes), run.Trials)
	}
}

// within bounds what a program of the guest may take.
const within = 8 * time.Minute

// in runs a program in the guest.
func in(t *testing.T, m *guest.Machine, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var out bytes.Buffer
	code, err := m.Exec(ctx, &out, args)
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", args, err, &out, m.Console())
	}
	return code, out.String()
}

// build builds a program of this module, or the test of one of its packages.
func build(t *testing.T, what, folder string) string {
	t.Helper()
	args, out := []string{what}, filepath.Join(t.TempDir(), "program")
	if what == "test" {
		args = append(args, "-c")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "-o", out, folder)...)
	cmd.Dir, cmd.Env = drivertest.Root(t), append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, text)
	}
	return out
}
