// Package ranking is the document of numbers without a baseline: for each metric the best mode first.
package ranking

import (
	"fmt"
	"slices"

	"tare/internal/analysis/verdict"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Document is the rankings of numbers without a baseline as a document: a table for each
// metric, the best mode first, and which modes cannot be told apart.
func Document(b *model.Builder) doc.Document {
	d := doc.Document{Title: b.Title, Description: b.Description, Generator: b.Run.Tare.Version, Particulars: model.Particulars(b.View)}
	d.Blocks = append(d.Blocks, doc.Only{For: doc.Markdown, Blocks: []doc.Block{piece.InOneLine(d.Particulars)}})
	for _, w := range b.Workloads {
		for _, t := range w.Tables {
			media := doc.Media(0)
			if t.Spared() {
				media = doc.Pages
			}
			d.Blocks = append(d.Blocks, doc.Only{For: media, Blocks: []doc.Block{ranked(t, b.AnchorOf(t))}})
		}
	}
	if notes := groupedWarnings(b.Run); len(notes) > 0 {
		d.Blocks = append(d.Blocks, doc.Section{ID: "warnings", Head: doc.Heading{Text: "Warnings"}, Nav: "Warnings", Blocks: []doc.Block{
			doc.List{Role: doc.Warning, Bullets: true, Items: notes},
		}})
	}
	return d
}

// groupedWarnings are the warnings, those with one code as one.
func groupedWarnings(run result.Run) (out []doc.Item) {
	for _, g := range model.Grouped(run) {
		out = append(out, doc.Item{Text: doc.Note{About: g.Modes, Text: g.Text}.String(), Code: string(g.Code)})
	}
	return out
}

// ranked is a table as a ranking.
func ranked(t model.Table, anchor string) doc.Block {
	r := ranking(t)
	head := doc.Heading{Name: t.Workload, Text: t.Metric.Title, Unit: t.Unit(), Small: piece.Direction(t.Metric), Terminal: t.Inline()}
	if head.Small != "" {
		head.Terminal += "; " + head.Small
	}
	s := doc.Section{ID: anchor, Look: doc.Metric, Head: head, Nav: t.Workload + " " + piece.Noun(t.Metric)}
	rows := inOrder(t, r)
	s.Blocks = append(s.Blocks, piece.ForTerminal(rankedGrid(t, rows)), piece.ForPages(rankedTable(t, anchor, rows)))
	for _, text := range append(rankNotes(t, r), model.UnrankedNotes(r)...) {
		s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: text, Depth: 1})
	}
	return s
}

// ranking is the ranking of all modes of a table, or one with the reason why there is none.
func ranking(t model.Table) result.Ranking {
	for _, r := range t.Rankings {
		if r.Baseline == "" {
			return r
		}
	}
	n := 0
	for _, r := range t.Rows() {
		if r.Cell != nil {
			n++
		}
	}
	why := wording.Count(n, "mode has", "modes have") + " a value, and a ranking takes more than two"
	if verdict.Uncompared(t.Metric.Name) {
		why = "one exchange decides a maximum"
	}
	return result.Ranking{Reason: why}
}

// inOrder are the rows of a table that have a value: those ranked, the best first, then the
// others in their order.
func inOrder(t model.Table, r result.Ranking) (out []model.Row) {
	for _, m := range r.Modes {
		if own, ok := t.Of(m.Mode); ok && own.Cell != nil {
			out = append(out, own)
		}
	}
	ranked := map[string]bool{}
	for _, own := range out {
		ranked[own.Mode.ID] = true
	}
	for _, own := range t.Rows() {
		if own.Cell != nil && !ranked[own.Mode.ID] {
			out = append(out, own)
		}
	}
	return out
}

// rankNotes say which neighbours and which sets of modes cannot be told apart.
func rankNotes(t model.Table, r result.Ranking) []string {
	if r.Reason != "" {
		return []string{"There is no order: " + r.Reason + "."}
	}
	var out []string
	if ties, all := neighbours(r.Modes); ties > 0 {
		out = append(out, fmt.Sprintf("%d of the %d pairs of neighbours in this order cannot be told apart.", ties, all))
	}
	text := fmt.Sprintf("%s. Of all %d pairs, compared with Holm's correction, %d can be told apart", model.TiesMeaning, r.Pairs, r.Apart)
	if piece.Finite(r.Detectable) {
		text += "; in a typical pair a difference of " + piece.Change(*r.Detectable) + " would be found"
	}
	return append(out, t.TieText(r), text+".")
}

// neighbours counts the pairs of modes next to each other in a ranking, and those of them
// that cannot be told apart.
func neighbours(modes []result.Ranked) (ties, all int) {
	t := model.Table{Ties: model.TiesOf([]result.Ranking{{Modes: modes}})}
	for i := 1; i < len(modes); i++ {
		all++
		if tied, known := t.Tied(modes[i-1].Mode, modes[i].Mode); tied && known {
			ties++
		}
	}
	return ties, all
}

// medianOf is the median of a row's values.
func medianOf(t model.Table, mode string) string {
	for _, r := range t.Rankings {
		i := slices.IndexFunc(r.Modes, func(m result.Ranked) bool { return m.Mode == mode })
		if i >= 0 && piece.Finite(r.Modes[i].Median) {
			return t.Scale.Number(*r.Modes[i].Median)
		}
	}
	return wording.Unknown
}

// rankedGrid is a ranking for a terminal.
func rankedGrid(t model.Table, rows []model.Row) doc.Grid {
	mean, median, n, letters := doc.GridColumn{Head: "mean " + piece.WithInterval}, doc.GridColumn{Head: "median"}, doc.GridColumn{Head: "n"}, doc.GridColumn{Head: model.TiesHead}
	g := doc.Grid{Apart: true}
	for _, r := range rows {
		g.Names = append(g.Names, r.Mode.ID)
		mean.Cells = append(mean.Cells, r.Value(t.Scale))
		median.Cells = append(median.Cells, medianOf(t, r.Mode.ID))
		n.Cells = append(n.Cells, r.N())
		letters.Cells = append(letters.Cells, t.Letters(r.Mode.ID))
	}
	g.Columns = []doc.GridColumn{mean, median, n, letters}
	return g
}

// rankedTable is a ranking for a page.
func rankedTable(t model.Table, anchor string, rows []model.Row) doc.Table {
	out := doc.Table{Kind: doc.Figures, By: anchor, Caption: t.Workload + ": " + t.Inline(), Columns: []doc.Column{
		{Head: "Mode", Row: true, Names: true},
		{Head: "Mean", Note: piece.WithInterval, Plain: "mean " + piece.WithInterval, Number: true},
		{Head: "Median", Number: true},
		{Head: "n", Title: "Values", Number: true},
		{Head: piece.Capital(model.TiesHead), Title: model.TiesMeaning},
	}}
	g := doc.Group{}
	for _, r := range rows {
		g.Rows = append(g.Rows, doc.Row{Group: r.No, Cells: []doc.Cell{
			{Text: r.Mode.ID}, {Text: r.Value(t.Scale)}, {Text: medianOf(t, r.Mode.ID)}, {Text: r.N()}, {Text: t.Letters(r.Mode.ID)},
		}})
	}
	out.Groups = []doc.Group{g}
	return out
}
