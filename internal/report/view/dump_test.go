package view

import (
	"fmt"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/wording"
)

// dump is a document as text that can be reviewed: a line a block, a row or an item, with
// whom it is for where that is not everybody.
func dump(d doc.Document) string {
	p := &dumper{}
	p.line("title %s", d.Title)
	p.line("generator %s", d.Generator)
	p.line("particulars %s", strings.Join(d.Particulars, " / "))
	for l := range strings.SplitSeq(d.Description, "\n") {
		p.line("description %s", l)
	}
	for _, n := range d.Notices {
		p.line("notice%s %s", flags("grave", n.Grave), n.Text)
	}
	p.blocks(d.Blocks)
	return p.String()
}

// mostDumped is how many columns of a line are kept: a few hundred bytes of hostile text
// are as good as all.
const mostDumped = 600

type dumper struct {
	strings.Builder
	depth int
}

func (p *dumper) line(format string, args ...any) {
	text := strings.Repeat("  ", p.depth) + fmt.Sprintf(format, args...)
	p.WriteString(strings.TrimRight(wording.Cut(text, mostDumped), " ") + "\n")
}

func (p *dumper) deeper(f func()) {
	p.depth++
	f()
	p.depth--
}

// flags names what holds: pairs of a name and whether it does, or what it is.
func flags(pairs ...any) string {
	out := ""
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case bool:
			if v {
				out += fmt.Sprintf(" %s", pairs[i])
			}
		default:
			if text := fmt.Sprint(v); text != "" && text != "0" {
				out += fmt.Sprintf(" %s=%s", pairs[i], text)
			}
		}
	}
	return out
}

func media(m doc.Media) string {
	var out []string
	for _, k := range []struct {
		m    doc.Media
		name string
	}{{doc.Terminal, "terminal"}, {doc.Markdown, "markdown"}, {doc.HTML, "html"}} {
		if m&k.m != 0 {
			out = append(out, k.name)
		}
	}
	return strings.Join(out, "+")
}

func heading(h doc.Heading) string {
	return fmt.Sprintf("%q", h.Name+" | "+h.Text+" | "+h.Unit+" | "+h.Small) + flags("notes", strings.Join(h.Notes, "; "), "of", h.Of, "terminal", h.Terminal,
		"untold", h.Untold, "tight", h.Tight, "depth", h.Depth)
}

func (p *dumper) blocks(blocks []doc.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case doc.Only:
			if len(b.Blocks) == 0 {
				continue
			}
			if b.For == 0 {
				p.blocks(b.Blocks)
				continue
			}
			p.line("only %s", media(b.For))
			p.deeper(func() { p.blocks(b.Blocks) })
		case doc.Later:
			p.blocks(b())
		case doc.Section:
			p.line("section %s%s%s", b.ID, flags("nav", b.Nav, "look", b.Look, "level", b.Level, "group", b.Group), " "+heading(b.Head))
			p.deeper(func() { p.blocks(b.Blocks) })
		case doc.Paragraph:
			link := ""
			if b.Link != nil {
				link = b.Link.Text + " -> " + b.Link.To
			}
			p.line("paragraph%s: %s%s", flags("role", b.Role, "tight", b.Tight, "depth", b.Depth, "cut", b.Cut, "lines", b.Lines, "name", b.Name), b.Text, link)
		case doc.List:
			p.line("list%s", flags("role", b.Role, "tight", b.Tight, "loose", b.Loose, "bullets", b.Bullets, "labels", b.Labels, "apart", b.Apart, "cut", b.Cut))
			for _, i := range b.Items {
				p.line("- %s%s", i.Text, flags("name", i.Name, "code", i.Code, "group", i.Group, "colon", i.Colon))
				for _, c := range i.Clauses {
					p.line("  %s: %s", c.Tone, c.Text)
				}
			}
		case doc.Details:
			p.line("details%s %s|%s", flags("look", b.Look), b.Summary, b.Name)
			p.deeper(func() { p.blocks(b.Blocks) })
		case doc.Beside:
			p.line("beside%s", flags("single", b.Single))
			p.deeper(func() { p.blocks(b.Blocks) })
		case doc.Command:
			p.line("command %s | %s", b.Text, b.Line)
		case doc.Image:
			p.line("image %s %s", b.File, b.Title)
		case doc.Figure:
			p.figure(b)
		case doc.Path:
			for _, at := range b.Steps {
				p.line("path %s: %v", at.Where, at.Stops)
			}
		case doc.Table:
			p.table(b)
		case doc.Grid:
			p.line("grid%s", flags("apart", b.Apart, "corner", b.Corner, "least", b.Least, "uncut", b.Uncut))
			p.line("  names | %s", strings.Join(b.Names, " | "))
			for _, c := range b.Columns {
				p.line("  %s%s | %s", c.Head, flags("uncut", c.Uncut), strings.Join(c.Cells, " | "))
			}
			p.deeper(func() { p.blocks(b.Else) })
		case doc.Matrix:
			p.matrix(b)
		default:
			p.line("%T", b)
		}
	}
}

func (p *dumper) figure(f doc.Figure) {
	p.line("figure %s%s: %s", f.ID, flags("look", f.Look), f.Caption)
	for _, k := range f.Keys {
		p.line("  key %d%s %s", k.No, flags("group", k.Group), k.Name)
	}
	for _, d := range f.Drawings {
		switch d := d.(type) {
		case chart.Figure:
			p.line("  drawing %q: %s", d.Title, d.Desc)
		case chart.Topology:
			p.line("  drawing %q: %s", d.Title, d.Desc)
		}
	}
	if f.Behind != nil {
		p.deeper(func() { p.table(*f.Behind) })
	}
}

func (p *dumper) table(t doc.Table) {
	p.line("table %s%s", t.Kind, flags("by", t.By, "label", t.Label, "caption", t.Caption, "headed", t.Headed, "most", t.Most, "least", t.Least))
	for _, c := range t.Columns {
		p.line("  column %q%s", c.Head, flags("only", media(c.For), "plain", c.Plain, "kept", c.Kept, "unheaded", c.Unheaded, "note", c.Note, "title", c.Title, "beside", c.Beside,
			"foreign", c.Foreign, "number", c.Number, "names", c.Names, "row", c.Row, "strong", c.Strong, "bars", c.Bars, "verdict", c.Verdict))
	}
	for _, g := range t.Groups {
		if g.Head.Name+g.Head.Text != "" {
			p.line("  group%s %s", flags("only", media(g.For)), heading(g.Head))
		}
		for _, r := range g.Rows {
			var cells []string
			for _, c := range r.Cells {
				cells = append(cells, cell(c))
			}
			p.line("  row%s | %s", flags("only", media(r.For), "group", r.Group, "out", r.Out, "lead", r.Lead, "sum", r.Sum, "kernel", r.Kernel), strings.Join(cells, " | "))
		}
	}
}

func cell(c doc.Cell) string {
	bar := ""
	if c.Bar != nil {
		bar = fmt.Sprintf("%.3f", *c.Bar)
	}
	text := c.Text + flags("blank", c.Blank, "tight", c.Tight, "strong", c.Strong, "small", c.Small, "interval", c.Interval, "lines", strings.Join(c.Lines, "; "), "bar", bar, "tone", c.Tone,
		"remarks", strings.Join(c.Notes, "; "))
	if c.Terminal != c.Text {
		text += flags("terminal", c.Terminal)
	}
	if c.Scenario != nil {
		text += fmt.Sprintf("%+v", *c.Scenario)
	}
	return text
}

func (p *dumper) matrix(m doc.Matrix) {
	p.line("matrix by=%s caption=%s", m.By, m.Caption)
	for _, w := range m.Works {
		p.line("  work %s %d", w.Name, w.N)
	}
	for _, c := range m.Columns {
		p.line("  column %s, %s -> %s", c.Title, c.Unit, c.To)
	}
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			p.line("  row %s | %s%s %s", g.Head, r.Mode, flags("group", r.Group), r.Out)
			for _, c := range r.Cells {
				p.line("    %s | %s | %s | %s", c.Tone, c.Text, c.CI, c.Words)
			}
		}
	}
}
