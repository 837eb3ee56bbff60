package sheet

import (
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
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
		b.Drawn(func(f model.Named) bool {
			return !f.Stack && f.Path == nil && f.Table.Workload == t.Workload && f.Table.Metric.Name == t.Metric.Name
		}),
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

// tableFigure is the panels of a metric for a page.
func tableFigure(t model.Table, anchor string) []doc.Block {
	f := doc.Figure{ID: anchor + "-"}
	for i, p := range Panels(t) {
		desc := Description(t)
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

func metricTable(b *model.Builder, t model.Table, anchor string, told bool) doc.Table {
	ratios, ps := doc.Markdown, doc.Markdown
	for _, r := range t.Rows() {
		if r.Cell != nil && r.Cell.Ratio != nil {
			ratios = doc.Pages
		}
		if r.Cell != nil && r.Cell.P != nil {
			ps = doc.Pages
		}
	}
	out := doc.Table{Kind: doc.Figures, By: anchor, Caption: t.Workload + ": " + t.Inline(), Most: 3, Columns: []doc.Column{
		{Head: "Mode", Row: true, Names: true},
		{Head: t.Heading(), Note: piece.WithInterval, Plain: "mean " + piece.WithInterval, Number: true},
		{For: ratios, Head: "Ratio", Note: piece.WithInterval, Number: true},
		{Head: "Verdict", Verdict: true},
		{For: ps, Head: "p", Title: "Probability, adjusted over the modes by Holm's method", Number: true},
		{For: ratios, Head: "Detectable", Plain: "smallest seen", Title: model.Smallest, Number: true},
		{For: doc.Pages, Head: "n", Title: "Blocks, or trials where nothing is compared", Number: true},
	}}
	for _, g := range t.Groups {
		group := doc.Group{Head: doc.Heading{Text: g.Heading}}
		for _, r := range g.Rows {
			verdict := r.VerdictCell(t.Scale)
			if told {
				verdict.Terminal = b.TerminalVerdict(r, r.Verdict())
			}
			group.Rows = append(group.Rows, doc.Row{Group: r.No, Out: model.Unmeasured(r.Mode) || r.Cell == nil, Lead: 1, Cells: []doc.Cell{
				{Text: r.Mode.ID}, {Text: r.Value(t.Scale)}, {Text: r.Ratio()}, verdict, {Text: r.P()}, {Text: r.Detectable()}, {Text: r.N()},
			}})
		}
		out.Groups = append(out.Groups, group)
	}
	return withLetters(t, withAdded(t, out))
}

// withAdded adds the column of the times that modes add behind their ratios, where there are any.
func withAdded(t model.Table, out doc.Table) doc.Table {
	if !slices.ContainsFunc(t.Rows(), func(r model.Row) bool { return r.Cell != nil && r.Cell.Added != nil }) {
		return out
	}
	const at = 3
	out.Columns = slices.Insert(out.Columns, at, doc.Column{For: doc.Pages, Head: "Added", Note: piece.WithInterval,
		Title: "How much longer one exchange takes, or how much more CPU time it costs", Number: true})
	for i, g := range t.Groups {
		for j, r := range g.Rows {
			row := &out.Groups[i].Rows[j]
			row.Cells = slices.Insert(row.Cells, at, doc.Cell{Text: r.Added()})
		}
	}
	return out
}

// withLetters adds the column of letters behind the values, where there are any.
func withLetters(t model.Table, out doc.Table) doc.Table {
	if len(t.Ties) == 0 {
		return out
	}
	const at = 2
	out.Headed = true
	out.Columns = slices.Insert(out.Columns, at, doc.Column{Head: piece.Capital(model.TiesHead), Plain: model.TiesHead, Title: model.TiesMeaning})
	for _, g := range out.Groups {
		for i, r := range g.Rows {
			g.Rows[i].Cells = slices.Insert(r.Cells, at, doc.Cell{Text: t.Letters(r.Cells[0].Text)})
		}
	}
	return out
}
