package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// stage is a tier of tests, or a part of the last tier, which make calls by its name.
type stage struct {
	name, about string
	setUp       bool // scripts/setup-tests has a part for it
	// installs means that its set-up may install packages, so that the machine is compared from then on.
	installs bool
	// atOnce means that groups run at once: each waits more than it computes.
	atOnce bool
	lane   int // stages of one lane run one after another, and the lanes at once
	groups []group
}

// group is what one `go test` runs of a stage.
type group struct {
	about    string
	list     []string // of a chain
	pkgs     func(all []pkg) []string
	run      string // regular expression of its tests, as of go test; empty for all but those of other stages
	short    bool   // without what needs rights, namespaces, engines or builds; results are cached
	parallel int    // packages at a time
	waits    bool   // its tests wait more than they compute: twice as many of a package run at a time
}

// pkg is a package with tests.
type pkg struct {
	path  string   // below the module
	tests []string // names of its tests and fuzz targets
	needs bool     // some tests need more than a short run has
}

// whole lists the packages whose tests all belong to a stage of make test-all, besides those by name.
func whole() map[string][]string {
	return map[string][]string{
		"engines": {"internal/driver/ipsec", "internal/driver/ovs", "internal/driver/mesh",
			"internal/driver/cni", "internal/driver/netavark", "internal/driver/incus", "internal/driver/existing"},
		"kubernetes": {"internal/kube", "internal/driver/k8s"},
		"machines":   {"internal/machine", "internal/driver/split", "internal/driver/machines", "internal/driver/remote"},
		"guest":      {"internal/driver/vm", "internal/guest", "internal/guest/inside"},
		"wine":       {"internal/testkit/winetest"},
	}
}

// chains lists packages of make test that run one after another, by what they are; all chains run at once. Each starts with what takes
// longest, so that they end together. Of the packages with labs, those in no chain are a chain of their own.
func chains() []group {
	return []group{
		chain("the program: whole runs, signals, kills; an engine", "internal/cli", "internal/engine", "internal/engine/private", "internal/agent", "internal/traffic/hostile"),
		chain("faults, web servers, tools, a page in a browser, small drivers", "internal/faults", "internal/traffic/web", "internal/tool", "internal/browser", "internal/tool/inlab",
			"internal/driver/setting", "internal/driver/wireguard", "internal/driver/rootless"),
		chain("trials, and the workloads over loopback", "internal/runner", "internal/traffic/tcp", "internal/traffic/udp", "internal/linuxnet"),
		{about: "labs, engines", parallel: 1, waits: true, pkgs: labs},
	}
}

// chain is the packages of a list, in its order, as far as they belong to make test.
func chain(about string, list ...string) group {
	return group{about: about, parallel: 1, waits: true, list: list, pkgs: func(all []pkg) []string {
		found := paths(all, func(p pkg) bool { return inTest(p) && slices.Contains(list, p.path) })
		slices.SortStableFunc(found, func(a, b string) int { return rank(list, a) - rank(list, b) })
		return found
	}}
}

// stages lists all, in their order. A test's stage is the word that follows Test in its name; those without such
// a word belong to make test. Alone are those that judge the machine rather than the program.
func stages() []stage {
	all := []stage{
		{name: "check", about: "what needs no rights and no set-up", groups: []group{pure(func(pkg) bool { return true })}},
		{name: "test", about: "labs, a Docker Engine, signals, faults, a page in a browser", setUp: true, atOnce: true, groups: append([]group{
			pure(func(p pkg) bool { return !inTest(p) }), // the chains run short tests, too
		}, chains()...)},
	}
	for _, s := range parts() {
		all = append(all, stage{name: s.name, about: s.about, setUp: true, installs: true, atOnce: s.atOnce, lane: s.lane, groups: later(s.name)})
	}
	return append(all, stage{name: "live", about: "what judges the machine: prints figures", setUp: true, installs: true, groups: []group{named("Alone")}})
}

// part is a stage of make test-all.
type part struct {
	name, about string
	atOnce      bool // as of a stage
	lane        int  // as of a stage
}

// parts lists the stages of make test-all in two lanes of about the same length: a cluster and a guest leave more of
// two CPUs idle than they use.
func parts() []part {
	return []part{
		{"engines", "current, rootless and sandboxed Docker Engines, Podman, netavark, Incus, tunnels, Open vSwitch, CNI, Nebula, proxies", true, 0},
		{"kubernetes", "a Kubernetes cluster of two nodes", true, 1},
		{"machines", "machines reached through ssh", true, 0},
		{"guest", "virtual machines, and what this kernel lacks in one", false, 1},
		{"wine", "the Windows build", false, 1},
		{"browser", "every page in a browser", false, 0},
		{"faults", "faults and events in real runs, hostile peers, any input, long runs, many endpoints", false, 0},
		{"release", "reproducible builds, licences, vulnerabilities", false, 1},
	}
}

// later are the groups of a stage of make test-all.
func later(name string) []group {
	out := []group{named(word(name))}
	if pkgs := whole()[name]; len(pkgs) > 0 {
		out = append(out, group{about: "its packages", parallel: 1, pkgs: func(all []pkg) []string {
			return paths(all, func(p pkg) bool { return slices.Contains(pkgs, p.path) })
		}})
	}
	return out
}

// words lists what follows Test in the names of tests of other stages than make test.
func words() []string {
	out := []string{"Alone"}
	for _, p := range parts() {
		out = append(out, word(p.name))
	}
	return out
}

// word is what follows Test in the names of tests of a stage.
func word(stage string) string { return strings.ToUpper(stage[:1]) + stage[1:] }

// byName matches the names of tests whose stage is one of the words.
func byName(words ...string) string { return `^Test(` + strings.Join(words, "|") + `)([A-Z]|$)` }

func pure(match func(pkg) bool) group {
	return group{about: "without rights and set-up", short: true, parallel: 2, pkgs: func(all []pkg) []string { return paths(all, match) }}
}

func named(word string) group {
	match := regexp.MustCompile(byName(word))
	return group{about: "by name", run: byName(word), parallel: 1, pkgs: func(all []pkg) []string {
		return paths(all, func(p pkg) bool {
			return !strings.EqualFold(stageOf(p.path), word) && slices.ContainsFunc(p.tests, match.MatchString)
		})
	}}
}

// stageOf is the stage that a package belongs to as a whole, or empty.
func stageOf(path string) string {
	for name, pkgs := range whole() {
		if slices.Contains(pkgs, path) {
			return name
		}
	}
	return ""
}

// inTest reports whether tests of the package belong to make test and need more than a short run has.
func inTest(p pkg) bool {
	other := regexp.MustCompile(byName(words()...))
	return p.needs && stageOf(p.path) == "" && slices.ContainsFunc(p.tests, func(name string) bool { return !other.MatchString(name) })
}

// first lists packages in no chain that take longest.
func first() []string {
	return []string{"internal/driver/netns", "internal/driver/engines"}
}

func labs(all []pkg) []string {
	var chained []string
	for _, c := range chains() {
		chained = append(chained, c.list...)
	}
	found := paths(all, func(p pkg) bool { return inTest(p) && !slices.Contains(chained, p.path) })
	slices.SortStableFunc(found, func(a, b string) int { return rank(first(), a) - rank(first(), b) })
	return found
}

// rank is the place of a path in an order; what is not in it comes last.
func rank(order []string, path string) int {
	if i := slices.Index(order, strings.TrimPrefix(path, "./")); i >= 0 {
		return i
	}
	return len(order)
}

// paths lists the packages that match, as arguments of go test.
func paths(all []pkg, match func(pkg) bool) []string {
	var out []string
	for _, p := range all {
		if match(p) {
			out = append(out, "./"+p.path)
		}
	}
	return out
}

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	// What tests call to say what they need, and the helpers that call it for them.
	needing = regexp.MustCompile(`\b(testneed|drivertest|testns|kubetest|machinetest|winetest|enginetest|tunneltest)\.`)
)

// packages lists the packages of the module that have tests.
func packages(root string) ([]pkg, error) {
	found := map[string]*pkg{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (other == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if found[dir] == nil {
			found[dir] = &pkg{path: dir}
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			if string(m[1]) != "TestMain" {
				found[dir].tests = append(found[dir].tests, string(m[1]))
			}
		}
		found[dir].needs = found[dir].needs || needing.Match(text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the packages with tests: %w", err)
	}
	var out []pkg
	for _, p := range found {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return out, nil
}
