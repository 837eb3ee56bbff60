package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

// What go test prints of passed, failed and skipped tests is counted, the skipped ones by what they need.
func TestCount(t *testing.T) {
	events := `{"Action":"run","Package":"tare/a","Test":"TestOne"}
{"Action":"output","Package":"tare/a","Test":"TestOne","Output":"    one_test.go:12: needs root: it gives files away\n"}
{"Action":"output","Package":"tare/a","Test":"TestOne","Output":"--- SKIP: TestOne (0.00s)\n"}
{"Action":"skip","Package":"tare/a","Test":"TestOne","Elapsed":0}
{"Action":"output","Package":"tare/a","Test":"TestTwo/x","Output":"    need.go:7: needs root: pid 7\n"}
{"Action":"skip","Package":"tare/a","Test":"TestTwo/x"}
not an event
{"Action":"skip","Package":"tare/a","Test":"TestThree"}
{"Action":"pass","Package":"tare/a","Test":"TestTwo"}
{"Action":"fail","Package":"tare/b","Test":"TestFour"}
{"Action":"fail","Package":"tare/b","Elapsed":2}
{"Action":"pass","Package":"tare/a","Elapsed":1}`
	var got tally
	must.Do(t, got.count(strings.NewReader(events)))
	want := tally{passed: 1, failed: 1, skipped: map[string]int{"needs root": 2, "no reason given": 1}, packages: []packageTime{{"b", 2}, {"a", 1}}}
	must.Equal(t, want, got, cmp.AllowUnexported(tally{}, packageTime{}))
	if got.green() {
		t.Error("a failed test is green")
	}
}

func TestGreen(t *testing.T) {
	t.Setenv("CI", "")
	for name, tt := range map[string]struct {
		tally
		want, inCI bool
	}{
		"nothing failed":      {tally{passed: 1}, true, true},
		"a build failed":      {tally{broken: true}, false, false},
		"the machine changed": {tally{changed: []string{"sysctl new: x = 1"}}, false, false},
		"not set up":          {tally{unset: "no QEMU"}, true, false},
	} {
		if got := tt.green(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
		t.Setenv("CI", "true")
		if got := tt.green(); got != tt.inCI {
			t.Errorf("%s in CI: %t, want %t", name, got, tt.inCI)
		}
		t.Setenv("CI", "")
	}
}

// Settings, links and rules that are new, gone or changed are named; what could be read only once is not.
func TestDifferences(t *testing.T) {
	before := state{"sysctl": {"net/ipv4/ip_forward = 0"}, "link": {"lo"}, "nft list ruleset": {}, "user": {"root"}}
	after := state{"sysctl": {"net/ipv4/ip_forward = 1"}, "link": {"lo"}, "nft list ruleset": {"table ip nat {"}}
	want := []string{"nft list ruleset new: table ip nat {", "sysctl gone: net/ipv4/ip_forward = 0", "sysctl new: net/ipv4/ip_forward = 1"}
	must.Equal(t, want, before.differences(after))
}

func TestSysctls(t *testing.T) {
	root := t.TempDir()
	for name, mode := range map[string]os.FileMode{"net/a": 0o644, "kernel/ns_last_pid": 0o644, "fs/file-nr": 0o444} {
		path := filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte("7\n"), mode))
	}
	must.Equal(t, []string{"net/a = 7"}, sysctls(root))
}

// Only control groups of version 2 have controllers that they pass on.
func TestControllers(t *testing.T) {
	two, one := t.TempDir(), t.TempDir()
	for _, root := range []string{two, one} {
		must.Do(t, os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("cpu memory\n"), 0o644))
	}
	mounts := fmt.Sprintf("cgroup %s cgroup rw 0 0\ncgroup2 %s cgroup2 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n", one, two)
	must.Equal(t, []string{two + " passes on cpu", two + " passes on memory"}, controllers([]byte(mounts)))
}

// Every test of the module belongs to make check, or to exactly one later stage, and every package that the stages
// name has tests.
func TestEveryTestHasAStage(t *testing.T) {
	all := must.Get(packages("../.."))(t)
	has := func(path string) bool { return slices.ContainsFunc(all, func(p pkg) bool { return p.path == path }) }
	for name, pkgs := range whole() {
		for _, p := range pkgs {
			if !has(p) {
				t.Errorf("stage %s names %s, which has no tests", name, p)
			}
		}
	}
	named := first()
	for _, c := range chains() {
		named = append(named, c.list...)
	}
	for i, p := range named {
		if !has(p) || slices.Contains(named[:i], p) {
			t.Errorf("make test names %s, which has no tests or is named before", p)
		}
	}
	runs := map[string][]string{} // stages of each test that needs more than make check has
	for _, s := range stages() {
		for _, g := range s.groups {
			if g.short {
				continue
			}
			chosen := g.pkgs(all)
			if len(chosen) == 0 && g.run != byName("Wine") {
				t.Logf("%s, %s: no package", s.name, g.about)
			}
			for _, p := range all {
				if !slices.Contains(chosen, "./"+p.path) {
					continue
				}
				for _, test := range p.tests {
					if g.run != "" && !regexp.MustCompile(g.run).MatchString(test) || g.run == "" && regexp.MustCompile(byName(words()...)).MatchString(test) {
						continue
					}
					runs[p.path+"."+test] = append(runs[p.path+"."+test], s.name)
				}
			}
		}
	}
	for _, p := range all {
		for _, test := range p.tests {
			if in := runs[p.path+"."+test]; p.needs && len(in) != 1 {
				t.Errorf("%s.%s is in %d stages: %v", p.path, test, len(in), in)
			}
		}
	}
}

type closable struct{ strings.Builder }

func (*closable) Close() error { return nil }

// The events of several go tests are not mixed within a line.
func TestLines(t *testing.T) {
	var out closable
	r := &report{in: &out}
	a, b := &lines{to: r}, &lines{to: r}
	for _, w := range []struct {
		to   *lines
		text string
	}{{a, `{"a`}, {b, "{\"b\":1}\n{\"b"}, {a, "\":1}\n"}, {b, "\":2}\n"}} {
		if n, err := w.to.Write([]byte(w.text)); n != len(w.text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if want := "{\"b\":1}\n{\"a\":1}\n{\"b\":2}\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// The Makefile, the nightly workflow and the set-up name the stages that stages.go has.
func TestStagesAreNamedAlike(t *testing.T) {
	var targets, names []string
	for _, p := range parts() {
		targets, names = append(targets, "test-"+p.name), append(names, p.name)
	}
	listed := func(file, pattern, separator string) []string {
		t.Helper()
		text := must.Get(os.ReadFile(filepath.Join("../..", file)))(t)
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return strings.Split(string(m[1]), separator)
	}
	must.Equal(t, targets, listed("Makefile", `(?m)^ALL := (.*)$`, " "))
	must.Equal(t, append([]string{"test"}, targets...), listed(".github/workflows/nightly.yml", `stage: \[(.*)\]`, ", "))
	rows := regexp.MustCompile(`(?m)^\t\t\w+ +\| ([\w ]+?) +\|`).FindAllSubmatch(must.Get(os.ReadFile("../setup-tests"))(t), -1)
	if len(rows) < 10 {
		t.Fatalf("setup-tests has %d rows", len(rows))
	}
	for _, row := range rows {
		for _, stage := range strings.Fields(string(row[1])) {
			if stage != "test" && stage != "LABS" && !slices.Contains(names, stage) {
				t.Errorf("setup-tests sets up %q, which is no stage", stage)
			}
		}
	}
}

// Interrupted, the runner interrupts the test programs, too, which go test alone would leave running.
func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs another system: Windows has no process groups")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module waits\n",
		"w_test.go": "package waits\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\t\"testing\"\n)\n\nfunc TestWaits(t *testing.T) {\n\tos.WriteFile(\"pid.new\", []byte(strconv.Itoa(os.Getpid())), 0o600)\n\tos.Rename(\"pid.new\", \"pid\")\n\tselect {}\n}\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	r := &report{in: discard{}}
	go func() { ended <- group{parallel: 1}.test(ctx, options{}, []string{"."}, nil, r) }()
	var pid int
	for pid == 0 {
		select {
		case err := <-ended:
			t.Fatalf("the test ended before it was interrupted: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
		if text, err := os.ReadFile("pid"); err == nil {
			pid = must.Get(strconv.Atoi(string(text)))(t)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Log(err)
	}
	program := must.Get(os.FindProcess(pid))(t)
	if err := program.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the test program still runs: %v", err)
		must.Do(t, program.Kill())
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
