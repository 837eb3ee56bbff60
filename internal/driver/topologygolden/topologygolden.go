// Package topologygolden knows the path of each mode as the drivers build it in a lab, without
// building it: its graph, and what each counter of its proof must show. The files are
// written by the drivers' conformance tests, and those fail where a driver builds
// anything else, so that what is drawn beforehand is what is built.
package topologygolden

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/result"
)

//go:embed paths/*.json
var files embed.FS

// Path is the way through a mode with one pair of ends.
type Path struct {
	Topology result.Topology `json:"topology"`
	// Rules have no figures: nothing was carried.
	Rules []Rule `json:"rules"`
}

// Rule is what a counter must show; result.Finding explains the words.
type Rule struct {
	Counter string `json:"counter"`
	Expect  string `json:"expect"`
}

// ForMode is the path of a mode, whose name may have a parameter. The error says so if
// none is known.
func ForMode(mode string) (Path, error) {
	var p Path
	text, err := files.ReadFile("paths/" + File(mode))
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("draw the path of %s: none is known", mode)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(text, &p)
}

// File names the file of a mode: what follows a colon is the user's.
func File(mode string) string {
	name, _, _ := strings.Cut(mode, ":")
	return strings.ReplaceAll(name, "/", "-") + ".json"
}

// Normalise keeps of a path what is the same wherever it is built: of what was read back of
// its devices only the MTU, of several pairs the first, and what rests and the rules in
// an order of their own.
func Normalise(t result.Topology, findings []result.Finding) Path {
	p := Path{Topology: result.Topology{Edges: t.Edges}}
	for _, n := range t.Nodes {
		p.Topology.Nodes = append(p.Topology.Nodes, lasting(n))
	}
	for _, n := range t.Beside {
		if further(n.Sandbox) {
			continue
		}
		p.Topology.Beside = append(p.Topology.Beside, lasting(n))
	}
	where := func(n result.Node) string { return n.Host + "/" + n.Sandbox + "/" + n.Label }
	slices.SortFunc(p.Topology.Beside, func(a, b result.Node) int { return strings.Compare(where(a), where(b)) })
	for i := range p.Topology.Beside {
		p.Topology.Beside[i].ID = fmt.Sprintf("b%d", i)
	}
	for _, f := range findings {
		at, _ := result.Of(f.Counter)
		parts := strings.Split(at, "/")
		if f.Pair > 1 || len(parts) > 2 && further(parts[1]) {
			continue
		}
		p.Rules = append(p.Rules, Rule{f.Counter, f.Expect})
	}
	slices.SortFunc(p.Rules, func(a, b Rule) int {
		return strings.Compare(a.Counter+" "+a.Expect, b.Counter+" "+b.Expect)
	})
	p.Rules = slices.Compact(p.Rules)
	return p
}

// further says that a sandbox is of a pair behind the first: client2.
func further(sandbox string) bool {
	name := strings.TrimRight(sandbox, "0123456789")
	return name != sandbox && (name == "client" || name == "server")
}

func lasting(n result.Node) result.Node {
	n.Label, _, _ = strings.Cut(n.Label, " x ")
	n.Facts = slices.DeleteFunc(slices.Clone(n.Facts), func(f result.Fact) bool { return f.Name != "mtu" })
	if len(n.Facts) == 0 {
		n.Facts = nil
	}
	if n.Kind == "network" { // whatever driver has made it
		n.Label = "network"
	}
	return n
}

// Encode writes a path as its file has it.
func (p Path) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", " ")
	return append(text, '\n'), err
}

// UnmeasuredMode is a mode that nobody has measured, with its path, for a report to draw: its
// rules are findings without figures.
func (p Path) UnmeasuredMode(id, title string) result.Mode {
	proof := &result.Proof{Holds: true}
	for _, r := range p.Rules {
		proof.Findings = append(proof.Findings, result.Finding{Counter: r.Counter, Expect: r.Expect})
	}
	return result.Mode{ID: id, Title: title, Topology: &p.Topology, Proof: proof}
}
