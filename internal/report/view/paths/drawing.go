package paths

import (
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
)

// pathDrawing is the packet path of a mode as a drawing, with its caption and the table behind
// it.
type pathDrawing struct {
	Figure  chart.Topology
	Caption string
	Rows    []pathRow
}

// pathRow is a step of the path, or a device beside it that must not move.
type pathRow struct {
	Where, Step, Facts string
	Beside             bool
	Findings           []string
}

// mostRows bounds the table behind a drawing.
const mostRows = 100

// Drawing draws the packet path of a mode with the findings of its last proof, nil where it
// is unknown.
func Drawing(m result.Mode) *pathDrawing {
	if m.Topology == nil || len(m.Topology.Nodes) == 0 {
		return nil
	}
	t := m.Topology
	d := pathDrawing{Caption: captionOf(m.Proof)}
	d.Figure = chart.Topology{
		Title: "The path of " + m.ID, Legend: d.Caption,
		Broken: m.Proof != nil && !m.Proof.Holds,
	}
	at := map[string]int{}
	nodes := map[string]result.Node{}
	for _, n := range t.Nodes {
		nodes[n.ID] = n
	}
	var words []string
	for _, way := range ways(t) {
		words = append(words, wayInWords(way, nodes))
		for _, id := range way {
			if _, met := at[id]; met {
				continue
			}
			at[id] = len(d.Figure.Stops)
			d.Figure.Stops = append(d.Figure.Stops, drawnStop(nodes[id], m.Proof))
			d.row(nodes[id], m.Proof, false)
		}
	}
	if n := len(d.Figure.Stops); n > 1 {
		for end, note := range map[int]string{0: "client", n - 1: "server"} {
			if s := &d.Figure.Stops[end]; s.Look == chart.Process {
				s.Note = note
			}
		}
	}
	for _, e := range t.Edges {
		from, met := at[e.From]
		to, too := at[e.To]
		if met && too && !slices.Contains(d.Figure.Joins, chart.Join{From: from, To: to}) {
			d.Figure.Joins = append(d.Figure.Joins, chart.Join{From: from, To: to})
		}
	}
	for _, n := range t.Beside[:min(len(t.Beside), mostRows)] {
		s := drawnStop(n, m.Proof)
		s.Readings = nil
		if found := findingsOf(n, m.Proof); len(found) > 0 && !m.Proof.Planned() {
			s.Readings = []chart.Reading{atRest(found, "")}
		}
		d.Figure.Beside = append(d.Figure.Beside, s)
		d.row(n, m.Proof, true)
	}
	d.Figure.Desc = strings.Join(append(words, d.Caption), " ")
	return &d
}

// wayInWords names the steps of a path: "a: process, veth eth0; b: veth eth0, process."
func wayInWords(way []string, nodes map[string]result.Node) string {
	var stops []stop
	for _, id := range way {
		stops = append(stops, stopOf(nodes[id]))
	}
	var parts []string
	for _, at := range places(stops) {
		var labels []string
		for _, s := range at.Stops {
			labels = append(labels, s.Label)
		}
		parts = append(parts, strings.TrimPrefix(at.Where+": "+strings.Join(labels, ", "), ": "))
	}
	return strings.Join(parts, "; ") + "."
}

func (d *pathDrawing) row(n result.Node, p *result.Proof, beside bool) {
	if len(d.Rows) >= mostRows {
		return
	}
	s := stopOf(n)
	r := pathRow{Where: s.Where, Step: s.Label, Facts: s.Facts, Beside: beside}
	for _, f := range findingsOf(n, p) {
		r.Findings = append(r.Findings, exactly(f))
	}
	d.Rows = append(d.Rows, r)
}

// drawnStop is a step of the path as it is drawn.
func drawnStop(n result.Node, p *result.Proof) chart.Stop {
	s := chart.Stop{Host: n.Host, Sandbox: n.Sandbox, Label: n.Label, Look: chart.Look(lookOf(n.Kind)), Turns: n.Kind == "bridge" || n.Kind == "loopback"}
	var notes []string
	if !strings.Contains(strings.ToLower(n.Label), strings.ToLower(n.Kind)) {
		notes = append(notes, n.Kind)
	}
	if s.Label == "" {
		s.Label, notes = n.Kind, nil
	}
	for _, f := range n.Facts {
		if f.Name == "mtu" {
			notes = append(notes, "mtu "+f.Value)
		}
	}
	s.Note = strings.Join(notes, ", ")
	found := findingsOf(n, p)
	if p.Planned() {
		s.Readings = demanded(found, s.Label)
		return s
	}
	if len(found) > 0 && !slices.ContainsFunc(found, func(f result.Finding) bool { return !rests(f) }) {
		s.Readings = []chart.Reading{atRest(found, "must not move: ")}
		return s
	}
	for _, f := range found {
		s.Readings = append(s.Readings, chart.Reading{Text: shortened(briefly(f), s.Label), Sign: signOf(f), Tip: exactly(f)})
	}
	return s
}

// captionOf explains the signs of a drawing.
func captionOf(p *result.Proof) string {
	text := provenInWords(p)
	if p == nil || p.Planned() || len(p.Findings) == 0 || p.Findings[0].Expect == "" {
		return text + "."
	}
	sign := "A tick is a counter that did"
	if !p.Holds {
		sign = "A cross is a counter that did not"
	}
	return text + ". " + sign + "; behind \"of\" is the expected amount."
}
