package tare_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/hosts"
	"tare/internal/testkit/must"
	"tare/internal/traffic/workloads"
)

// tiers are the packages of ARCHITECTURE.md from the top down. A package may import
// those of its own tier and below.
var tiers = [][]string{
	{"arch", "cmd", "bench", "scripts", "internal/browser", "internal/faults", "internal/testkit"},
	{"internal/cli"},
	{"internal/hosts"},
	{"internal/runner", "internal/report", "internal/export", "internal/live", "internal/why"},
	{"internal/driver", "internal/engine", "internal/guest", "internal/agent", "internal/lab", "internal/machine", "internal/kube"},
	{"internal/plan", "internal/traffic", "internal/tool", "internal/observe", "internal/facts", "internal/calibration", "internal/judge", "internal/analysis", "internal/history", "internal/combine"},
	{"internal/store"},
	{"internal/wording"},
	{"internal/study", "internal/result", "internal/warning", "studies"},
	{"internal/stats", "internal/linuxnet", "internal/printable", "internal/process", "internal/program", "internal/runid", "internal/timelimit", "internal/unit", "internal/version"},
}

// forbidden are imports that the tiers alone would let through.
var forbidden = []struct{ from, to, why string }{
	{"internal/report", "internal/runner", "a report needs only the result"},
	{"internal/report", "internal/live", "a report needs only the result"},
	{"internal/live", "internal/runner", "a listener receives events and requests nothing"},
	{"internal/live", "internal/driver", "a listener receives events and requests nothing"},
	{"internal/report", "internal/driver", "a report needs only the result"},
	{"internal/result", "internal/", "the model of a run depends on nothing else"},
	{"internal/store", "internal/study", "a directory stores a run, whatever its study"},
	{"internal/store", "internal/stats", "a directory stores a run and does not judge it"},
	{"internal/analysis", "internal/store", "analysis is pure: it reads no file"},
	{"internal/analysis", "internal/tool", "analysis is pure: it starts no process"},
	{"internal/analysis", "internal/observe", "analysis knows trials, not how they were collected"},
	{"internal/history", "internal/store", "a history is pure: it reads no file"},
	{"internal/combine", "internal/store", "a combination is pure: it reads no file"},
	{"internal/stats", "internal/", "stats is pure"},
	{"internal/unit", "internal/", "a unit does not depend on what is measured"},
	{"internal/linuxnet", "internal/", "linuxnet does not depend on tare"},
	{"internal/program", "internal/", "examining a program needs nothing of tare"},
	{"internal/process", "internal/", "starting a process needs nothing of tare"},
	{"internal/traffic", "internal/facts", "the agent stays small"},
	{"internal/traffic/tcp", "internal/traffic/udp", "what both need is in traffic, thread or socket"},
	{"internal/traffic/tcp", "internal/traffic/web", "what both need is in connection or exchange"},
	{"internal/traffic/web", "internal/traffic/tcp", "what both need is in connection or exchange"},
	{"internal/traffic/connection", "internal/traffic/exchange", "a connection does not depend on what it carries"},
	{"internal/traffic/udp", "internal/traffic/tcp", "what both need is in traffic, thread or socket"},
	{"internal/traffic/socket", "internal/", "sockets do not depend on trials"},
	{"internal/traffic/thread", "internal/", "threads do not depend on trials"},
	{"internal/traffic/clock", "internal/", "a clock does not depend on what it times"},
	{"internal/agent", "internal/lab", "an agent only follows its controller"},
	{"internal/agent", "internal/kube", "an agent does not link the client of a cluster"},
	{"internal/agent", "internal/linuxnet", "an agent only follows its controller"},
	{"internal/runid", "internal/", "an identity does not depend on what it names"},
	{"internal/warning", "internal/study", "a registry does not depend on its users"},
	{"internal/runner", "internal/driver/", "the runner uses a path's hosts, not the kind of driver"},
	{"internal/runner", "internal/hosts", "the runner receives its hosts"},
	{"internal/runner", "internal/lab", "the lab is one target of several"},
	{"internal/runner", "internal/engine", "engines are one target of several"},
	{"internal/runner/schedule", "internal/runner", "a schedule depends on trials, not on what runs them"},
	{"internal/runner/schedule", "internal/driver", "a schedule knows modes by name only"},
	{"internal/runner/schedule", "internal/agent", "a schedule runs nothing"},
	{"internal/runner/schedule", "internal/observe", "a schedule uses recorded trials only"},
	{"internal/runner/schedule", "internal/store", "a schedule stores nothing"},
	{"internal/runner/evidence", "internal/runner", "evidence does not depend on what runs the trials"},
	{"internal/runner/evidence", "internal/agent", "an agent is called through an interface"},
	{"internal/runner/evidence", "internal/store", "evidence is returned, not stored"},
	{"internal/runner/evidence", "internal/analysis", "evidence is collected, not judged"},
	{"internal/runner/evidence", "internal/live", "the runner sends events, evidence returns warnings"},
	{"internal/runner/evidence", "internal/report", "evidence is collected, not shown"},
	{"internal/cli", "internal/driver/engines", "the command line uses the target"},
}

// only lists, for a library, the packages that alone may import it.
var only = map[string]string{
	"github.com/vishvananda/":           "internal/linuxnet",
	"github.com/google/nftables":        "internal/linuxnet",
	"github.com/mdlayher/netlink":       "internal/linuxnet",
	"github.com/safchain/ethtool":       "internal/linuxnet",
	"github.com/spf13/cobra":            "internal/cli",
	"go.yaml.in/yaml":                   "internal/study/studyfile",
	"gonum.org/":                        "internal/stats",
	"gonum.org/v1/gonum/stat":           "", // linear algebra; tests compare with it
	"github.com/google/jsonschema-go":   "internal/study/studyfile",
	"github.com/containernetworking/":   "internal/driver/cni",
	"github.com/moby/moby/":             "internal/engine",
	"github.com/docker/":                "internal/engine",
	"k8s.io/":                           "internal/kube",
	"k8s.io/api/":                       "", // 5 MB; tests compare internal/kube/api with it
	"k8s.io/client-go/tools/remote":     "", // imports k8s.io/api
	"github.com/gorilla/":               "internal/kube",
	"sigs.k8s.io/":                      "internal/kube",
	"github.com/cilium/ebpf":            "internal/observe/drops internal/linuxnet/redirect",
	"github.com/klauspost/compress":     "internal/guest/kernel",
	"github.com/pierrec/lz4":            "internal/guest/kernel",
	"github.com/ulikunitz/xz":           "internal/guest/kernel",
	"github.com/go-json-experiment":     "internal/store",
	"github.com/strongswan/":            "internal/driver/ipsec",
	"golang.zx2c4.com/wireguard/wgctrl": "internal/linuxnet",
	"golang.zx2c4.com/wireguard/device": "internal/driver/wireguard",
	"github.com/chromedp/":              "internal/browser",
	"charm.land/":                       "internal/live/term",
	"tare/internal/traffic/tcp":         "internal/traffic",
	"tare/internal/traffic/web":         "internal/traffic",
	"tare/internal/traffic/udp":         "internal/traffic",
	"tare/internal/traffic/socket":      "internal/traffic internal/agent",
	"github.com/charmbracelet/":         "internal/live/term",
}

type file struct {
	path, dir string
	imports   []string
}

func sources(t *testing.T) []file {
	t.Helper()
	var files []file
	must.Do(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "tools" || e.Name() == "bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		f := file{path: path, dir: filepath.Dir(path)}
		for _, i := range tree.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, name)
		}
		files = append(files, f)
		return nil
	}))
	must.Require(t, len(files) >= 50, "only %d source files were found", len(files))
	return files
}

func within(dir, pkg string) bool {
	return dir == strings.TrimSuffix(pkg, "/") || strings.HasPrefix(dir, strings.TrimSuffix(pkg, "/")+"/")
}

// forbids reports whether a rule applies to a package. A rule that ends with a slash applies
// only to the packages below it.
func forbids(rule, pkg string) bool {
	return within(pkg, rule) && (!strings.HasSuffix(rule, "/") || pkg != strings.TrimSuffix(rule, "/"))
}

func tier(dir string) int {
	return slices.IndexFunc(tiers, func(pkgs []string) bool {
		return slices.ContainsFunc(pkgs, func(pkg string) bool { return within(dir, pkg) })
	})
}

func TestImportsPointDownwards(t *testing.T) {
	for _, f := range sources(t) {
		test := strings.HasSuffix(f.path, "_test.go") || within(f.dir, "internal/testkit")
		from := tier(f.dir)
		if f.dir == "." {
			continue
		}
		if from < 0 {
			t.Errorf("%s is in no tier of the architecture", f.path)
			continue
		}
		for _, name := range f.imports {
			for prefix, pkgs := range only {
				may := slices.ContainsFunc(strings.Fields(pkgs), func(pkg string) bool { return within(f.dir, pkg) })
				must.True(t, !strings.HasPrefix(name, prefix) || may || test, "%s imports %s, which only %s may import", f.path, name, pkgs)
			}
			to, ours := strings.CutPrefix(name, "tare/")
			if !ours {
				continue
			}
			if test {
				continue // a test may import any tier
			}
			must.True(t, tier(to) >= from, "%s imports %s, which is in a higher tier", f.path, to)
			if f.dir == "internal/process" && to == "internal/timelimit" {
				continue // how long a killed process may take is the same everywhere
			}
			if f.dir == "internal/traffic/socket" && within(to, "internal/study") {
				continue // which keys of a workload are options of a socket is a fact of the socket
			}
			for _, rule := range forbidden {
				must.True(t, !within(f.dir, rule.from) || !forbids(rule.to, to) || within(to, rule.from), "%s imports %s: %s", f.path, to, rule.why)
			}
			if d, ok := driverOf(f.dir); ok {
				if other, ok := driverOf(to); ok && other != d {
					t.Errorf("%s imports the driver %s: no driver imports another", f.path, other)
				}
			}
		}
	}
}

// driverOf returns the driver that a directory belongs to: a registered one, or the one for
// existing engines, which belongs to a target.
func driverOf(dir string) (string, bool) {
	rest, ok := strings.CutPrefix(dir, "internal/driver/")
	name, _, _ := strings.Cut(rest, "/")
	return name, ok && (name == "existing" || slices.ContainsFunc(hosts.Drivers(), func(r hosts.Registration) bool { return r.Name == name }))
}

// Every registered driver has a directory with a conformance test.
func TestDriversConform(t *testing.T) {
	conforms := regexp.MustCompile(`drivertest\.Conformance\(t, |\.Conforms\(t, `)
	for _, r := range hosts.Drivers() {
		files := must.Get(filepath.Glob("internal/driver/" + r.Name + "/*_test.go"))(t)
		must.True(t, slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && conforms.Match(text)
		}), "internal/driver/%s has no conformance test", r.Name)
	}
}

// modulesOfAgents are those that the agent alone may link, and why.
var modulesOfAgents = map[string]string{
	"golang.org/x/sys":                        "system calls",
	"golang.org/x/net":                        "DNS messages, header compression of HTTP/2",
	"github.com/HdrHistogram/hdrhistogram-go": "distributions of round trips",
	"github.com/safchain/ethtool":             "what the drivers of devices tell",
}

// The agent alone links only these modules: it is started at every endpoint and copied to
// containers.
func TestAgentLinksLittle(t *testing.T) {
	found := map[string]bool{}
	for _, system := range []string{"linux/amd64", "linux/arm64"} {
		goos, arch, _ := strings.Cut(system, "/")
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/tare-agent")
		list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
		out := must.Get(list.Output())(t)
		for m := range strings.FieldsSeq(string(out)) {
			if found[m] = true; modulesOfAgents[m] == "" {
				t.Errorf("on %s the agent links %s: import a smaller package, or add it to modulesOfAgents with the reason", system, m)
			}
		}
	}
	for m := range modulesOfAgents {
		must.True(t, found[m], "the agent does not link %s: remove it from modulesOfAgents", m)
	}
}

// The linker leaves out methods that nothing calls, unless the program looks up methods by names that it does not
// know then, as text/template does: that costs 7 MB.
func TestReleaseUnusedMethods(t *testing.T) {
	link := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "tare"), "./cmd/tare")
	link.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out := must.Get(link.CombinedOutput())(t)
	must.Require(t, strings.Contains(string(out), "main.main -> "), "the linker has not told what calls what: %.200s", out)
	for line := range strings.Lines(string(out)) {
		if by, _, ok := strings.Cut(line, " <ReflectMethod>"); ok {
			t.Errorf("%s looks up methods by name: find what calls it with `go build -ldflags=-dumpdep ./cmd/tare`", by)
		}
	}
}

// Every registered mode and workload has its page, titled with its name, or one of its driver that names it.
func TestPages(t *testing.T) {
	pages := map[string]string{}
	for _, m := range hosts.Modes() {
		pages[m.ID] = "docs/modes/" + pageOf(m.ID)
	}
	for _, w := range workloads.Offered() {
		pages[w.Spec().Kind] = "docs/workloads/" + w.Spec().Kind + ".md"
	}
	for name, path := range pages {
		text := must.Get(os.ReadFile(path))(must.Named(t, fmt.Sprintf("%s has no page", name)))
		must.True(t, strings.HasPrefix(string(text), "# "+name+"\n") || strings.Contains(string(text), "| `"+name+"`") || strings.Contains(string(text), ", `"+name+"`"),
			"%s is not titled %q, nor has it a row for it", path, name)
	}
}
