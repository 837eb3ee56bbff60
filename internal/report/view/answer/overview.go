// Package answer is the first screen of a run: every mode by the main metrics, as changes, with the answer in a sentence; and
// the modes by all further metrics.
package answer

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Overview is the first screen: every mode by the main metrics, as changes.
func Overview(b *model.Builder, on doc.Media) doc.Overview {
	columns := mainColumns(b)
	o := withTies(changesOf(b, columns), columns)
	o.By, o.Title, o.Measured, o.Page, o.Command = "answer", b.Title, model.MeasuredIn(b.View), b.Page, b.Full
	o.Notes, o.Absent = model.OverviewNotes(b.View), model.AbsentNotes(b.Run.Modes)
	o.Sentence = conclusion(b, model.FamiliesOf(b.Input), columns)
	if !slices.ContainsFunc(b.Modes, func(m result.Mode) bool { return strings.HasPrefix(o.Sentence, m.ID+" ") }) {
		o.Sentence = piece.Capital(o.Sentence)
	}
	if n := len(model.Grouped(b.Run)) - len(model.BiasNotes(b.Run)); n > 0 {
		o.Others = append(o.Others, wording.Count(n, "further warning", "further warnings"))
	}
	shown := 0
	o.Explanations = elsewhere(b, columns)
	if len(columns) > 0 && !columns[leading(columns)].load { // else they are the sentence
		o.Explanations = append(o.Explanations, kneeNotes(b)...)
	}
	o.Explanations = append(o.Explanations, ownNotes(b)...)
	o.Explanations = append(o.Explanations, sensitivityNotes(b, columns)...)
	if on != doc.HTML { // a page has a section of them
		compared := comparisonNotes(b)
		o.Explanations, shown = append(o.Explanations, compared...), len(compared)
	}
	if on != doc.Terminal { // the others have the notices at the top
		o.Notes = slices.DeleteFunc(o.Notes, func(n doc.Note) bool {
			return slices.ContainsFunc(b.Notices, func(top doc.Notice) bool { return top.Text == n.Text })
		})
	}
	if n := len(b.Comparisons) - shown; n > 0 {
		o.Others = append(o.Others, wording.Count(n, "comparison", "comparisons"))
	}
	return o
}

// changesOf is every mode by some metrics, as changes, with what explains them.
func changesOf(b *model.Builder, columns []mainColumn) doc.Overview {
	families := model.FamiliesOf(b.Input)
	o := doc.Overview{Head: overviewHead(families)}
	for _, c := range columns {
		o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.name, Metric: piece.ShortTitle(c.Metric), Rank: c.rank, To: b.AnchorOf(c.Table), Legend: c.TimeLegend(c.Metric)})
	}
	for _, f := range families {
		g := doc.OverviewGroup{Name: f.Heading(len(families))}
		for _, m := range f.Modes {
			g.Rows = append(g.Rows, overviewRow(b, m, columns))
		}
		o.Groups = append(o.Groups, g)
	}
	o.Legend = model.OverviewLegend(o, b.Run.Cells)
	return o
}

// overviewHead heads the column of modes by what they are compared with.
func overviewHead(families []model.Family) string {
	base := ""
	for _, f := range families {
		if !f.Compared() {
			continue
		}
		if base != "" {
			return "" // the first row of each group
		}
		base = f.Base
	}
	if base == "" {
		return ""
	}
	return "against " + base
}

func overviewRow(b *model.Builder, m result.Mode, columns []mainColumn) doc.OverviewRow {
	out := doc.OverviewRow{Mode: m.ID, Group: b.Numbers[m.ID]}
	if model.Unmeasured(m) {
		out.Out = wording.Cut(string(m.Status), 20)
		return out
	}
	for _, c := range columns {
		r, ok := c.Of(m.ID)
		if !ok {
			r = model.Row{Mode: m}
		}
		out.Cells = append(out.Cells, overviewCell(r, c))
	}
	return out
}
