package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	page "tare/internal/report/html"
	"tare/internal/testkit/must"
)

// TestPageStructure holds the page, as a browser reads it, to the document: its headings
// with their ids, every cell of every table, every item of its lists and its contents,
// whatever the strings in them.
func TestPageStructure(t *testing.T) {
	for name, d := range documents() {
		t.Run(name, func(t *testing.T) {
			written := page.Write(d)
			must.True(t, bytes.Equal(written, page.Write(d)), "two pages of one run differ")
			root := must.Get(html.Parse(bytes.NewReader(written)))(t)
			want, got := wanted{}, found{}
			for _, n := range d.Notices {
				want.notices = append(want.notices, squeeze(n.Text))
			}
			want.blocks(d.Blocks)
			got.read(root)
			for _, c := range []struct {
				what      string
				want, got any
			}{
				{"title", squeeze(d.Title + " · tare"), got.title}, {"notices", want.notices, got.notices}, {"contents", want.nav, got.nav}, {"headings", want.heads, got.heads},
				{"tables", want.tables, got.tables}, {"items", want.items, got.items}, {"paragraphs", want.paragraphs, got.paragraphs}, {"drawings", want.drawings, got.drawings},
			} {
				must.EqualFor(t, c.what, c.want, c.got)
			}
			for what := range got.elements {
				must.ContainFor(t, fmt.Sprintf("<%s>", what), " html head meta title style body svg header p h1 bdi nav a div main section h2 h3 span figure ul ol li strong small "+
					"table caption thead tbody tr th td abbr details summary figcaption article code pre b i br footer script ", " "+what+" ")
			}
			policy := "default-src 'none'; style-src " + source(got.style) + "; script-src " + source(got.script)
			must.True(t, got.policy == policy && got.style != "" && got.script != "", "policy %s, want %s", got.policy, policy)
		})
	}
}

func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// squeeze is text without spaces, and with the hyphens and percent signs of text that
// breaks anywhere.
func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("\u00a0", " ", "\u2011", "-").Replace(s)), "")
}

// wanted is what a page is to hold by its document.
type wanted struct {
	notices, nav, heads, items, paragraphs []string
	tables                                 [][][]string
	drawings                               int
}

// legendOf is the legend of the first screen on a page, which tells what differs by less than the margin from what is the same.
func legendOf(o doc.Overview) (out []string) {
	has := func(tone chart.Tone) bool {
		return slices.ContainsFunc(o.Groups, func(g doc.OverviewGroup) bool {
			return slices.ContainsFunc(g.Rows, func(r doc.OverviewRow) bool {
				return slices.ContainsFunc(r.Cells, func(c doc.OverviewCell) bool { return c.Tone == tone })
			})
		})
	}
	for _, text := range o.Legends(o.Columns...) {
		within, same := strings.CutPrefix(text, "~ same ")
		if !same {
			out = append(out, text)
			continue
		}
		if has(chart.Same) || !has(chart.Small) {
			out = append(out, "same "+within)
		}
		if has(chart.Small) {
			out = append(out, "different, but "+within)
		}
	}
	return out
}

func (w *wanted) overview(o doc.Overview) {
	if o.Sentence != "" {
		w.paragraphs = append(w.paragraphs, squeeze(o.Sentence))
	}
	for _, n := range o.Explanations {
		w.paragraphs = append(w.paragraphs, squeeze(n.String()))
	}
	if len(o.Legend) > 0 {
		w.paragraphs = append(w.paragraphs, squeeze(strings.NewReplacer("▼ ", "", "▲ ", "", "? ", "").Replace(strings.Join(legendOf(o), " · "))))
	}
	for _, n := range append(append([]doc.Note(nil), o.Notes...), o.Absent...) {
		w.items = append(w.items, squeeze(n.String()))
	}
	if len(o.Columns) == 0 {
		return
	}
	head := []string{squeeze(o.Head)}
	for _, c := range o.Columns {
		head = append(head, squeeze(c.Workload+c.Metric))
	}
	table := [][]string{head}
	for _, g := range o.Groups {
		if g.Name != "" {
			table = append(table, []string{squeeze(g.Name)})
		}
		for _, r := range g.Rows {
			cells := []string{squeeze(r.Mode)}
			if r.Out != "" {
				cells = append(cells, squeeze(r.Out))
			}
			for _, c := range r.Cells {
				cells = append(cells, squeeze(c.Change+c.Interval+c.Time))
			}
			table = append(table, cells)
		}
	}
	w.tables = append(w.tables, table)
}

func (w *wanted) blocks(blocks []doc.Block) {
	for _, b := range doc.For(doc.HTML, blocks) {
		switch b := b.(type) {
		case doc.Section:
			if b.Nav != "" {
				w.nav = append(w.nav, "#"+b.ID+" "+squeeze(b.Nav))
			}
			w.heads = append(w.heads, b.ID+" "+headText(b.Head))
			w.blocks(b.Blocks)
		case doc.Paragraph:
			text := b.Text
			if b.Link != nil {
				text += b.Link.Text + "."
			}
			w.paragraphs = append(w.paragraphs, squeeze(text))
		case doc.List:
			for _, i := range b.Items {
				text := i.Text
				if len(i.Clauses) > 0 {
					text = i.Sentence()
				}
				w.items = append(w.items, squeeze(i.Name+text+i.Code))
			}
		case doc.Overview:
			w.overview(b)
		case doc.Details:
			w.blocks(b.Blocks)
		case doc.Beside:
			w.blocks(b.Blocks)
		case doc.Command:
			w.paragraphs = append(w.paragraphs, squeeze(b.Text))
		case doc.Figure:
			w.drawings += len(b.Drawings)
			for _, k := range b.Keys {
				w.items = append(w.items, squeeze(k.Name))
			}
			if b.Behind != nil {
				w.tables = append(w.tables, tableText(*b.Behind))
			}
		case doc.Path:
			for _, at := range b.Steps {
				all := at.Where
				for _, s := range at.Stops {
					all += s.Label + s.Facts
				}
				w.items = append(w.items, squeeze(all))
				for _, s := range at.Stops {
					w.items = append(w.items, squeeze(s.Label+s.Facts))
				}
			}
		case doc.Table:
			w.tables = append(w.tables, tableText(b))
		}
	}
}

func headText(h doc.Heading) string {
	text := h.Name
	if h.Name != "" && h.Text != "" {
		text += ":"
	}
	return squeeze(text + h.Text + h.Small + strings.Join(h.Notes, ""))
}

func tableText(t doc.Table) [][]string {
	var out [][]string
	var heads []string
	shown, headed := t.Visible(doc.HTML), false
	for _, i := range shown {
		c := t.Columns[i]
		if !c.Unheaded {
			heads = append(heads, squeeze(c.Head+c.Beside+c.Note))
		}
		headed = headed || c.Head != ""
	}
	if headed {
		out = append(out, heads)
	}
	for _, g := range t.Groups {
		if g.Head.Name+g.Head.Text != "" {
			out = append(out, []string{headText(g.Head)})
		}
		for _, r := range g.Rows {
			switch {
			case !r.For.Has(doc.HTML):
			case r.Kernel != "":
				out = append(out, []string{squeeze("Drop reasons of the kernel: " + r.Kernel)})
			default:
				var row []string
				for n, i := range shown {
					c := r.Cells[i]
					if r.Out && n >= r.Lead && !t.Columns[i].Verdict {
						continue
					}
					text := c.Strong + c.Text + strings.Join(c.Lines, "") + c.Small
					if c.Interval != "" {
						text += "(" + c.Interval + ")"
					}
					if s := c.Scenario; s != nil {
						text += s.Title + s.Mode + "," + s.Workload
						if s.Limits != "" {
							text += ", limited to " + s.Limits
						}
						text += s.Description
					}
					if !r.Out {
						text += strings.Join(c.Notes, "")
					}
					row = append(row, squeeze(text))
				}
				out = append(out, row)
			}
		}
	}
	return out
}

// found is what a parsed page holds.
type found struct {
	title, policy, style, script           string
	notices, nav, heads, items, paragraphs []string
	tables                                 [][][]string
	drawings                               int
	elements                               map[string]bool
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// textOf is the text within an element, without that of drawings.
func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	text := ""
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || c.Data != "svg" {
			text += textOf(c)
		}
	}
	return text
}

func (f *found) read(root *html.Node) {
	f.elements = map[string]bool{}
	var walk func(n *html.Node, in string)
	walk = func(n *html.Node, in string) {
		for c := range n.ChildNodes() {
			if c.Type != html.ElementNode {
				continue
			}
			f.elements[c.Data] = true
			switch class := attr(c, "class"); c.Data {
			case "svg":
				if parent := c.Parent; in == "main" && (parent.Data == "figure" || parent.Data == "div" && attr(parent.Parent, "class") == "panels") {
					f.drawings++
				}
				continue
			case "title":
				f.title = squeeze(textOf(c))
			case "style":
				f.style = textOf(c)
			case "script":
				f.script = textOf(c)
			case "meta":
				if attr(c, "http-equiv") == "Content-Security-Policy" {
					f.policy = attr(c, "content")
				}
			case "a":
				if in == "nav" {
					f.nav = append(f.nav, attr(c, "href")+" "+squeeze(textOf(c)))
				}
			case "h2", "h3":
				f.heads = append(f.heads, attr(c, "id")+" "+squeeze(textOf(c)))
			case "li":
				f.items = append(f.items, squeeze(textOf(c)))
			case "p":
				switch text := squeeze(textOf(c)); {
				case attr(c, "role") == "note":
					f.notices = append(f.notices, text)
				case in == "main" && (strings.HasPrefix(text, "Inthefiguresadotisatrial") || strings.HasPrefix(text, "Theratiotothebaseline,its")):
					f.paragraphs = append(f.paragraphs, "") // what the page says by itself
				case in == "main":
					f.paragraphs = append(f.paragraphs, text)
				}
			case "table":
				f.tables = append(f.tables, rows(c))
				if class == "" {
					f.title += "a table without a class"
				}
			}
			where := in
			if c.Data == "nav" || c.Data == "main" {
				where = c.Data
			}
			walk(c, where)
		}
	}
	walk(root, "")
}

// rows are the cells of a table.
func rows(table *html.Node) [][]string {
	var out [][]string
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		var row []string
		for c := range n.ChildNodes() {
			if c.Data == "td" || c.Data == "th" {
				row = append(row, squeeze(textOf(c)))
			}
		}
		out = append(out, row)
	}
	return out
}
