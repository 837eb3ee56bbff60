package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/say"
	"tare/internal/result"
)

// scenarios are those of the study, and what each carried.
func (b *builder) scenarios() []doc.Block {
	if len(b.Scenarios) == 0 {
		return nil
	}
	l := doc.List{Labels: true}
	widest := 0
	for _, t := range b.Scenarios {
		for _, r := range t.Rows {
			widest = max(widest, say.Width(r.Scenario.ID))
			l.Items = append(l.Items, doc.Item{Name: r.Scenario.ID, Text: r.what()})
		}
	}
	blocks := []doc.Block{forTerminal(l)}
	for _, t := range b.Scenarios {
		blocks = append(blocks, b.scenarioTable(t, widest))
		if t.cpu() {
			blocks = append(blocks, forMarkdown(doc.Paragraph{Text: cpuLegend}))
		}
		for _, r := range t.Rows {
			if text := r.Scenario.Description; text != "" {
				blocks = append(blocks, forMarkdown(doc.Paragraph{Name: r.Scenario.ID, Text: text}))
			}
		}
	}
	return []doc.Block{doc.Section{ID: "scenarios", Head: doc.Heading{Text: "Scenarios"}, Nav: "Scenarios", Blocks: blocks}}
}

func (b *builder) scenarioTable(t scenarioTable, widest int) doc.Table {
	ratios := doc.Markdown
	if slices.ContainsFunc(t.Rows, func(r scenarioRow) bool { return r.Cell != nil && r.Cell.Ratio != nil }) {
		ratios = doc.Pages
	}
	out := doc.Table{Kind: doc.Study, By: "scenarios", Headed: true, Most: 4, Least: widest, Groups: make([]doc.Group, 1), Columns: []doc.Column{
		{For: doc.HTML | doc.Terminal, Head: "Scenario", Row: true, Names: true},
		{For: doc.Markdown, Strong: true},
		{For: doc.HTML, Unheaded: true},
		{For: doc.Markdown, Head: "Scenario"}, {For: doc.Markdown, Head: "Mode"}, {For: doc.Markdown, Head: "Workload"},
		{Head: t.heading(), Kept: true, Note: withInterval, Number: true},
	}}
	add := func(is bool, c doc.Column) {
		if is {
			out.Columns = append(out.Columns, c)
		}
	}
	add(t.sent(), doc.Column{Head: "Sent", Plain: "sent", Number: true})
	add(t.cpu(), doc.Column{Head: "CPU", Title: cpuLegend, Number: true})
	add(true, doc.Column{For: ratios, Head: "Ratio", Note: withInterval, Number: true})
	add(true, doc.Column{Head: "Verdict", Verdict: true})
	for _, r := range t.Rows {
		verdict := r.cell(t.Scale)
		verdict.Terminal = b.tell(r.row, r.verdict())
		what := doc.Scenario{Title: r.Scenario.Title, Description: r.Scenario.Description, Mode: r.Mode.ID, Workload: r.Scenario.Workload, Limits: limitsOf(r.Mode)}
		if i := slices.IndexFunc(b.Run.Modes, func(m result.Mode) bool { return m.ID == r.Mode.ID }); i >= 0 {
			what.To = fmt.Sprintf("m%d", i)
		}
		row := doc.Row{Out: unmeasured(r.Mode) || r.Cell == nil, Lead: 2, Cells: []doc.Cell{
			{Text: r.Scenario.ID}, {Text: r.Scenario.ID}, {Scenario: &what}, {Text: r.Scenario.Title}, {Text: r.Mode.ID}, {Text: r.Scenario.Workload}, {Text: r.value(t.Scale)},
		}}
		if t.sent() {
			row.Cells = append(row.Cells, doc.Cell{Text: r.sentText(t.Scale)})
		}
		if t.cpu() {
			row.Cells = append(row.Cells, doc.Cell{Text: r.cpuText()})
		}
		row.Cells = append(row.Cells, doc.Cell{Text: r.ratio()}, verdict)
		out.Groups[0].Rows = append(out.Groups[0].Rows, row)
	}
	return out
}

// comparisons are what the study asked to be compared.
func (b *builder) comparisons() []doc.Block {
	if len(b.Comparisons) == 0 {
		return nil
	}
	var brief []doc.Block
	t := doc.Table{Kind: doc.Study, By: "comparisons", Columns: []doc.Column{
		{For: doc.Markdown, Head: "Comparison"}, {Head: "Metric", Row: true},
		{Head: "A", Plain: "A", Note: withInterval, Number: true}, {Head: "B", Plain: "B", Note: withInterval, Number: true},
		{Head: "Ratio", Note: withInterval, Number: true}, {Head: "Verdict", Verdict: true},
		{Head: "p", Title: "Probability, adjusted over the comparisons in one metric by Holm's method", Number: true},
		{Head: "Detectable", Plain: "smallest seen", Title: smallest, Number: true},
		{Head: "n", Title: "Blocks that have all of it", Number: true},
	}}
	for _, c := range b.Comparisons {
		brief = append(brief, c.brief()...)
		t.Groups = append(t.Groups, c.group())
	}
	legend := doc.Paragraph{Role: doc.Legend, Text: comparedLegend}
	return []doc.Block{doc.Section{ID: "comparisons", Head: doc.Heading{Text: "Comparisons"}, Nav: "Comparisons",
		Blocks: []doc.Block{forTerminal(brief...), forHTML(legend), forPages(t), forMarkdown(legend)}}}
}

// group is a comparison in all its metrics.
func (c comparison) group() doc.Group {
	g := doc.Group{For: doc.HTML, Head: doc.Heading{Name: c.ID}}
	for _, note := range []string{c.Title, c.Where} {
		if note != "" {
			g.Head.Notes = append(g.Head.Notes, note)
		}
	}
	none := doc.Cell{Text: say.Unknown}
	if len(c.Lines) == 0 {
		g.Rows = []doc.Row{{Out: true, Cells: []doc.Cell{{Text: c.heading()}, none, none, none, none, {Text: c.without(), Tone: chart.Absent}, none, none, none}}}
	}
	name := c.heading()
	for _, l := range c.Lines {
		g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{
			{Text: name}, {Text: l.heading()}, {Text: l.value(l.A)}, {Text: l.value(l.B)}, {Text: say.Ratio(l.Ratio, l.RatioCI)},
			{Text: l.brieflyJudged(), Tone: l.tone()}, {Text: say.P(l.P)}, {Text: l.detectable()}, {Text: l.count()},
		}})
		name = ""
	}
	return g
}

// brief words a comparison for a terminal: its main metric with its figures, the others in
// a word.
func (c comparison) brief() []doc.Block {
	out := []doc.Block{doc.Paragraph{Text: c.heading(), Depth: 1, Lines: 4}}
	if len(c.Lines) == 0 {
		out = append(out, doc.Paragraph{Text: c.without(), Depth: 2})
	}
	var words []string
	for i, l := range c.Lines {
		switch {
		case i == 0 || l.Known.Primary:
			out = append(out, doc.Paragraph{Text: noun(l.Known) + " " + l.figures() + " in " + l.blocks() + "; " + l.inFull(), Depth: 2})
		case !l.Known.Detail && l.Ratio != nil:
			words = append(words, l.Known.Name+" "+say.BareRatio(*l.Ratio)+" "+say.Word(l.Verdict))
		}
	}
	if len(words) > 0 {
		out = append(out, doc.Paragraph{Text: strings.Join(words, "; "), Depth: 2})
	}
	return out
}
