package markdown

import (
	"strings"

	"tare/internal/report/doc"
)

// overview writes the first screen: the answer, the table and its notes.
func (p *page) overview(o doc.Overview) {
	if o.Measured != "" {
		p.line("%s", md(o.Measured))
	}
	p.line("**%s**", md(o.Sentence))
	for _, n := range o.Explanations {
		p.line("**%s**: %s", md(n.Names()), md(n.Text))
	}
	if len(o.Columns) > 0 {
		head, rule := "| "+md(o.Head)+" |", "|---|"
		for _, c := range o.Columns {
			head += " " + md(strings.TrimSpace(c.Workload+" "+c.Metric)) + " |"
			rule += "---|"
		}
		p.item("%s", head)
		p.item("%s", rule)
	}
	for _, g := range o.Groups {
		if len(o.Columns) == 0 {
			break
		}
		if g.Name != "" {
			p.item("| *%s* |%s", md(g.Name), strings.Repeat(" |", len(o.Columns)))
		}
		for _, r := range g.Rows {
			p.item("| %s |%s", md(r.Mode), overviewCells(r, len(o.Columns)))
		}
	}
	if len(o.Columns) > 0 {
		p.item("")
	}
	if legend := o.Legends(o.Columns...); len(legend) > 0 {
		p.line("%s", md(strings.Join(legend, "; ")))
	}
	notes := append(append([]doc.Note(nil), o.Notes...), o.Absent...)
	for _, n := range notes {
		p.item("- %s", md(n.String()))
	}
	if len(notes) > 0 {
		p.item("")
	}
}

func overviewCells(r doc.OverviewRow, columns int) string {
	if r.Out != "" {
		return " " + md(r.Out) + " |" + strings.Repeat(" |", columns-1)
	}
	var b strings.Builder
	for _, c := range r.Cells {
		text := strings.Join(strings.Fields(c.Mark+" "+c.Change+" "+c.Interval+" "+c.Time), "\u00a0")
		b.WriteString(" " + md(text) + " |")
	}
	return b.String()
}
