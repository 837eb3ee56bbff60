// Package markdown writes a document as GitHub-flavoured Markdown.
package markdown

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"tare/internal/report/doc"
)

// page collects blocks of Markdown.
type page struct{ bytes.Buffer }

// Write is a document as a page of Markdown.
func Write(d doc.Document) []byte {
	p := &page{}
	p.line("# %s", md(d.Title))
	for _, n := range d.Notices {
		p.line("> **%s**", md(n.Text))
	}
	for _, text := range strings.Split(d.Description, "\n") {
		if text != "" {
			p.line("%s", md(text))
		}
	}
	p.blocks(d.Blocks, 2)
	return p.Bytes()
}

// Blocks is the blocks of a page alone.
func Blocks(blocks []doc.Block) []byte {
	p := &page{}
	p.blocks(blocks, 2)
	return p.Bytes()
}

// line writes a block: a line and an empty one. Arguments are Markdown already.
func (p *page) line(format string, args ...any) { p.item(format+"\n", args...) }

// item writes one line of a list or of a table.
func (p *page) item(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// blocks writes blocks; level is that of the next heading.
func (p *page) blocks(blocks []doc.Block, level int) {
	for _, b := range doc.For(doc.Markdown, blocks) {
		p.block(b, level)
	}
}

func (p *page) block(b doc.Block, level int) {
	switch b := b.(type) {
	case doc.Section:
		p.line("%s %s", strings.Repeat("#", level), heading(b.Head))
		p.blocks(b.Blocks, level+1)
	case doc.Paragraph:
		p.line("%s", paragraph(b))
	case doc.List:
		p.list(b)
	case doc.Table:
		p.table(b)
	case doc.Overview:
		p.overview(b)
	case doc.Command:
		fence := strings.Repeat("`", max(3, longestRun(b.Line, '`')+1))
		p.line("%s\n%s\n%s", fence, b.Line, fence)
	}
}

func paragraph(b doc.Paragraph) string {
	text := md(b.Text)
	if b.Role == doc.Lead {
		return "**" + text + "**"
	}
	return text
}

func heading(h doc.Heading) string {
	text := md(h.Text)
	if h.Unit != "" {
		text = md(h.Text + ", " + h.Unit)
	}
	if h.Name != "" {
		text = strings.TrimSuffix(md(h.Name)+": "+text, ": ")
	}
	if h.Small != "" {
		text += " (" + h.Small + ")"
	}
	return text
}

func (p *page) list(l doc.List) {
	for _, i := range l.Items {
		text := md(i.Text)
		if len(i.Clauses) > 0 {
			text = md(i.Sentence())
		}
		if i.Name != "" {
			between := " "
			if i.Colon {
				between = ": "
			}
			text = "**" + md(i.Name) + "**" + between + text
		}
		p.item("- %s", text)
	}
	if len(l.Items) > 0 {
		p.item("")
	}
}

func (p *page) table(t doc.Table) {
	shown := t.Visible(doc.Markdown)
	head, rule := "|", "|"
	for _, i := range shown {
		c := t.Columns[i]
		head += strings.TrimRight(" "+columnHead(c), " ") + " |"
		if c.Number {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	if len(shown) > 0 {
		p.item("%s", head)
		p.item("%s", rule)
	}
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			line := "|"
			for _, i := range shown {
				text := cell(t.Columns[i], r.Cells[i])
				if !r.Cells[i].Blank {
					line += " " + text
				}
				line += " |"
			}
			p.item("%s", line)
		}
	}
	p.item("")
}

func columnHead(c doc.Column) string {
	text := c.Head
	switch {
	case c.Plain != "":
		text = c.Plain
	case !c.Foreign && !c.Kept:
		text = lower(text)
	}
	if c.Note != "" && c.Plain == "" {
		text += " " + c.Note
	}
	return strings.TrimSpace(md(text))
}

// lower begins a head with a small letter, unless it is an abbreviation.
func lower(head string) string {
	rs := []rune(head)
	if len(rs) < 2 || unicode.IsUpper(rs[1]) {
		return head
	}
	rs[0] = unicode.ToLower(rs[0])
	return string(rs)
}

func cell(c doc.Column, x doc.Cell) string {
	text := strings.Join(append([]string{x.Text}, x.Notes...), "; ")
	if c.Number {
		return number(text)
	}
	return md(text)
}
