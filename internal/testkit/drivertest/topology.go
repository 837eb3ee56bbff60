package drivertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver/topologygolden"
	"tare/internal/result"
)

// updateGoldenEnv is the environment variable that makes the tests write the golden paths
// instead of comparing: see `make drawings`.
const updateGoldenEnv = "TARE_WRITE_DRAWN"

// CheckGolden compares the path with its golden file in package topologygolden.
func (s *Setup) CheckGolden(t *testing.T, mode string) {
	t.Helper()
	top, err := s.Path.Topology()
	if err != nil {
		t.Fatal(err)
	}
	CheckGoldenPath(t, mode, top, s.Path.Findings(nil, nil, nil))
}

// UpdateGolden reports whether golden files are written instead of compared.
func UpdateGolden() bool { return os.Getenv(updateGoldenEnv) != "" }

// CheckGoldenPath compares the graph of a built path, and what its counters must show, with the golden file of its mode.
func CheckGoldenPath(t *testing.T, mode string, top result.Topology, findings []result.Finding) {
	t.Helper()
	built := normalised(top, findings)
	if UpdateGolden() {
		text, err := json.MarshalIndent(built, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(Root(t), "internal", "driver", "topologygolden", "paths", topologygolden.File(mode)), append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, err := topologygolden.ForMode(mode)
	if err != nil {
		t.Fatalf("%v: write it by `make drawings`", err)
	}
	if d := cmp.Diff(known, built); d != "" {
		t.Errorf("%s is built otherwise than it is drawn; if that is right, `make drawings` (-drawn +built):\n%s", mode, d)
	}
}

// normalised keeps the parts of a path that do not depend on where it is built: of the facts
// of devices only the MTU, of several pairs the first, and off-path nodes and rules in a
// fixed order.
func normalised(t result.Topology, findings []result.Finding) topologygolden.Path {
	p := topologygolden.Path{Topology: result.Topology{Edges: t.Edges}}
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
		p.Rules = append(p.Rules, topologygolden.Rule{Counter: f.Counter, Expect: f.Expect})
	}
	slices.SortFunc(p.Rules, func(a, b topologygolden.Rule) int {
		return strings.Compare(a.Counter+" "+a.Expect, b.Counter+" "+b.Expect)
	})
	p.Rules = slices.Compact(p.Rules)
	p.Forwarded = p.HasForwarder()
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
