// Package topologygolden has the expected path of each mode as the drivers build it in a
// lab: its graph, and what each counter must show. It allows to draw a path without
// building it. The drivers' conformance tests write the files and fail if a driver builds
// something else.
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

// Path is the expected path of a mode with one pair of endpoints.
type Path struct {
	Topology result.Topology `json:"topology"`
	// Rules have no values, because nothing was carried.
	Rules []Rule `json:"rules"`
}

// Rule is what a counter must show; result.Finding explains the words.
type Rule struct {
	Counter string `json:"counter"`
	Expect  string `json:"expect"`
}

// ForMode returns the path of a mode, whose name may have a parameter. It fails if none is
// stored.
func ForMode(mode string) (Path, error) {
	var p Path
	text, err := files.ReadFile("paths/" + File(mode))
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("no topology is stored for mode %s", mode)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(text, &p)
}

// File returns the file name of a mode, without the user-supplied part after a colon.
func File(mode string) string {
	name, _, _ := strings.Cut(mode, ":")
	return strings.ReplaceAll(name, "/", "-") + ".json"
}

// Normalise keeps the parts of a path that do not depend on where it is built: of the facts
// of devices only the MTU, of several pairs the first, and off-path nodes and rules in a
// fixed order.
func Normalise(t result.Topology, findings []result.Finding) Path {
	p := Path{Topology: result.Topology{Edges: t.Edges}}
	for _, n := range t.Nodes {
		p.Topology.Nodes = append(p.Topology.Nodes, stableNode(n))
	}
	for _, n := range t.Beside {
		if isExtraPair(n.Sandbox) {
			continue
		}
		p.Topology.Beside = append(p.Topology.Beside, stableNode(n))
	}
	where := func(n result.Node) string { return n.Host + "/" + n.Sandbox + "/" + n.Label }
	slices.SortFunc(p.Topology.Beside, func(a, b result.Node) int { return strings.Compare(where(a), where(b)) })
	for i := range p.Topology.Beside {
		p.Topology.Beside[i].ID = fmt.Sprintf("b%d", i)
	}
	for _, f := range findings {
		at, _ := result.Of(f.Counter)
		parts := strings.Split(at, "/")
		if f.Pair > 1 || len(parts) > 2 && isExtraPair(parts[1]) {
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

// isExtraPair reports whether a sandbox belongs to a pair after the first, such as client2.
func isExtraPair(sandbox string) bool {
	name := strings.TrimRight(sandbox, "0123456789")
	return name != sandbox && (name == "client" || name == "server")
}

func stableNode(n result.Node) result.Node {
	n.Label, _, _ = strings.Cut(n.Label, " x ")
	n.Facts = slices.DeleteFunc(slices.Clone(n.Facts), func(f result.Fact) bool { return f.Name != "mtu" })
	if len(n.Facts) == 0 {
		n.Facts = nil
	}
	if n.Kind == "network" { // independent of the driver that created it
		n.Label = "network"
	}
	return n
}

// Encode returns the content of the path's file.
func (p Path) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", " ")
	return append(text, '\n'), err
}

// UnmeasuredMode returns a mode without measurements for a report to draw: its rules are
// findings without values.
func (p Path) UnmeasuredMode(id, title string) result.Mode {
	proof := &result.Proof{Holds: true}
	for _, r := range p.Rules {
		proof.Findings = append(proof.Findings, result.Finding{Counter: r.Counter, Expect: r.Expect})
	}
	return result.Mode{ID: id, Title: title, Topology: &p.Topology, Proof: proof}
}
