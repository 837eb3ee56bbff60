package notes

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/result"
)

// Step is a step of the path, from client to server.
type Step struct {
	kind  string // process, nat, ...; empty for a device, which says itself what it is
	label string
	at    Place
	dev   Device
	own   bool // one of its kind for each pair
	facts []result.Fact
}

// ProcessAt is the agent of an end, or another process on the path.
func ProcessAt(at Place, facts ...result.Fact) Step {
	return Step{kind: "process", label: "process", at: at, own: true, facts: facts}
}

// Rule is a rule on the path, such as address translation.
func Rule(at Place, kind, label string, facts ...result.Fact) Step {
	return Step{kind: kind, label: label, at: at, facts: facts}
}

// DeviceAt is a device on the path.
func DeviceAt(at Place, dev Device) Step { return Step{label: dev.label(), at: at, dev: dev} }

// Own marks what each pair has for itself.
func Own(s Step) Step {
	s.own = true
	return s
}

// With adds facts to a step.
func With(s Step, facts ...result.Fact) Step {
	s.facts = append(s.facts[:len(s.facts):len(s.facts)], facts...)
	return s
}

// Draw notes the steps of the path.
func (p *Path) Draw(steps ...Step) { p.steps = steps }

// Topology is the path as a chain, with what was read back of each device. Of
// several pairs it is the first one's; what each has of its own says how many there
// are.
func (p *Path) Topology() (result.Topology, error) {
	var t result.Topology
	for i, s := range p.steps {
		_, sandbox, _ := strings.Cut(s.at.At, "/")
		n := result.Node{ID: fmt.Sprintf("n%d", i), Kind: s.kind, Host: s.at.Host, Sandbox: sandbox, Label: s.label}
		if s.own && p.Count > 1 {
			n.Label += fmt.Sprintf(" x %d", p.Count)
		}
		if s.kind == "" {
			kind, facts, err := s.at.Stack.Describe(context.Background(), s.dev.Name)
			if err != nil {
				return t, err
			}
			n.Kind, n.Facts = kind, facts
		}
		n.Facts = append(n.Facts, s.facts...)
		t.Nodes = append(t.Nodes, n)
		if i > 0 {
			t.Edges = append(t.Edges, result.Edge{From: fmt.Sprintf("n%d", i-1), To: n.ID})
		}
	}
	return t, nil
}
