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
	kind  string // process, nat, ...; empty for a device, which says itself what it is
	label string
	at    Place
	dev   Device
	own   bool // one of its kind for each pair
	facts []result.Fact
	by    []string // whose counters prove it
}

// ProcessStep is the agent of an end, or another process on the path.
func ProcessStep(at Place, facts ...result.Fact) Step {
	return Step{kind: "process", label: "process", at: at, own: true, facts: facts}
}

// RuleStep is a rule on the path, such as address translation.
func RuleStep(at Place, kind, label string, facts ...result.Fact) Step {
	return Step{kind: kind, label: label, at: at, facts: facts}
}

// DeviceStep is a device on the path.
func DeviceStep(at Place, dev Device) Step { return Step{label: dev.label(), at: at, dev: dev} }

// PerPair marks what each pair has for itself.
func PerPair(s Step) Step {
	s.own = true
	return s
}

// WithFacts adds facts to a step.
func WithFacts(s Step, facts ...result.Fact) Step {
	s.facts = append(s.facts[:len(s.facts):len(s.facts)], facts...)
	return s
}

// ProvenBy says whose counters prove a step, without what they count: Counter(at, of, "...")
// up to the last dot. A device is proven by its own and needs not be told.
func ProvenBy(s Step, of ...string) Step {
	s.by = append(s.by[:len(s.by):len(s.by)], of...)
	return s
}

// SetSteps notes the steps of the path.
func (p *Path) SetSteps(steps ...Step) { p.steps = steps }

// Topology is the path as a chain, with what was read back of each device. Of
// several pairs it is the first one's; what each has of its own says how many there
// are.
func (p *Path) Topology() (result.Topology, error) {
	var t result.Topology
	for i, s := range p.steps {
		_, sandbox, _ := strings.Cut(s.at.At, "/")
		n := result.Node{ID: fmt.Sprintf("n%d", i), Kind: s.kind, Host: s.at.Host, Sandbox: sandbox, Label: s.label}
		if s.own && p.PairCount > 1 {
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
	t.Beside, err = p.beside()
	return t, err
}

// proven lists whose counters prove a step.
func (s Step) proven() []string {
	if s.kind != "" {
		return s.by
	}
	return append(s.by[:len(s.by):len(s.by)], s.at.At+"/"+s.dev.label())
}

// counters are those of the proof's rules that belong to one of the named.
func (p *Path) counters(of ...string) (out []string) {
	for _, r := range p.rules {
		if whose, _ := result.Of(r.Counter); slices.Contains(of, whose) && !slices.Contains(out, r.Counter) {
			out = append(out, r.Counter)
		}
	}
	return out
}

// beside are what must rest and is no step of the path.
func (p *Path) beside() (out []result.Node, err error) {
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
