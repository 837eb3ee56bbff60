package piece

import (
	"tare/internal/report/doc"
	"tare/internal/result"
)

func FactTable(fs []result.Fact) doc.Table {
	t := doc.Table{Kind: doc.Facts, Columns: []doc.Column{{Row: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, f := range fs {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: f.Name}, {Text: OrUnknown(f.Value)}}})
	}
	return t
}

// CpuLegend explains a column of CPU use.
const CpuLegend = "CPU is the busy share of the whole machine during the trials, with both endpoints and all other programs."

// MostGap is how many columns of a reason for a missing value a terminal shows.
const MostGap = 600

// These are blocks for one medium.
func ForHTML(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.HTML, Blocks: blocks} }

func ForMarkdown(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Markdown, Blocks: blocks} }

func ForTerminal(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Terminal, Blocks: blocks} }

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

func AddRow(t *doc.Table, cells ...string) {
	row := doc.Row{}
	for _, text := range cells {
		row.Cells = append(row.Cells, doc.Cell{Text: text})
	}
	t.Groups[0].Rows = append(t.Groups[0].Rows, row)
}

// WithInterval is the note of a column of values with their intervals.
const WithInterval = "(95 % interval)"
