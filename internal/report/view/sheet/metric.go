// Package sheet is one metric of a workload over all modes as a section: its table, its panels of dots, and the charts and the
// list of trials that several sections show.
package sheet

import (
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
)

// Metric is one metric of a workload over all modes. A terminal shows each mode with its
// verdict if told is set.
func Metric(b *model.Builder, t model.Table, anchor string, told bool) doc.Section {
	head := doc.Heading{Text: t.Metric.Title, Unit: t.Unit(), Small: piece.Direction(t.Metric), Of: t.Workload, Terminal: t.Inline()}
	if head.Small != "" {
		head.Terminal += "; " + head.Small
	}
	s := doc.Section{ID: anchor, Look: doc.Metric, Head: head, Blocks: []doc.Block{
		piece.ForHTML(doc.Later(func() []doc.Block { return tableFigure(t, anchor) })),
		metricTable(b, t, anchor, told),
	}}
	for _, text := range t.TieNotes() {
		s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: text, Depth: 1})
	}
	if seen := t.Seen(); seen != "" {
		s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: seen, Tight: true, Depth: 1})
	}
	return s
}

// Figure is the trials of a metric as a figure that stands alone; false where there is nothing to draw.
func Figure(t model.Table) (chart.Figure, bool) {
	panels := Panels(t)
	return chart.Figure{Title: t.Workload + ": " + t.Metric.Title, Desc: description(t), Legend: legend(t, len(panels) > 1), Panels: panels}, len(panels) > 0
}

// tableFigure is the panels of a metric for a page.
func tableFigure(t model.Table, anchor string) []doc.Block {
	f := doc.Figure{ID: anchor + "-"}
	for i, p := range Panels(t) {
		desc := description(t)
		if i > 0 {
			desc = "The trials behind the ratios; the table has the values."
		}
		f.Drawings = append(f.Drawings, chart.Figure{Title: t.Workload + ": " + p.Title, Desc: desc, Panels: []chart.Panel{p}})
	}
	if len(f.Drawings) == 0 {
		return nil
	}
	return []doc.Block{f}
}

// metricColumn is a column of the table of a metric, and its cell of a row.
type metricColumn struct {
	shown bool
	doc.Column
	cell func(model.Row) doc.Cell
}

// metricColumns are the columns of the table of a metric; those without a value are not shown.
func metricColumns(b *model.Builder, t model.Table, told bool) []metricColumn {
	has := func(value func(result.Cell) bool) bool {
		return slices.ContainsFunc(t.Rows(), func(r model.Row) bool { return r.Cell != nil && value(*r.Cell) })
	}
	text := func(of func(model.Row) string) func(model.Row) doc.Cell {
		return func(r model.Row) doc.Cell { return doc.Cell{Text: of(r)} }
	}
	ratios := has(func(c result.Cell) bool { return c.Ratio != nil })
	return slices.DeleteFunc([]metricColumn{
		{true, doc.Column{Head: "Mode", Row: true, Names: true}, text(func(r model.Row) string { return r.Mode.ID })},
		{true, doc.Column{Head: t.Heading(), Note: piece.WithInterval, Plain: "mean " + piece.WithInterval, Number: true},
			text(func(r model.Row) string { return r.Value(t.Scale) })},
		{len(t.Ties) > 0, doc.Column{Head: piece.Capital(model.TiesHead), Plain: model.TiesHead, Title: model.TiesMeaning},
			text(func(r model.Row) string { return t.Letters(r.Mode.ID) })},
		{ratios, doc.Column{For: doc.HTML, Head: "Ratio", Note: piece.WithInterval, Number: true}, text(model.Row.Ratio)},
		{has(func(c result.Cell) bool { return c.Added != nil }), doc.Column{For: doc.HTML, Head: "Added", Note: piece.WithInterval,
			Title: "How much longer one exchange takes, or how much more CPU time it costs", Number: true}, text(model.Row.Added)},
		{true, doc.Column{Head: "Verdict", Verdict: true}, func(r model.Row) doc.Cell {
			verdict := r.VerdictCell(t.Scale)
			if told {
				verdict.Terminal = b.TerminalVerdict(r, r.Verdict())
			}
			return verdict
		}},
		{has(func(c result.Cell) bool { return c.P != nil }),
			doc.Column{For: doc.HTML, Head: "p", Title: "Probability, adjusted over the modes by Holm's method", Number: true}, text(model.Row.P)},
		{has(func(c result.Cell) bool { return c.FlipP != nil }),
			doc.Column{For: doc.HTML, Head: "p, sign-flip", Title: "Probability by a test that does not assume normal noise, not adjusted", Number: true}, text(model.Row.FlipP)},
		{ratios, doc.Column{For: doc.HTML, Head: "Detectable", Title: model.Smallest, Number: true}, text(model.Row.Detectable)},
		{true, doc.Column{For: doc.HTML, Head: "n", Title: "Blocks, with the set-ups where some share one, or trials where nothing is compared", Number: true}, text(model.Row.N)},
	}, func(c metricColumn) bool { return !c.shown })
}

func metricTable(b *model.Builder, t model.Table, anchor string, told bool) doc.Table {
	out := doc.Table{Kind: doc.Figures, By: anchor, Caption: t.Workload + ": " + t.Inline(), Most: 3, Headed: len(t.Ties) > 0}
	columns := metricColumns(b, t, told)
	for _, c := range columns {
		out.Columns = append(out.Columns, c.Column)
	}
	for _, g := range t.Groups {
		group := doc.Group{Head: doc.Heading{Text: g.Heading}}
		for _, r := range g.Rows {
			row := doc.Row{Group: r.No, Out: model.Unmeasured(r.Mode) || r.Cell == nil, Lead: 1, Cells: make([]doc.Cell, 0, len(columns))}
			for _, c := range columns {
				row.Cells = append(row.Cells, c.cell(r))
			}
			group.Rows = append(group.Rows, row)
		}
		out.Groups = append(out.Groups, group)
	}
	return out
}
