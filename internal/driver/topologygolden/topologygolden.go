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
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
)

//go:embed paths/*.json
var files embed.FS

// Path is the expected path of a mode with one pair of endpoints.
type Path struct {
	Topology result.Topology `json:"topology"`
	// Rules have no values, because nothing was carried.
	Rules []Rule `json:"rules"`
	// Forwarded is what HasForwarder must report.
	Forwarded bool `json:"forwarded,omitempty"`
}

// HasForwarder reports whether a process forwards the packets, by the rules and nodes of the path.
func (p Path) HasForwarder() bool {
	var rules []driver.Rule
	for _, r := range p.Rules {
		if r.Expect == driver.ProcessBusy.String() {
			rules = append(rules, driver.Rule{Expect: driver.ProcessBusy})
		}
	}
	return driver.Forwarded(rules, p.Topology.Nodes)
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

// UnmeasuredMode returns a mode without measurements for a report to draw: its rules are
// findings without values.
func (p Path) UnmeasuredMode(id, title string) result.Mode {
	proof := &result.Proof{Holds: true}
	for _, r := range p.Rules {
		proof.Findings = append(proof.Findings, result.Finding{Counter: r.Counter, Expect: r.Expect})
	}
	return result.Mode{ID: id, Title: title, Topology: &p.Topology, Proof: proof}
}
