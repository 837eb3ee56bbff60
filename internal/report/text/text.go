// Package text writes a document for a terminal.
package text

import (
	"bytes"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/wording"
)

// Options says how to write for a terminal.
type Options struct {
	Width int  // columns; 80 when 0, at least 40
	Color bool // ANSI colours on the verdicts, which are words, too
}

// Columns of a table are two spaces apart, and a verdict never takes more than so many lines.
const (
	gap         = "  "
	verdictRows = 3
)

// Write is a document for a terminal: no line is wider than opt.Width, but for a quoted
// command, and only opt.Color brings in escape sequences.
func Write(d doc.Document, opt Options) []byte {
	p := newPrinter(opt)
	p.wrap("", wording.Cut(d.Title, 4*p.width))
	p.wrap("", strings.Join(d.Particulars, ", "))
	for _, n := range d.Notices {
		p.blank()
		text := n.Text
		if n.Grave {
			text = "! " + text
		}
		p.wrap("", text)
	}
	p.blocks(d.Blocks)
	return p.buf.Bytes()
}

// printer writes lines that fit.
type printer struct {
	buf   bytes.Buffer
	width int
	color bool
}

func newPrinter(opt Options) *printer {
	if opt.Width == 0 {
		opt.Width = 80
	}
	return &printer{width: max(opt.Width, 40), color: opt.Color}
}

// wrap writes text with a first prefix and the other lines indented as far.
func (p *printer) wrap(prefix, text string) {
	indent := wording.Width(prefix)
	for i, l := range wording.Wrap(text, p.width-indent) {
		if i > 0 {
			prefix = strings.Repeat(" ", indent)
		}
		p.buf.WriteString(strings.TrimRight(prefix+l, " ") + "\n")
	}
}

func (p *printer) blank() { p.buf.WriteString("\n") }

// wide writes one line of a table, cut to the width.
func (p *printer) wide(line string) {
	p.buf.WriteString(strings.TrimRight(wording.Cut(strings.TrimRight(line, " "), p.width), " ") + "\n")
}

func (p *printer) blocks(blocks []doc.Block) {
	for _, b := range doc.For(doc.Terminal, blocks) {
		switch b := b.(type) {
		case doc.Section:
			p.heading(b.Head)
			p.blocks(b.Blocks)
		case doc.Paragraph:
			p.paragraph(b)
		case doc.List:
			p.list(b)
		case doc.Table:
			p.table(b)
		case doc.Grid:
			p.grid(b)
		case doc.Command:
			p.blank()
			p.command(b.Line)
		}
	}
}

func (p *printer) heading(h doc.Heading) {
	if h.Untold {
		return
	}
	name, text := h.Name, h.Text
	if h.Of != "" {
		name = h.Of
	}
	if h.Terminal != "" {
		text = h.Terminal
	}
	if name != "" {
		text = strings.TrimSuffix(wording.Cut(name, p.width/2)+": "+text, ": ")
	}
	p.blank()
	p.wrap(strings.Repeat(gap, h.Depth), text)
}

func (p *printer) paragraph(b doc.Paragraph) {
	if b.Role == doc.Lead {
		p.blank()
	}
	text := b.Text
	if b.Name != "" {
		text = b.Name + ": " + text
	}
	if most := b.Cut + b.Lines*p.width; most > 0 {
		text = wording.Cut(text, most)
	}
	p.wrap(strings.Repeat(gap, b.Depth), text)
}

func (p *printer) list(l doc.List) {
	if l.Apart {
		p.blank()
	}
	label := 0
	for _, i := range l.Items {
		label = min(max(label, wording.Width(i.Name)), p.width/4)
	}
	for _, i := range l.Items {
		text := i.Text
		if len(i.Clauses) > 0 {
			text = i.Sentence()
		}
		prefix := gap
		switch {
		case l.Labels:
			prefix = gap + wording.Pad(wording.CutMiddle(i.Name, label), label) + gap
		case i.Colon:
			text = i.Name + ": " + text
		case i.Name != "":
			text = i.Name + " " + text
		}
		if l.Bullets {
			prefix = gap + "- "
		}
		if l.Cut > 0 {
			text = wording.Cut(text, l.Cut)
		}
		p.wrap(prefix, text)
	}
}

// command writes a command so that it can be copied: continued over lines where
// it is too long, or on one line, however long, where quotes forbid that.
func (p *printer) command(c string) {
	p.buf.WriteString("Repeat:\n")
	lines := []string{c}
	if !strings.ContainsAny(c, "'\"\\`") {
		lines = wording.Wrap(c, p.width-4)
	}
	p.buf.WriteString(gap + strings.Join(lines, " \\\n"+gap) + "\n")
}

// table writes the rows of a table with their verdicts beside them.
func (p *printer) table(t doc.Table) {
	shown := t.Visible(doc.Terminal)
	widths := make([]int, len(t.Columns))
	for n, i := range shown {
		if t.Headed && n > 0 {
			widths[i] = wording.Width(head(t.Columns[i]))
		}
		for _, g := range t.Groups {
			for _, r := range g.Rows {
				widths[i] = max(widths[i], wording.Width(r.Cells[i].Text))
			}
		}
		if n == 0 {
			widths[i] = min(max(widths[i], t.Least), p.width/t.Most)
		}
	}
	line := func(text func(i int) string) string {
		out := ""
		for _, i := range shown {
			if !t.Columns[i].Verdict {
				out += gap + wording.Pad(text(i), widths[i])
			}
		}
		return out + gap
	}
	if t.Headed {
		p.blank()
		p.wide(line(func(i int) string {
			if i == shown[0] {
				return ""
			}
			return head(t.Columns[i])
		}))
	}
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			if !r.For.Has(doc.Terminal) {
				continue
			}
			lead := line(func(i int) string {
				if i == shown[0] {
					return wording.CutMiddle(r.Cells[i].Text, widths[i])
				}
				return r.Cells[i].Text
			})
			p.beside(lead, r.Cells[shown[len(shown)-1]])
		}
	}
}

func head(c doc.Column) string {
	if c.Plain != "" {
		return c.Plain
	}
	return c.Head
}

// beside writes the verdict of a row after its values, and the remarks below it. It wraps
// below itself; where too little space is left, it has its own lines.
func (p *printer) beside(lead string, verdict doc.Cell) {
	room := p.width - wording.Width(lead)
	if room < 24 {
		p.wide(lead)
		lead = gap + gap
		room = p.width - len(lead)
	}
	lines := wording.Wrap(wording.Cut(verdict.Terminal, verdictRows*room), room)
	if len(lines) > verdictRows {
		lines = lines[:verdictRows]
		lines[verdictRows-1] = wording.Cut(lines[verdictRows-1]+" ...", room)
	}
	indent := strings.Repeat(" ", wording.Width(lead))
	for i, l := range lines {
		if i > 0 {
			lead = indent
		}
		p.buf.WriteString(strings.TrimRight(lead+p.paint(verdict.Tone, l), " ") + "\n")
	}
	for _, text := range verdict.Notes {
		p.wrap(indent, text)
	}
}

// grid writes as many columns as fit beside each other, then the next ones.
func (p *printer) grid(g doc.Grid) {
	name := max(g.Least, wording.Width(g.Corner))
	for _, n := range g.Names {
		name = max(name, wording.Width(n))
	}
	if !g.Uncut {
		name = min(name, p.width/3)
	}
	widths, heads, all := make([]int, len(g.Columns)), make([]string, len(g.Columns)), len(gap)+name
	for i, c := range g.Columns {
		for _, text := range c.Cells {
			widths[i] = max(widths[i], wording.Width(text))
		}
		if heads[i] = c.Head; !c.Uncut {
			heads[i] = wording.CutMiddle(c.Head, max(p.width/3, widths[i]))
		}
		widths[i] = max(widths[i], wording.Width(heads[i]))
		all += len(gap) + widths[i]
	}
	if g.Else != nil && all > p.width {
		p.blocks(g.Else)
		return
	}
	for from := 0; from < len(g.Columns); {
		to, used := from, len(gap)+name
		for to < len(g.Columns) && (to == from || used+len(gap)+widths[to] <= p.width) {
			used += len(gap) + widths[to]
			to++
		}
		if from > 0 || g.Apart {
			p.blank()
		}
		for i := -1; i < len(g.Names); i++ {
			text := g.Corner
			if i >= 0 {
				text = g.Names[i]
			}
			line := gap + wording.Pad(wording.CutMiddle(text, name), name)
			for j, c := range g.Columns[from:to] {
				text := heads[from+j]
				if i >= 0 {
					text = c.Cells[i]
				}
				line += gap + wording.Pad(text, widths[from+j])
			}
			p.wide(line)
		}
		from = to
	}
}

// paint colours a line of a verdict. Colour never carries information alone.
func (p *printer) paint(t chart.Tone, s string) string {
	if !p.color || s == "" {
		return s
	}
	switch t {
	case chart.Worse:
		return "\x1b[33m" + s + "\x1b[0m"
	case chart.Better:
		return "\x1b[36m" + s + "\x1b[0m"
	case chart.Absent:
		return "\x1b[1m" + s + "\x1b[0m"
	case chart.Unsure:
		return "\x1b[2m" + s + "\x1b[0m"
	}
	return s
}
