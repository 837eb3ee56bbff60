package section

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/wording"
)

// The legends of long reports.
const comparedLegend = "A ratio is that of A to B, the mean over the complete blocks; \"missing\" counts incomplete blocks. " +
	"p is adjusted over the comparisons in one metric."

// Comparisons are the comparisons of the study.
func Comparisons(b *model.Builder) []doc.Block {
	if len(b.Comparisons) == 0 {
		return nil
	}
	var brief []doc.Block
	t := doc.Table{Kind: doc.Study, By: "comparisons", Columns: []doc.Column{
		{Head: "Metric", Row: true},
		{Head: "A", Note: piece.WithInterval, Number: true}, {Head: "B", Note: piece.WithInterval, Number: true},
		{Head: "Ratio", Note: piece.WithInterval, Number: true}, {Head: "Verdict", Verdict: true},
		{Head: "p", Title: "Probability, adjusted over the comparisons in one metric by Holm's method", Number: true},
		{Head: "Detectable", Title: model.Smallest, Number: true},
		{Head: "n", Title: "Complete blocks", Number: true},
	}}
	for _, c := range b.Comparisons {
		brief = append(brief, summary(c)...)
		t.Groups = append(t.Groups, group(c))
	}
	legend := doc.Paragraph{Role: doc.Legend, Text: comparedLegend}
	return []doc.Block{doc.Section{ID: "comparisons", Head: doc.Heading{Text: "Comparisons"}, Nav: "Comparisons",
		Blocks: []doc.Block{piece.ForTerminal(brief...), piece.ForHTML(legend), piece.ForHTML(t)}}}
}

// group is a comparison in all its metrics.
func group(c model.Comparison) doc.Group {
	g := doc.Group{Head: doc.Heading{Name: c.ID}}
	for _, note := range []string{c.Title, c.Where} {
		if note != "" {
			g.Head.Notes = append(g.Head.Notes, note)
		}
	}
	none := doc.Cell{Text: wording.Unknown}
	if len(c.Lines) == 0 {
		g.Rows = []doc.Row{{Out: true, Cells: []doc.Cell{none, none, none, none, {Text: c.Without(), Tone: chart.Absent}, none, none, none}}}
	}
	for _, l := range c.Lines {
		g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{
			{Text: l.Heading()}, {Text: l.Value(l.A)}, {Text: l.Value(l.B)}, {Text: wording.Ratio(l.Ratio, l.RatioCI)},
			{Text: l.BrieflyJudged(), Tone: l.Tone()}, {Text: wording.P(l.P)}, {Text: l.DetectableText()}, {Text: l.Count()},
		}})
	}
	return g
}

// summary describes a comparison for a terminal: the main metric with its values, the others
// with a word.
func summary(c model.Comparison) []doc.Block {
	out := []doc.Block{doc.Paragraph{Text: c.Heading(), Depth: 1, Lines: 4}}
	if len(c.Lines) == 0 {
		out = append(out, doc.Paragraph{Text: c.Without(), Depth: 2})
	}
	var words []string
	for i, l := range c.Lines {
		switch {
		case i == 0 || l.Known.Primary:
			out = append(out, doc.Paragraph{Text: piece.Noun(l.Known) + " " + l.Figures() + " in " + l.Blocks() + "; " + l.InFull(), Depth: 2})
		case !l.Known.Detail && l.Ratio != nil:
			words = append(words, l.Known.Name+" "+wording.BareRatio(*l.Ratio)+" "+wording.Word(l.Verdict))
		}
	}
	if len(words) > 0 {
		out = append(out, doc.Paragraph{Text: strings.Join(words, "; "), Depth: 2})
	}
	return out
}
