package cpu

import (
	"fmt"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Figure draws a breakdown: a stacked bar for each mode, and beside it the differences to its
// baseline. False where there is nothing to draw.
func (b breakdown) Figure() (chart.Figure, bool) {
	if len(b.Modes) == 0 {
		return chart.Figure{}, false
	}
	keys, rows := b.keys()
	f := chart.Figure{
		Title:  b.Workload + ": where the CPU time went",
		Desc:   b.description(),
		Legend: "A bar is a mode's CPU time, split into components by sampled stacks.",
		Keys:   keys,
		Panels: []chart.Panel{{Title: "CPU time, " + b.Unit, Axis: chart.Axis{Zero: true}}},
	}
	zero := 0.0
	more := chart.Panel{Title: "More or less than " + b.bases(), Axis: chart.Axis{Ref: &zero, Left: "less", Right: "more"}}
	for j, m := range b.Modes {
		all, diff := chart.Row{Label: m.Mode, Note: b.number(m.Total)}, chart.Row{Label: m.Mode}
		total := 0.0
		for i, r := range rows {
			key := i
			if r.Unknown {
				key = chart.Unsorted
			}
			c := r.Cells[j]
			all.Parts = append(all.Parts, chart.Part{Key: key, Value: c.Value, Tip: m.Mode + ", " + r.Name + ": " + b.number(c.Value)})
			if c.Diff != nil {
				total += *c.Diff
				diff.Parts = append(diff.Parts, chart.Part{Key: key, Value: *c.Diff, Tip: m.Mode + ", " + r.Name + ": " + b.diff(c)})
			}
		}
		f.Panels[0].Rows = append(f.Panels[0].Rows, all)
		if m.Base != "" {
			diff.Note = b.diff(breakdownCell{Diff: &total})
			more.Rows = append(more.Rows, diff)
		}
	}
	if len(more.Rows) > 0 {
		f.Panels = append(f.Panels, more)
	}
	return f, true
}

// keys are the components with their own colour, those that differ most, with their rows. The
// others are merged; unclassified samples are the last row and have no key.
func (b breakdown) keys() ([]string, []breakdownRow) {
	var known, unknown []breakdownRow
	for _, r := range b.Rows {
		if r.Unknown {
			unknown = append(unknown, r)
		} else if r.most() > 0 {
			known = append(known, r)
		}
	}
	if len(known) > chart.MostKeys+1 {
		rest := known[chart.MostKeys:]
		known = append(known[:chart.MostKeys:chart.MostKeys], b.sum(wording.Count(len(rest), "other", "others"), rest))
	}
	var keys []string
	for _, r := range known {
		keys = append(keys, r.Name)
	}
	return keys, append(known, unknown...)
}

// bases names the baseline, or several in one word.
func (b breakdown) bases() string {
	name := ""
	for _, m := range b.Modes {
		switch {
		case m.Base == "" || m.Base == name:
		case name == "":
			name = m.Base
		default:
			return "the baseline"
		}
	}
	return name
}

// description describes the figure: the total of each mode and the largest differences.
func (b breakdown) description() string {
	var parts []string
	for j, m := range b.Modes {
		text := fmt.Sprintf("%s: %s %s", m.Mode, b.number(m.Total), b.Unit)
		for i, r := range b.Rows {
			if i == 3 || r.Unknown {
				break
			}
			text += fmt.Sprintf(", %s %s", r.Name, b.number(r.Cells[j].Value))
		}
		parts = append(parts, wording.Cut(text, 300))
	}
	return strings.Join(parts, ". ") + "."
}

// breakdownSection is where the CPU time of a workload went.
func breakdownSection(d breakdown, anchor string) doc.Block {
	s := doc.Section{ID: anchor, Look: doc.Metric, Head: doc.Heading{Name: d.Workload, Text: piece.Lower(d.title()), Tight: true}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	for _, m := range d.Missing {
		add(doc.Paragraph{Role: doc.Missing, Text: m, Depth: 1, Cut: piece.MostGap})
	}
	if len(d.Modes) == 0 {
		return s
	}
	fine := d.Finer()
	add(piece.ForHTML(doc.Later(func() []doc.Block { return fine.drawing(anchor) })),
		piece.ForHTML(fine.table(anchor)), piece.ForTerminal(d.grid()),
		doc.Paragraph{Role: doc.Seen, Text: d.unknown(), Tight: true, Depth: 1})
	if folded := d.Folded(); len(folded) > 0 {
		l := doc.List{}
		for _, f := range folded {
			l.Items = append(l.Items, doc.Item{Text: f})
		}
		add(piece.ForHTML(doc.Details{Summary: "Folded stacks, for a flame graph", Blocks: []doc.Block{l}}))
	}
	return s
}

// drawing is the stacked bars of a breakdown.
func (b breakdown) drawing(anchor string) []doc.Block {
	f, _ := b.Figure()
	out := doc.Figure{ID: anchor + "-f"}
	keys, _ := b.keys()
	for i, name := range keys {
		out.Keys = append(out.Keys, doc.Key{No: i, Name: name})
	}
	out.Keys = append(out.Keys, doc.Key{No: chart.Unsorted, Name: result.Unclassified})
	for _, p := range f.Panels {
		out.Drawings = append(out.Drawings, chart.Figure{Title: b.Workload + ": " + p.Title, Desc: f.Desc, Panels: []chart.Panel{p}})
	}
	return []doc.Block{out}
}

func (b breakdown) table(anchor string) doc.Table {
	t := doc.Table{Kind: doc.Breakdown, By: anchor, Caption: "CPU time, " + b.Unit + " " + piece.WithInterval, Columns: []doc.Column{{Head: "Component", Row: true}}, Groups: make([]doc.Group, 1)}
	for _, m := range b.Modes {
		t.Columns = append(t.Columns, doc.Column{Head: m.Mode, Foreign: true, Number: true})
		if m.Base != "" {
			t.Columns = append(t.Columns, doc.Column{Head: "beside", Beside: m.Base, Number: true})
		}
	}
	for i, r := range append(b.Rows, b.all()) {
		row := doc.Row{Sum: i == len(b.Rows), Cells: []doc.Cell{{Text: r.Name}}}
		for j, c := range r.Cells {
			value := doc.Cell{Text: b.number(c.Value)}
			if c.CI != nil {
				value.Interval = b.number(c.CI[0]) + "-" + b.number(c.CI[1])
			}
			row.Cells = append(row.Cells, value)
			if b.Modes[j].Base == "" {
				continue
			}
			diff := doc.Cell{Text: b.diff(c)}
			if b.apart(r, j) {
				switch {
				case strings.HasPrefix(diff.Text, "+"):
					diff.Tone = chart.Worse
				case strings.HasPrefix(diff.Text, "-"):
					diff.Tone = chart.Better
				}
			}
			row.Cells = append(row.Cells, diff)
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	return t
}

// grid is the components that differ, side by side with the baseline.
func (b breakdown) grid() doc.Grid {
	var g doc.Grid
	rows := b.short()
	for _, r := range rows {
		g.Names = append(g.Names, r.Name)
	}
	for j, m := range b.Modes {
		value, diff := 0, 0
		for _, r := range rows {
			value, diff = max(value, wording.Width(b.number(r.Cells[j].Value))), max(diff, wording.Width(b.diff(r.Cells[j])))
		}
		c := doc.GridColumn{Head: m.Mode}
		for _, r := range rows {
			text := piece.Right(b.number(r.Cells[j].Value), value)
			if diff > 0 {
				text += " " + piece.Right(b.diff(r.Cells[j]), diff)
			}
			c.Cells = append(c.Cells, text)
		}
		g.Columns = append(g.Columns, c)
	}
	return g
}
