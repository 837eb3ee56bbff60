// Package paths draws the packet path of each mode with what its last proof showed.
package paths

import (
	"fmt"

	"tare/internal/printable"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
)

// Section are the modes with their paths drawn.
func Section(b *model.Builder) []doc.Block {
	var all []doc.Block
	for i, m := range b.Run.Modes {
		s := doc.Section{ID: fmt.Sprintf("m%d", i), Look: doc.Mode, Group: b.Numbers[m.ID], Head: doc.Heading{Name: m.ID, Small: m.Title}}
		if model.Unmeasured(m) {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Reason, Text: model.Fate(m)})
		}
		if m.Description != "" {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: m.Description})
		}
		if m.Mode != "" && m.Mode != m.ID {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Meta, Text: "mode " + m.Mode})
		}
		if len(m.Facts) > 0 {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Meta, Text: piece.Facts(m.Facts)})
		}
		s.Blocks = append(s.Blocks, piece.ForHTML(doc.Later(func() []doc.Block {
			d := Drawing(m)
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

// Figure draws the path of a mode as an SVG file: with what its last proof showed or, for
// a mode without trials, with what the counters must show. Empty where the path is unknown.
func Figure(m result.Mode) []byte {
	d := Drawing(printable.Value(m))
	if d == nil {
		return nil
	}
	return d.Figure.Standalone()
}
