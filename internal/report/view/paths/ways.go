package paths

import (
	"slices"
	"strings"

	"tare/internal/printable"
	"tare/internal/report/view/piece"
	"tare/internal/result"
)

// mostPaths is how many ways through a topology a page lists.
const mostPaths = 8

// stop is one node on a path: what it is and where.
type stop struct {
	Label string // "veth eth0"
	Where string // "a / client"
	Facts string // "mtu 1500"
	Look  string // how it is drawn: device, process, rule, tunnel
}

// site is a run of stops in one host or sandbox.
type site struct {
	Where string
	Stops []stop
}

// places gathers the stops of a way that follow each other in one place.
func places(way []stop) []site {
	var out []site
	for _, s := range way {
		if len(out) == 0 || out[len(out)-1].Where != s.Where {
			out = append(out, site{Where: s.Where})
		}
		last := &out[len(out)-1]
		last.Stops = append(last.Stops, s)
	}
	return out
}

// lookOf is how a kind of node is drawn.
func lookOf(kind string) string {
	switch kind {
	case "process", "proxy", "docker-proxy", "container":
		return "process"
	case "nat", "dnat", "snat", "masquerade", "rule", "route", "ebpf":
		return "rule"
	case "vxlan", "geneve", "gre", "ipip", "wireguard", "esp", "xfrm", "tunnel":
		return "tunnel"
	}
	return "device"
}

// paths lists the ways through a topology along its edges, from nodes that nothing leads to. A
// path ends before a cycle. Nodes that no such path reaches start their own, so that every
// node is listed.
func paths(t *result.Topology) [][]stop {
	if t == nil {
		return nil
	}
	nodes := map[string]result.Node{}
	for _, n := range t.Nodes {
		nodes[n.ID] = n
	}
	var out [][]stop
	for _, ids := range ways(t) {
		var stops []stop
		for _, id := range ids {
			stops = append(stops, stopOf(nodes[id]))
		}
		out = append(out, stops)
	}
	return out
}

// mostNodes is how many nodes of a topology are read: no driver makes dozens.
const mostNodes = 500

// ways are the ways through a topology by the ids of their nodes.
func ways(t *result.Topology) [][]string {
	next := map[string][]string{}
	entered := map[string]bool{}
	nodes := map[string]bool{}
	all := t.Nodes[:min(len(t.Nodes), mostNodes)]
	for _, n := range all {
		nodes[n.ID] = true
	}
	for _, e := range t.Edges {
		if nodes[e.From] && nodes[e.To] && !slices.Contains(next[e.From], e.To) {
			next[e.From] = append(next[e.From], e.To)
			entered[e.To] = true
		}
	}
	w := walk{next: next, seen: map[string]bool{}}
	for _, n := range all {
		if !entered[n.ID] && !w.seen[n.ID] {
			w.from(n.ID, nil)
		}
	}
	for _, n := range all {
		if !w.seen[n.ID] {
			w.from(n.ID, nil)
		}
	}
	return w.out
}

// walk collects ways, depth first.
type walk struct {
	next map[string][]string
	seen map[string]bool
	out  [][]string
}

func (w *walk) from(id string, way []string) {
	if len(w.out) >= mostPaths {
		return
	}
	w.seen[id] = true
	way = append(slices.Clip(way), id)
	ended := true
	for _, to := range w.next[id] {
		if !slices.Contains(way, to) {
			ended = false
			w.from(to, way)
		}
	}
	if ended && len(w.out) < mostPaths {
		w.out = append(w.out, way)
	}
}

func stopOf(n result.Node) stop {
	s := stop{Label: n.Label, Look: lookOf(n.Kind)}
	switch {
	case n.Label == "":
		s.Label = n.Kind
	case n.Kind == "process": // its name says that
	case n.Kind != "" && !strings.Contains(strings.ToLower(n.Label), strings.ToLower(n.Kind)):
		s.Label = n.Kind + " " + n.Label
	}
	if s.Label == "" {
		s.Label = n.ID
	}
	s.Where = n.Host
	if n.Sandbox != "" {
		s.Where = strings.TrimPrefix(n.Host+" / "+n.Sandbox, " / ")
	}
	if len(n.Facts) > 0 {
		s.Facts = piece.Facts(n.Facts)
	}
	return s
}

// InWords is the packet path of a mode by its steps, place by place; empty where it is
// unknown.
func InWords(m result.Mode) []string {
	var out []string
	for _, way := range paths(printable.Value(m).Topology) {
		for _, at := range places(way) {
			var labels []string
			for _, s := range at.Stops {
				labels = append(labels, s.Label)
			}
			out = append(out, strings.TrimPrefix(at.Where+": "+strings.Join(labels, ", "), ": "))
		}
	}
	return out
}
