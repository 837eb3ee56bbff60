package cni_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/cni"
	"tare/internal/driver/labdriver"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// fake makes a directory of plugins that are shell scripts.
func fake(t testing.TB, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	return dir
}

// noting is a plugin that notes for which endpoint it is called, and returns the result of the
// plugin before it.
func noting(file string) string {
	return `in=$(cat)
[ -n "$CNI_COMMAND" ] || exit 0
echo "$CNI_COMMAND $(echo "$CNI_CONTAINERID" | sed 's/.*-\([ab]-[a-z0-9]*\)$/\1/')" >>` + file + `
[ "$CNI_COMMAND" = ADD ] || exit 0
echo "$in" | sed 's/.*"prevResult"://; s/,"type":.*//'`
}

// chain is a conflist of ptp and one more plugin.
func chain(more string) string {
	return `{"cniVersion": "1.0.0", "name": "test", "plugins": [
{"type": "ptp", "ipam": {"type": "host-local", "subnet": "{{.PodCIDR}}", "routes": [{"dst": "0.0.0.0/0"}]}},
{"type": "` + more + `"}]}`
}

// A conflist that cannot be used, and a plugin that misbehaves, are one line that says what was
// attempted and why it failed. DEL is called for what an ADD has begun, and nothing is left.
func TestBad(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	only := func(plugin string) string {
		return `{"cniVersion": "1.0.0", "name": "test", "plugins": [{"type": "` + plugin + `"}]}`
	}
	hello := `{"cniVersion": "1.0.0", "ips": [{"address": "198.19.9.9/24"}]}`
	for _, tt := range []struct {
		name, conflist, script string // of the plugin bad
		kind                   string // cni/network unless given
		option                 string
		want                   []string
		not                    string
		deleted                bool
		unsupported            bool
		limit                  time.Duration // of a plugin
	}{
		{name: "no such plugin", conflist: chain("absent"), want: []string{"plugin absent of the CNI configuration ", " is not in " + dir, "install it or name its directory"}, unsupported: true},
		{name: "a syntax error", conflist: "{\n\"name\": \"x\",\n\"plugins\": [\n{\"type\" \"ptp\"}]}", want: []string{"test.conflist:4: not a CNI configuration: invalid character"}},
		{name: "a wrong type", conflist: "{\n\"name\": \"x\",\n\"plugins\":\n[7]}", want: []string{"test.conflist:4: not a CNI configuration: json: cannot unmarshal number"}},
		{name: "a placeholder that does not exist", conflist: "{\n\"name\": \"{{.Pod}}\"}", want: []string{"test.conflist:2:", "can't evaluate field Pod"}},
		{name: "an open placeholder", conflist: "{\n\"name\": \"{{.PodCIDR\"}", want: []string{"test.conflist:2:", "bad character"}},
		{name: "an endless placeholder", conflist: `{"name": "{{printf "%9999999999d" 1}}`, want: []string{"test.conflist:"}},
		{name: "no name", conflist: `{"plugins": [{"type": "ptp"}]}`, want: []string{"has no name"}},
		{name: "no plugins", conflist: `{"name": "x"}`, want: []string{"has no plugins"}},
		{name: "a path for a type", conflist: only("../bad"), want: []string{`the type "../bad", which is not the name of a program`}},
		{name: "an unknown version", conflist: "{\"name\": \"x\",\n\"cniVersion\": \"9.9.9\", \"plugins\": [{\"type\": \"ptp\"}]}", want: []string{`test.conflist:2: cniVersion "9.9.9" is unknown; use one of 0.1.0`}},
		{name: "no portmap", conflist: chain("bad"), kind: "cni/published", script: "exit 0", want: []string{"declares the capability portMappings", `add {"type": "portmap"`}},
		{name: "an unknown option", conflist: chain("bad"), option: "plugin", want: []string{"unknown option plugin; use plugins, conflist-b, flannel"}},
		{name: "flanneld without the plugin", conflist: chain("bad"), script: "exit 0", option: "flannel", want: []string{"has no plugin flannel"}},
		{name: "fails half-way", conflist: chain("bad"), script: `[ "$CNI_COMMAND" != ADD ] || { printf %s '{"code": 7, "msg": "no\nluck", "details": "today"}'; exit 1; }`,
			want: []string{"connect a/client with the CNI configuration ", "no luck; today (code 7)"}, deleted: true},
		{name: "fails in ADD and in DEL", conflist: chain("bad"), script: `echo '{"code": 7, "msg": "no luck"}'; exit 1`,
			want: []string{"failed (add): no luck (code 7)"}, not: "the DEL after", deleted: true},
		{name: "fails otherwise in DEL", conflist: chain("bad"), script: `echo '{"code": 7, "msg": "no '$CNI_COMMAND'"}'; exit 1`,
			want: []string{"no ADD (code 7); the DEL after it failed, too: ", "no DEL (code 7)"}, deleted: true},
		{name: "a device that does not exist", conflist: strings.Replace(chain("bad"), `"type": "bad"`, `"type": "bad", "master": "eth7"`, 1), script: `echo '{"code": 999, "msg": "Link not found"}'; exit 1`,
			want: []string{"Link not found (code 999); its configuration asks for the master eth7"}, not: "the DEL after", deleted: true},
		{name: "fails without a word", conflist: chain("bad"), script: `exit 3`, want: []string{"exit status 3"}, deleted: true},
		{name: "fails with words on stderr", conflist: chain("bad"), script: `[ "$CNI_COMMAND" != ADD ] || { printf 'one\n\033[31mtwo\n' >&2; exit 3; }`, want: []string{"[31mtwo (exit status 3)"}, deleted: true},
		{name: "hangs", conflist: only("bad"), limit: 2 * time.Second, script: `[ "$CNI_COMMAND" != ADD ] || sleep 1000`, want: []string{"did not finish within 2s and was killed"}, deleted: true},
		{name: "writes too much", conflist: chain("bad"), script: `[ "$CNI_COMMAND" != ADD ] || head -c 3000000 /dev/zero`, want: []string{"it wrote more than 1 MiB to stdout"}, deleted: true},
		{name: "writes garbage", conflist: chain("bad"), script: `[ "$CNI_COMMAND" != ADD ] || echo '<html>'`, want: []string{"invalid character '<'"}, deleted: true},
		{name: "returns nothing", conflist: chain("bad"), script: `[ "$CNI_COMMAND" != ADD ] || echo '{"cniVersion": "1.0.0"}'`, want: []string{"it has no address; give the first plugin an ipam"}, deleted: true},
		{name: "returns another's address", conflist: only("bad"), script: `[ "$CNI_COMMAND" != ADD ] || echo '` + hello + `'`, want: []string{"returned an address that the endpoint lacks", "198.19.9.9"}, deleted: true},
		{name: "no route", conflist: strings.Replace(chain("bad"), `, "routes": [{"dst": "0.0.0.0/0"}]`, "", 1), script: noting("/dev/null"),
			want: []string{"a/client with [198.", "cannot send to b/server with [198.", "let the plugins set up a route"}, deleted: true},
		{name: "the host's only link", conflist: `{"cniVersion": "1.0.0", "name": "x", "plugins": [{"type": "host-device", "device": "{{.Device}}", "ipam": {"type": "host-local", "subnet": "{{.PodCIDR}}"}}]}`,
			want: []string{"has taken eth0 of host a, which is its only link to the other host; name another device"}},
		{name: "state without a parent", conflist: strings.Replace(chain("bad"), `"subnet"`, `"dataDir": "/no-such/directory", "subnet"`, 1), script: "exit 0", want: []string{"/no-such/directory has no existing parent but /"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			called := filepath.Join(t.TempDir(), "called")
			plugins := dir
			if tt.script != "" {
				plugins += ":" + fake(t, map[string]string{"bad": `[ -z "$CNI_COMMAND" ] || echo "$CNI_COMMAND" >>` + called + "\n" + tt.script})
			}
			options := map[string]string{"plugins": plugins}
			if tt.option != "" {
				options[tt.option] = "vxlan"
			}
			kind := tt.kind
			if kind == "" {
				kind = "cni/network"
			}
			o := spec(t, kind+":"+write(t, "test.conflist", tt.conflist), 1, options)
			_, err := cni.Limited(trusting(), tt.limit, 0).Provision(t.Context(), o)
			if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || slices.ContainsFunc(tt.want, func(w string) bool { return !strings.Contains(err.Error(), w) }) || tt.not != "" && strings.Contains(err.Error(), tt.not) {
				t.Errorf("got %v, want %q and not %q", err, tt.want, tt.not)
			}
			if _, is := driver.AsUnsupported(err); is != tt.unsupported {
				t.Errorf("unsupported: %t, want %t", is, tt.unsupported)
			}
			text, _ := os.ReadFile(called) // nothing was called if it does not exist
			if strings.Contains(string(text), "DEL") != tt.deleted || strings.Count(string(text), "ADD") > strings.Count(string(text), "DEL") {
				t.Errorf("the plugin was called for %q", text)
			}
			left(t, o)
		})
	}
}

// left checks that no process of a run is left.
func left(t *testing.T, o labdriver.Order) {
	t.Helper()
	files := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, f := range files {
		line, _ := os.ReadFile(f) // it may have exited
		if strings.Contains(string(line), "\x00--run\x00"+o.Run+"\x00") || strings.HasSuffix(string(line), "\x00--run\x00"+o.Run+"\x00") {
			t.Errorf("process %s of the run is left: %q", f, line)
		}
	}
}

// A network is looked up by its name among the files of a directory; a broken one beside it
// is named if the network is not found.
func TestLookUp(t *testing.T) {
	drivertest.NeedCNI(t, "current")
	configs := t.TempDir()
	t.Setenv("NETCONFPATH", configs)
	t.Setenv("CNI_PATH", drivertest.NeedCNI(t, "current"))
	for name, text := range map[string]string{
		"10-other.conflist": `{"cniVersion": "1.0.0", "name": "other", "plugins": [{"type": "ptp"}]}`,
		"20-broken.conf":    "{\n,",
		"30-mine.conf":      `{"cniVersion": "0.2.0", "name": "mine", "type": "ptp", "ipam": {"type": "host-local", "subnet": "{{.PodCIDR}}", "routes": [{"dst": "0.0.0.0/0"}]}}`,
	} {
		must.Do(t, os.WriteFile(filepath.Join(configs, name), []byte(text), 0o600))
	}
	s := build(t, "cni/network:mine", nil)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Error(err)
	}
	_, err := trusting().Provision(t.Context(), spec(t, "cni/network:absent", 1, nil))
	for _, want := range []string{"no CNI network absent in " + configs, "there are other, mine, bandwidth, bridge,", "20-broken.conf:2: "} {
		must.FailLine(t, "the error", err, want)
	}
}

// A run that is interrupted while a plugin works ends it and calls DEL.
func TestInterrupted(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	called := filepath.Join(t.TempDir(), "called")
	plugins := fake(t, map[string]string{"slow": `[ -n "$CNI_COMMAND" ] && echo $CNI_COMMAND >>` + called + `; [ "$CNI_COMMAND" != ADD ] || sleep 1000`})
	o := spec(t, "cni/network:"+write(t, "slow.conflist", chain("slow")), 1, map[string]string{"plugins": dir + ":" + plugins})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(called); len(text) > 0 { // the plugin has not begun otherwise
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := trusting().Provision(ctx, o)
	must.Fail(t, err, "the run has ended")
	if text, _ := os.ReadFile(called); string(text) != "ADD\nDEL\n" {
		t.Errorf("the plugin was called for %q", text)
	}
	left(t, o)
}

// The modes say beforehand which programs they execute.
func TestDescribe(t *testing.T) {
	got := trusting().Describe("cni/network:bridge", map[string]string{"plugins": "/plugins", "flannel": "vxlan"})
	must.Equal(t, "cni/network:bridge (built in: bridge): bridge, host-local, portmap of /plugins; etcd and flanneld of PATH", got)
	must.Contain(t, trusting().Describe("cni/network:none.conflist", nil), "no such file")
	for _, m := range trusting().Modes() {
		must.FailFor(t, m.ID+" without a name", trusting().Probe(t.Context(), labdriver.Order{Order: driver.Order{Mode: m.ID}}), "replace NAME")
	}
	must.Fail(t, must.Err(trusting().Provision(t.Context(), labdriver.Order{Order: driver.Order{Mode: "cni/none:bridge"}})), "has no mode")
}

// A study, which may be a stranger's, chooses no file and no program that the user has not
// named elsewhere.
func TestStudyChoosesNoProgram(t *testing.T) {
	dir := fake(t, map[string]string{"ptp": "", "host-local": "", "portmap": ""})
	t.Setenv("NETCONFPATH", "/etc/cni/net.d:"+dir)
	t.Setenv("CNI_PATH", dir)
	file := write(t, "x.conflist", chain("bad"))
	for _, tt := range []struct {
		d       cni.Driver
		name    string
		options map[string]string
		want    string
	}{
		{cni.Driver{}, file, nil, "x.conflist is not in NETCONFPATH (/etc/cni/net.d:" + dir + "): a study must not choose"},
		{cni.Driver{}, dir + "/../x.conflist", nil, "is not in NETCONFPATH"},
		{cni.Driver{}, "ptp", map[string]string{"conflist-b": file}, "is not in NETCONFPATH"},
		{cni.Driver{}, "ptp", map[string]string{"plugins": "/usr/lib"}, "names /usr/lib, which is not in CNI_PATH (" + dir + "): a study must not choose"},
		{cni.Driver{}, dir + "/absent.conflist", nil, "no such file"},
		{cni.Driver{Trusted: []string{file}}, file, nil, "plugin bad of the CNI configuration " + file + " is not in " + dir},
	} {
		_, err := tt.d.Provision(t.Context(), spec(t, "cni/network:"+tt.name, 1, tt.options))
		must.FailFor(t, fmt.Sprintf("%s %v", tt.name, tt.options), err, tt.want)
	}
}

// A path on which packets are dropped: the error of its check, or its warning, names the place and what
// dropped them. The plugin bad changes the host as such plugins do.
func TestDropped(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	nft, err := exec.LookPath("nft")
	if err != nil {
		testneed.Missing(t, testneed.NFT, err)
	}
	for _, tt := range []struct{ name, script, fails, warns string }{
		{"forwarding is off", "echo 0 >/proc/sys/net/ipv4/ip_forward", "dropped on a by IP, which does not forward", ""},
		{"policy of FORWARD", "$nft add table ip f; $nft add chain ip f forward '{ type filter hook forward priority 0; policy drop; }'", "dropped on a by the policy of the chain ip f forward", ""},
		{"filter", "$nft add table ip f; $nft add chain ip f c '{ type filter hook forward priority 0; }'; $nft add rule ip f c counter drop", "dropped on a by rule 2 of ip f c", ""},
		{"size", "$nft add table ip f; $nft add chain ip f c '{ type filter hook forward priority 0; }'; $nft add rule ip f c meta length '>' 1400 counter drop", "",
			"packets of 1500 bytes were dropped and those of 1228 passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			script := `in=$(cat); [ "$CNI_COMMAND" = ADD ] || exit 0
nft=` + nft + `; { ` + tt.script + `; } >&2 || exit 1
echo "$in" | sed 's/.*"prevResult"://; s/,"type":.*//'`
			o := spec(t, "cni/network:"+write(t, "test.conflist", chain("bad")), 1, map[string]string{"plugins": dir + ":" + fake(t, map[string]string{"bad": script})})
			var within time.Duration
			if tt.fails != "" {
				within = 2 * time.Second // it is waited for
			}
			p, err := cni.Limited(trusting(), 0, within).Provision(t.Context(), o)
			if tt.fails != "" {
				must.Fail(t, err, "no answer within 2s", tt.fails)
				return
			}
			must.Do(t, err)
			t.Cleanup(func() { must.Do(t, p.Close(t.Context())) })
			if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, tt.warns) || !strings.Contains(p.Warnings[0].Text, "dropped on a by rule 2 of ip f c") {
				t.Errorf("%+v", p.Warnings)
			}
		})
	}
}
