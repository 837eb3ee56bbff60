package pathspec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/result"
)

// Step is a step of the path, from client to server.
type Step struct {
	kind     string // process, nat, ...; empty for a device, whose kind is read
	label    string
	at       Place
	dev      Device
	perPair  bool // each pair has its own
	facts    []result.Fact
	provenBy []string // objects whose counters verify it
}

// ProcessStep is the agent of an endpoint, or another process on the path.
func ProcessStep(at Place, facts ...result.Fact) Step {
	return Step{kind: "process", label: "process", at: at, perPair: true, facts: facts}
}

// RuleStep is a rule on the path, such as address translation.
func RuleStep(at Place, kind, label string, facts ...result.Fact) Step {
	return Step{kind: kind, label: label, at: at, facts: facts}
}

// DeviceStep is a device on the path.
func DeviceStep(at Place, dev Device) Step { return Step{label: dev.label(), at: at, dev: dev} }

// PerPair marks a step of which each pair has its own.
func PerPair(s Step) Step {
	s.perPair = true
	return s
}

// WithFacts adds facts to a step.
func WithFacts(s Step, facts ...result.Fact) Step {
	s.facts = append(s.facts[:len(s.facts):len(s.facts)], facts...)
	return s
}

// ProvenBy names the objects whose counters verify a step: CounterName(at, of, "...") up to
// the last dot. A device is verified by its own counters, which are implied.
func ProvenBy(s Step, of ...string) Step {
	s.provenBy = append(s.provenBy[:len(s.provenBy):len(s.provenBy)], of...)
	return s
}

// Reversed returns steps in the other direction.
func Reversed(steps []Step) []Step {
	out := slices.Clone(steps)
	slices.Reverse(out)
	return out
}

// SetSteps sets the steps of the path.
func (p *Path) SetSteps(steps ...Step) { p.steps = steps }

// Topology returns the path as a chain, with the settings read back from each device. It
// shows the first pair; labels of what each pair has separately include the number of
// pairs.
func (p *Path) Topology() (result.Topology, error) {
	var t result.Topology
	for i, s := range p.steps {
		_, sandbox, _ := strings.Cut(s.at.At, "/")
		n := result.Node{ID: fmt.Sprintf("n%d", i), Kind: s.kind, Host: s.at.Host, Sandbox: sandbox, Label: s.label}
		if s.perPair && p.PairCount > 1 {
			n.Label += fmt.Sprintf(" x %d", p.PairCount)
		}
		if s.kind == "" {
			kind, facts, err := s.at.Stack.Describe(context.Background(), s.dev.Name)
			if err != nil {
				return t, err
			}
			n.Kind, n.Facts = kind, facts
		}
		n.Facts = append(n.Facts, s.facts...)
		n.Counters = p.counters(s.proven()...)
		t.Nodes = append(t.Nodes, n)
		if i > 0 {
			t.Edges = append(t.Edges, result.Edge{From: fmt.Sprintf("n%d", i-1), To: n.ID})
		}
	}
	var err error
	t.Beside, err = p.offPathNodes()
	return t, err
}

// proven lists the objects whose counters verify a step.
func (s Step) proven() []string {
	if s.kind != "" {
		return s.provenBy
	}
	return append(s.provenBy[:len(s.provenBy):len(s.provenBy)], s.at.At+"/"+s.dev.label())
}

// counters lists the counters of the rules that belong to one of the named objects.
func (p *Path) counters(of ...string) (out []string) {
	for _, r := range p.rules {
		if whose, _ := result.Of(r.Counter); slices.Contains(of, whose) && !slices.Contains(out, r.Counter) {
			out = append(out, r.Counter)
		}
	}
	return out
}

// offPathNodes returns the objects that must be idle and are not steps of the path.
func (p *Path) offPathNodes() (out []result.Node, err error) {
	var drawn []string
	for _, s := range p.steps {
		drawn = append(drawn, s.proven()...)
	}
	for _, r := range p.rules {
		of, what := result.Of(r.Counter)
		if !r.Expect.OffPath() || slices.Contains(drawn, of) {
			continue
		}
		drawn = append(drawn, of)
		at, name := of, ""
		if i := strings.LastIndexByte(of, '/'); i >= 0 {
			at, name = of[:i], of[i+1:]
		}
		host, sandbox, _ := strings.Cut(at, "/")
		n := result.Node{ID: fmt.Sprintf("b%d", len(out)), Kind: "rule", Host: host, Sandbox: sandbox, Label: name, Counters: p.counters(of)}
		if what == "run_ns" {
			n.Kind = "process"
		}
		for _, l := range p.links {
			if l.at.At == at && l.dev.label() == name {
				n.Host = l.at.Host
				if n.Kind, n.Facts, err = l.at.Stack.Describe(context.Background(), l.dev.Name); err != nil {
					return nil, err
				}
				break
			}
		}
		out = append(out, n)
	}
	return out, nil
}
