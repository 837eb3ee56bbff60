//go:build linux

package netns

import (
	"fmt"
	"strings"

	"tare/internal/result"
)

// node is a step of the path, from client to server.
type node struct {
	kind  string // process, nat or device
	label string
	at    place
	own   bool // one of its kind for each pair
}

func process(at place) node          { return node{"process", "process", at, true} }
func nat(at place, l string) node    { return node{"nat", l, at, false} }
func device(at place, d string) node { return node{"device", d, at, false} }

// own marks what each pair has for itself.
func own(n node) node {
	n.own = true
	return n
}

func (p *path) draw(nodes ...node) { p.nodes = nodes }

// Topology is the path as a chain, with MTU and offloads as read back. Of several
// pairs it is the first one's; what each has of its own says how many there are.
func (p *path) Topology() (result.Topology, error) {
	var t result.Topology
	for i, n := range p.nodes {
		_, sandbox, _ := strings.Cut(n.at.at, "/")
		r := result.Node{ID: fmt.Sprintf("n%d", i), Kind: n.kind, Host: n.at.host, Sandbox: sandbox, Label: n.label}
		if n.own && p.count > 1 {
			r.Label += fmt.Sprintf(" x %d", p.count)
		}
		if n.kind == "device" {
			kind, facts, err := n.at.ns.Describe(n.label)
			if err != nil {
				return t, err
			}
			r.Kind = kind
			for _, f := range facts {
				r.Facts = append(r.Facts, result.Fact{Name: f[0], Value: f[1]})
			}
		}
		t.Nodes = append(t.Nodes, r)
		if i > 0 {
			t.Edges = append(t.Edges, result.Edge{From: fmt.Sprintf("n%d", i-1), To: r.ID})
		}
	}
	return t, nil
}
