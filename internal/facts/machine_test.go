package facts

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tare/internal/linuxnet/here"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

var update = flag.Bool("update", false, "rewrite the golden reports in testdata")

// TestMachine reads the machines in testdata, each an archive of the relevant files, and
// compares the report with its golden file.
func TestMachine(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	must.Require(t, err == nil && len(archives) != 0, "no machines in testdata: %v", err)
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive := must.Get(txtar.ParseFile(path))(t)
			root := t.TempDir()
			must.Do(t, os.CopyFS(root, must.Get(txtar.FS(archive))(t)))
			report := machineOf(os.DirFS(root), nil)
			checkForm(t, report)

			must.File(t, strings.TrimSuffix(path, ".txtar")+".golden", show(report), *update)
		})
	}
}

// TestMachineLive holds for any machine.
func TestMachineLive(t *testing.T) { checkForm(t, Collect("/")) }

// Facts that are not read are unknown, and cause no warning.
func TestElsewhere(t *testing.T) {
	report := otherSystem()
	checkForm(t, report)
	unknowns := 0
	for _, f := range report.Facts {
		if strings.HasPrefix(f.Value, "unknown: ") {
			unknowns++
		}
	}
	must.True(t, unknowns == 6 && len(report.Facts) == 9 && report.Warnings == nil,
		"%d of %d facts unknown and %d warnings, want 6 of 9 and none", unknowns, len(report.Facts), len(report.Warnings))
}

// show prints a report for a golden file.
func show(r Report) string {
	var b strings.Builder
	for _, f := range r.Facts {
		fmt.Fprintf(&b, "%s = %s\n", f.Name, f.Value)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\n%s (%s)\n%s\n", w.Code, w.Scope, w.Text)
	}
	for _, w := range r.Existing {
		fmt.Fprintf(&b, "\nof this machine's own stack: %s (%s)\n%s\n", w.Code, w.Scope, w.Text)
	}
	return b.String()
}

// checkForm checks what must hold for every report: names are unique, no value is empty or
// just "unknown", no warning has an empty text.
func checkForm(t *testing.T, r Report) {
	t.Helper()
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := make(map[string]bool)
	for _, f := range r.Facts {
		must.True(t, name.MatchString(f.Name) && !seen[f.Name], "fact %q: name is odd or taken", f.Name)
		seen[f.Name] = true
		v := strings.TrimSpace(f.Value)
		must.True(t, v != "" && v == f.Value && !strings.Contains(v, "\n") && v != "unknown:" && v != "0", "fact %s has the value %q", f.Name, f.Value)
	}
	grouped := []result.Fact{}
	for _, g := range r.Groups {
		must.True(t, g.Title != "", "a group has no title")
		grouped = append(grouped, g.Facts...)
	}
	if d := cmp.Diff(r.Facts, grouped); d != "" && r.Groups != nil {
		t.Errorf("facts, and those in groups (-want +got):\n%s", d)
	}
	for _, w := range slices.Concat(r.Warnings, r.Existing) {
		must.True(t, name.MatchString(w.Code) && !seen["warning "+w.Code] && w.Text != "" && w.Scope != "", "warning %+v: code is odd or taken, or text or scope is missing", w)
		seen["warning "+w.Code] = true
	}
}

func TestKernelConfigPacked(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	must.Get(fmt.Fprint(z, "# CONFIG_X is not set\nCONFIG_HZ=300\nCONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n"))(t)
	must.Do(t, z.Close())
	tests := []struct {
		name string
		file []byte
		want string // of fact cpu_accounting
	}{
		{"whole", packed.Bytes(), "exact"},
		{"not gzip", []byte("CONFIG_HZ=300\n"), "unknown: unpack /proc/config.gz: gzip: invalid header"},
		{"cut off", packed.Bytes()[:packed.Len()/2], "unknown: read kernel configuration: unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{files: files{fstest.MapFS{"proc/config.gz": {Data: tt.file}}}}
			m.accounting()
			must.EqualFor(t, "cpu_accounting", tt.want, m.report.Facts[0].Value)
		})
	}
}

// refuse is a file system whose files all fail to open with one error.
type refuse struct{ err error }

func (r refuse) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: r.err}
}

func TestReadFileErrors(t *testing.T) {
	tests := []struct {
		fsys fs.FS
		want string
		is   error
	}{
		{refuse{fs.ErrNotExist}, "no /proc/x", fs.ErrNotExist},
		{refuse{fs.ErrPermission}, "no permission to read /proc/x", fs.ErrPermission},
		{refuse{errors.ErrUnsupported}, "read /proc/x: unsupported operation", errors.ErrUnsupported},
		{fstest.MapFS{"proc/x": {Data: []byte(" \n")}}, "/proc/x is empty", nil},
	}
	for _, tt := range tests {
		_, err := readFile(tt.fsys, "proc/x")
		if err == nil || err.Error() != tt.want || (tt.is != nil && !errors.Is(err, tt.is)) {
			t.Errorf("readFile: %v, want %q", err, tt.want)
		}
	}
}

// answers is a kernel with predefined results.
type answers struct {
	offloads map[string]bool
	filters  []here.Filter
	cpuid    []string
	err      error
}

func (a answers) Offloads(string) (map[string]bool, error) { return a.offloads, a.err }
func (a answers) Filters() ([]here.Filter, error)          { return a.filters, a.err }
func (a answers) HypervisorSignatures() []string           { return a.cpuid }

func TestAsked(t *testing.T) {
	eth0 := tree(map[string]string{"sys/class/net/eth0/device/uevent": "DRIVER=e1000\n", "sys/class/net/eth0/mtu": "1500"})
	rule := here.Filter{Family: "ip", Table: "filter", Chain: "FORWARD", Hook: "forward", Drops: true, Rules: 1, All: 4, Docker: true}
	old := here.Filter{Family: "ip6", Table: "nat", Rules: 2, All: 2}
	tests := []struct {
		name           string
		ask            kernelReader
		device, filter string
		warned         string
	}{
		{
			"all on, nothing filtered", answers{offloads: map[string]bool{"tso": true, "gso": true}},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads gso tso", "none", "",
		},
		{
			"Docker, and a card that cannot segment", answers{offloads: map[string]bool{"tso": false, "gro": true}, filters: []here.Filter{rule, old}},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads gro", "ip filter forward: 1 rule, else drop; ip6 nat (old iptables): 2 rules", "host_filtered device_offloads",
		},
		{"chains without rules", answers{filters: []here.Filter{{Family: "inet", Table: "x", Chain: "c", Hook: "input"}}},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads none", "inet x input: 0 rules", ""},
		{
			"it may not be asked", answers{err: errors.New("not permitted")},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads unknown: not permitted", "unknown: not permitted", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{files: files{eth0}, reader: tt.ask}
			m.filters()
			m.devices()
			checkForm(t, m.report)
			got := map[string]string{}
			for _, f := range m.report.Facts {
				got[f.Name] = f.Value
			}
			must.Equal(t, map[string]string{"device_eth0": tt.device, "packet_filter": tt.filter}, got)
			var warned []string
			for _, w := range m.report.Existing {
				warned = append(warned, w.Code)
			}
			must.EqualFor(t, "warnings", tt.warned, strings.Join(warned, " "))
		})
	}
}

// FuzzFacts reads a machine whose files all contain the same few words. Whatever they are,
// each fact has a printable value, and nothing panics.
func FuzzFacts(f *testing.F) {
	paths := []string{
		"proc/meminfo", "proc/self/cgroup", "proc/self/status", "proc/cmdline", "proc/1/comm", "proc/loadavg", "proc/cpuinfo", "proc/self/mountinfo",
		"sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory/memory.limit_in_bytes",
		"sys/devices/system/node/online", "sys/devices/system/node/node0/cpulist", "sys/devices/system/node/node1/cpulist", "sys/devices/system/cpu/online",
		"sys/devices/system/cpu/isolated", "sys/class/net/eth0/device/uevent", "sys/class/net/eth0/speed", "sys/class/net/eth0/queues/rx-0/rps_cpus",
		"sys/kernel/mm/transparent_hugepage/enabled", "proc/sys/net/netfilter/nf_conntrack_max", "proc/sys/net/netfilter/nf_conntrack_count",
		"proc/sys/net/bridge/bridge-nf-call-iptables", "proc/sys/net/core/rps_sock_flow_entries", "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
		"sys/hypervisor/type", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name", "proc/device-tree/hypervisor/compatible",
	}
	for _, seed := range []string{"", "0", "0-1\n", "max 100000", "0::/a/b\n4:memory:/..\n", "MemTotal: 5 kB\nSwapTotal: 9 kB\nSwapFree: 99 kB\n", "Cpus_allowed_list:\t0-1\n", "[x", "-1", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string]string{}
		for _, p := range paths {
			files[p] = text
		}
		for _, fact := range machineOf(tree(files), answers{cpuid: []string{text}}).Facts {
			must.True(t, fact.Name != "" && strings.TrimSpace(fact.Value) != "" && !strings.ContainsAny(fact.Value, "\n"), "fact %q is %q", fact.Name, fact.Value)
		}
	})
}
