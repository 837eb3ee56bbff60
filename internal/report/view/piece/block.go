package piece

import (
	"strings"

	"tare/internal/report/doc"
	"tare/internal/result"
)

// FactTable is facts as a table of names and values.
func FactTable(fs []result.Fact) doc.Table {
	t := doc.Table{Kind: doc.Facts, Columns: []doc.Column{{Row: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, f := range fs {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: f.Name}, {Text: OrUnknown(f.Value)}}})
	}
	return t
}

// CPULegend explains a column of CPU use.
const CPULegend = "CPU is the busy share of the whole machine during the trials, with both endpoints and all other programs."

// MostGap is how many columns of a reason for a missing value a terminal shows.
const MostGap = 600

// ForHTML are blocks for a page.
func ForHTML(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.HTML, Blocks: blocks} }

// ForTerminal are blocks for a terminal.
func ForTerminal(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Terminal, Blocks: blocks} }

// ForPages are blocks for pages and for Markdown.
func ForPages(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Pages, Blocks: blocks} }

// NotKnown lists what could not be read.
func NotKnown(missing []string) []doc.Block {
	var out []doc.Block
	for _, m := range missing {
		out = append(out, doc.Paragraph{Role: doc.Seen, Text: "Not known: " + m, Depth: 2, Cut: MostGap})
	}
	return out
}

// Plain is a table of text.
func Plain(heads ...string) *doc.Table {
	t := &doc.Table{Kind: doc.Figures, Groups: []doc.Group{{}}}
	for i, head := range heads {
		t.Columns = append(t.Columns, doc.Column{Head: head, Row: i == 0, Names: true})
	}
	return t
}

// AddRow adds a row of text.
func AddRow(t *doc.Table, cells ...string) {
	row := doc.Row{}
	for _, text := range cells {
		row.Cells = append(row.Cells, doc.Cell{Text: text})
	}
	t.Groups[0].Rows = append(t.Groups[0].Rows, row)
}

// WithInterval is the note of a column of values with their intervals.
const WithInterval = "(95 % interval)"

// InOneLine are particulars as one paragraph.
func InOneLine(particulars []string) doc.Paragraph {
	return doc.Paragraph{Text: Capital(strings.Join(particulars, ", ") + ".")}
}
