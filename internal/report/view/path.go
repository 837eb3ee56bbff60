package view

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
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
		s.Facts = facts(n.Facts)
	}
	return s
}

// modes are the modes with their paths drawn.
func (b *builder) modes() []doc.Block {
	var all []doc.Block
	for i, m := range b.Run.Modes {
		s := doc.Section{ID: fmt.Sprintf("m%d", i), Look: doc.Mode, Group: b.numbers[m.ID], Head: doc.Heading{Name: m.ID, Small: m.Title}}
		if unmeasured(m) {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Reason, Text: fate(m)})
		}
		if m.Description != "" {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: m.Description})
		}
		if m.Mode != "" && m.Mode != m.ID {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Meta, Text: "mode " + m.Mode})
		}
		if len(m.Facts) > 0 {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Meta, Text: facts(m.Facts)})
		}
		s.Blocks = append(s.Blocks, forHTML(doc.Later(func() []doc.Block {
			d := topologyOf(m)
			if d == nil {
				return pathsOf(m)
			}
			return []doc.Block{
				doc.Figure{Look: doc.Topology, ID: fmt.Sprintf("topo%d", i), Drawings: []doc.Drawing{d.Figure}, Caption: d.Caption},
				doc.Details{Summary: "Each step and its counters", Blocks: []doc.Block{d.table(s.ID)}},
			}
		})))
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "modes", Fold: true, Head: doc.Heading{Text: "Modes and their paths"}, Nav: "Paths", Blocks: []doc.Block{doc.Beside{Blocks: all}}}}
}

// table is the table of the steps behind a drawing.
func (d pathDrawing) table(by string) doc.Table {
	t := doc.Table{Kind: doc.Places, By: by, Caption: "The steps from client to server, as read back, and what their counters showed",
		Columns: []doc.Column{{Head: "Where"}, {Head: "Step", Row: true}, {Head: "As read back"}, {Head: "Counters"}}, Groups: make([]doc.Group, 1)}
	for _, r := range d.Rows {
		step := doc.Cell{Text: r.Step}
		if r.Beside {
			step.Small = "beside the path"
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: r.Where}, step, {Text: r.Facts}, {Lines: r.Findings}}})
	}
	return t
}

// pathsOf are the ways through a mode in words.
func pathsOf(m result.Mode) []doc.Block {
	var out []doc.Block
	for _, way := range paths(m.Topology) {
		var p doc.Path
		for _, at := range places(way) {
			step := doc.Step{Where: at.Where}
			for _, s := range at.Stops {
				step.Stops = append(step.Stops, doc.Stop{Label: s.Label, Facts: s.Facts, Look: s.Look})
			}
			p.Steps = append(p.Steps, step)
		}
		out = append(out, p)
	}
	return out
}

// modeList are the modes with their paths in words.
func (b *builder) modeList() []doc.Block {
	var all []doc.Block
	for _, m := range b.Run.Modes {
		s := doc.Section{Look: doc.Mode, Head: doc.Heading{Name: m.ID, Small: m.Title}}
		if unmeasured(m) {
			s.Head.Small = strings.TrimPrefix(m.Title+"; "+fate(m), "; ")
		}
		if m.Mode != "" && m.Mode != m.ID {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: "mode " + m.Mode})
		}
		if m.Description != "" {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: m.Description})
		}
		if len(m.Facts) > 0 {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: facts(m.Facts)})
		}
		s.Blocks = append(s.Blocks, pathsOf(m)...)
		if m.Topology != nil {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: provenInWords(m.Proof)})
		}
		s.Blocks = append(s.Blocks, b.drawn(func(f named) bool { return f.Path != nil && f.Mode == m.ID }))
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{Head: doc.Heading{Text: "Modes and their paths"}, Blocks: all}}
}

// PathFigure draws the path of a mode as an SVG file: with what its last proof showed or, for
// a mode without trials, with what the counters must show. Empty where the path is unknown.
func PathFigure(m result.Mode) []byte {
	d := topologyOf(printable.Value(m))
	if d == nil {
		return nil
	}
	return d.Figure.Standalone()
}

// PathInWords is the packet path of a mode by its steps, place by place; empty where it is
// unknown.
func PathInWords(m result.Mode) []string {
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

// demanded describes what the counters of a step must show; those that must not move share a
// line.
func demanded(found []result.Finding, label string) (out []chart.Reading) {
	for i, f := range found {
		name, _ := counted(f.Counter)
		if rests(f) && i > 0 && rests(found[i-1]) {
			continue
		}
		text := strings.TrimSpace(name + " " + inWords(f.Expect))
		if rests(f) && (name == "tx" || name == "rx") {
			text = "must not move"
			if slices.ContainsFunc(found, func(f result.Finding) bool { return !rests(f) }) {
				text = name + " " + text
			}
		}
		out = append(out, chart.Reading{Text: shortened(text, label), Tip: f.Counter + ": " + inWords(f.Expect)})
	}
	return out
}

// inWords is the short meaning of a word of docs/proof.md, for a drawing.
func inWords(expect string) string {
	switch expect {
	case "forward":
		return "= from client"
	case "reverse":
		return "= from server"
	case "both":
		return "= both ways"
	case "connections":
		return "each connection"
	case "forward at least":
		return "≥ from client"
	case "reverse at least":
		return "≥ from server"
	case "both at least":
		return "≥ both ways"
	case "forward payload":
		return "= from client"
	case "reverse payload":
		return "= from server"
	case "works":
		return "to pass it on"
	case "still", "unmet", "idles":
		return "none"
	case "forward packets", "reverse packets", "packets both ways":
		return "≥ 1 a packet"
	case "forward stream", "reverse stream", "streams both ways":
		return "≥ by size"
	}
	return expect
}
