package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// withInterval is the note of a column of values with their intervals.
const withInterval = "(95 % interval)"

// smallest is the title of a column of detectable changes.
const smallest = "Smallest change that this comparison could show"

// workloads are the values of all workloads; without any, a terminal shows the status of the
// modes.
func (b *builder) workloads() []doc.Block {
	var out []doc.Block
	for i, w := range b.Workloads {
		out = append(out, b.workload(w, fmt.Sprintf("w%d", i+1)))
	}
	if len(out) == 0 && len(b.Modes) > 0 {
		out = append(out, forTerminal(doc.List{Apart: true, Items: b.withoutWorkloads()}))
	}
	return out
}

func (b *builder) workload(w workload, id string) doc.Block {
	s := doc.Section{ID: id, Look: doc.Work, Nav: w.ID, Fold: b.swept(w.ID), Head: doc.Heading{Name: w.ID, Untold: w.Empty == ""}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	if w.Empty != "" {
		add(doc.Paragraph{Text: w.Empty, Depth: 1})
	}
	var details, rest []doc.Block
	var nouns []string
	var others []table
	for i, t := range w.Tables {
		told := i == 0 || t.Metric.Primary
		if !told && !isCPUMetric(t.Metric) && t.judged() && !t.spared() {
			others = append(others, t)
		}
		media := doc.Media(0)
		if b.inCPUCosts(t) {
			if told {
				add(forTerminal(b.metric(t, "", told)))
			}
			continue
		}
		section := b.metric(t, b.anchorOf(t), told)
		if t.Metric.Detail || !told {
			media = doc.Markdown
			if told {
				media |= doc.Terminal
			}
			details, nouns = append(details, section), append(nouns, shortTitle(t.Metric))
		}
		add(doc.Only{For: media, Blocks: []doc.Block{section}})
	}
	add(forTerminal(besides(others)...))
	add(b.searches(w, id)...)
	if len(details) > 0 {
		rest = append(rest, doc.Details{Summary: "Further metrics: " + strings.Join(nouns, ", "), Blocks: details})
	}
	rest = append(rest, doc.Later(func() []doc.Block {
		if charts := b.charts(w, id); len(charts) > 0 {
			return []doc.Block{doc.Details{Summary: "Charts of ", Name: w.ID, Blocks: []doc.Block{doc.Beside{Blocks: charts}}}}
		}
		return nil
	}), doc.Later(func() []doc.Block { return b.log(w) }))
	add(forHTML(rest...))
	return s
}

// metric is one metric of a workload over all modes. A terminal shows each mode with its
// verdict if told is set.
func (b *builder) metric(t table, anchor string, told bool) doc.Section {
	head := doc.Heading{Text: t.Metric.Title, Unit: t.unit(), Small: direction(t.Metric), Of: t.Workload, Terminal: t.inline()}
	if head.Small != "" {
		head.Terminal += "; " + head.Small
	}
	s := doc.Section{ID: anchor, Look: doc.Metric, Head: head, Blocks: []doc.Block{
		forHTML(doc.Later(func() []doc.Block { return t.figure(anchor) })),
		b.drawn(func(f named) bool {
			return !f.Stack && f.Path == nil && f.Table.Workload == t.Workload && f.Table.Metric.Name == t.Metric.Name
		}),
		b.metricTable(t, anchor, told),
	}}
	for _, text := range t.tieNotes() {
		s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: text, Depth: 1})
	}
	if seen := t.seen(); seen != "" {
		s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: seen, Tight: true, Depth: 1})
	}
	return s
}

// figure is the panels of a metric for a page.
func (t table) figure(anchor string) []doc.Block {
	f := doc.Figure{ID: anchor + "-"}
	for i, p := range t.panels() {
		desc := t.description()
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

func (b *builder) metricTable(t table, anchor string, told bool) doc.Table {
	ratios, ps := doc.Markdown, doc.Markdown
	for _, r := range t.rows() {
		if r.Cell != nil && r.Cell.Ratio != nil {
			ratios = doc.Pages
		}
		if r.Cell != nil && r.Cell.P != nil {
			ps = doc.Pages
		}
	}
	out := doc.Table{Kind: doc.Figures, By: anchor, Caption: t.Workload + ": " + t.inline(), Most: 3, Columns: []doc.Column{
		{Head: "Mode", Row: true, Names: true},
		{Head: t.heading(), Note: withInterval, Plain: "mean " + withInterval, Number: true},
		{For: ratios, Head: "Ratio", Note: withInterval, Number: true},
		{Head: "Verdict", Verdict: true},
		{For: ps, Head: "p", Title: "Probability, adjusted over the modes by Holm's method", Number: true},
		{For: ratios, Head: "Detectable", Plain: "smallest seen", Title: smallest, Number: true},
		{For: doc.Pages, Head: "n", Title: "Blocks, or trials where nothing is compared", Number: true},
	}}
	for _, g := range t.Groups {
		group := doc.Group{Head: doc.Heading{Text: g.Heading}}
		for _, r := range g.Rows {
			verdict := r.cell(t.Scale)
			if told {
				verdict.Terminal = b.terminalVerdict(r, r.verdict())
			}
			group.Rows = append(group.Rows, doc.Row{Group: r.No, Out: unmeasured(r.Mode) || r.Cell == nil, Lead: 1, Cells: []doc.Cell{
				{Text: r.Mode.ID}, {Text: r.value(t.Scale)}, {Text: r.ratio()}, verdict, {Text: r.p()}, {Text: r.detectable()}, {Text: r.n()},
			}})
		}
		out.Groups = append(out.Groups, group)
	}
	return t.withLetters(t.withAdded(out))
}

// withAdded adds the column of the times that modes add behind their ratios, where there are any.
func (t table) withAdded(out doc.Table) doc.Table {
	if !slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Added != nil }) {
		return out
	}
	const at = 3
	out.Columns = slices.Insert(out.Columns, at, doc.Column{For: doc.Pages, Head: "Added", Note: withInterval,
		Title: "How much longer one exchange takes, or how much more CPU time it costs", Number: true})
	for i, g := range t.Groups {
		for j, r := range g.Rows {
			row := &out.Groups[i].Rows[j]
			row.Cells = slices.Insert(row.Cells, at, doc.Cell{Text: r.added()})
		}
	}
	return out
}

// cell is the verdict of a row, for where its ratio is beside it.
func (r row) cell(s wording.Scale) doc.Cell {
	return doc.Cell{Text: r.brieflyJudged(), Tone: r.tone(), Notes: r.notes(s)}
}

// terminalVerdict is the verdict of a row for a terminal, which shows the reason of a mode
// without values once.
func (b *builder) terminalVerdict(r row, verdict string) string {
	if !unmeasured(r.Mode) {
		return verdict
	}
	if b.shownReasons[r.Mode.ID+verdict] {
		verdict = string(r.Mode.Status) + ", see above"
	}
	b.shownReasons[r.Mode.ID+fate(r.Mode)] = true
	return verdict
}

// judged reports whether a table has any value.
func (t table) judged() bool {
	return slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil })
}

// spared reports whether a terminal leaves the table out.
func (t table) spared() bool {
	if !t.Metric.Detail {
		return false
	}
	mishaps := t.Metric.Better == "lower" && t.Metric.Unit != "s"
	return !mishaps || !slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// besides are the secondary metrics on a terminal: value, ratio and the verdict's word.
func besides(tables []table) []doc.Block {
	if len(tables) == 0 {
		return nil
	}
	g := doc.Grid{Apart: true}
	for _, r := range tables[0].rows() {
		g.Least = max(g.Least, wording.Width(r.Mode.ID))
		if !unmeasured(r.Mode) {
			g.Names = append(g.Names, r.Mode.ID)
		}
	}
	for _, t := range tables {
		c := doc.GridColumn{Head: columnHead(t), Uncut: true}
		width := 0
		for _, r := range t.rows() {
			width = max(width, wording.Width(r.bare(t)))
		}
		for _, r := range t.rows() {
			if !unmeasured(r.Mode) {
				c.Cells = append(c.Cells, r.summary(t, width))
			}
		}
		g.Columns = append(g.Columns, c)
	}
	out := []doc.Block{g}
	for _, text := range withNotes(tables) {
		out = append(out, doc.Paragraph{Text: text, Depth: 1})
	}
	return out
}

func columnHead(t table) string {
	if t.Scale.Unit == "" || t.Scale.Unit == "segments" {
		return wording.Cut(t.Metric.Name, 30)
	}
	return wording.Cut(t.Metric.Name+", "+t.Scale.Unit, 30)
}

// summary is a row's value, its ratio and a word: "29.3  1.37 worse". The value is aligned to
// the right in so many columns.
func (r row) summary(t table, width int) string {
	text := right(r.bare(t), width)
	// Without a ratio (a count of 0 has none) there is nothing to judge.
	if r.Cell == nil || r.Cell.Ratio == nil {
		return text
	}
	text += "  " + wording.BareRatio(*r.Cell.Ratio)
	if w := wording.Word(r.Cell.Verdict); r.Mode.Control && !r.strange() {
		text += " A/A"
	} else if w != "" {
		text += " " + w
	}
	return text
}

// right aligns text to the right of so many columns.
func right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-wording.Width(s))) + s
}

// bare is a row's value alone.
func (r row) bare(t table) string {
	if r.Cell == nil || r.Cell.Value == nil {
		return wording.Unknown
	}
	return wording.AtLeast(*r.Cell, t.Scale.Number(*r.Cell.Value))
}

// The values of a row as text; say.Unknown where there is none.

func (r row) value(s wording.Scale) string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.AtLeast(*r.Cell, s.Estimate(r.Cell.Value, r.Cell.CI))
}

func (r row) ratio() string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI)
}

func (r row) added() string {
	if r.Cell == nil || r.Cell.Added == nil {
		return wording.Unknown
	}
	return wording.AddedTime(*r.Cell.Added)
}

func (r row) p() string {
	if r.Cell == nil {
		return wording.Unknown
	}
	return wording.P(r.Cell.P)
}

func (r row) n() string {
	if r.Cell == nil || r.Cell.N == 0 {
		return wording.Unknown
	}
	return fmt.Sprint(r.Cell.N)
}

func (r row) detectable() string {
	if r.Cell == nil || r.Cell.Detectable == nil {
		return wording.Unknown
	}
	return change(*r.Cell.Detectable)
}

// change formats the smallest change that could have been seen; very large values are shown as
// a bound.
func change(d float64) string {
	if d > 10 {
		return "> 1000 %"
	}
	if d < 0.0005 {
		return "< 0.1 %"
	}
	return wording.Percent(d)
}

// seen describes the smallest changes that a table could have shown; empty when unknown.
func (t table) seen() string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, r := range t.rows() {
		if r.Cell != nil && finite(r.Cell.Detectable) {
			lo, hi = min(lo, *r.Cell.Detectable), max(hi, *r.Cell.Detectable)
		}
	}
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return ""
	}
	text := "Smallest change this could show: " + change(lo)
	if a, b := change(lo), change(hi); a != b {
		text += " to " + b + ", depending on the mode"
	}
	return text + "."
}

// direction describes which direction is better; empty when unknown.
func direction(m result.Metric) string {
	if m.Better == "" {
		return ""
	}
	return string(m.Better) + " is better"
}

// heading is a metric with its unit: "Goodput, Gbit/s".
func (t table) heading() string { return t.withUnit(t.Metric.Title) }

// inline is heading as part of a line: "goodput, Gbit/s".
func (t table) inline() string { return t.withUnit(noun(t.Metric)) }

// noun is a metric's title within a sentence. An abbreviation at its start stays: B/op.
func noun(m result.Metric) string {
	title := []rune(m.Title)
	if len(title) > 1 && unicode.IsLower(title[1]) {
		title[0] = unicode.ToLower(title[0])
	}
	return string(title)
}

func (t table) withUnit(title string) string {
	if t.unit() == "" {
		return title
	}
	return title + ", " + t.unit()
}

// unit is the unit behind the title; empty where the title begins with it: CPUs busy.
func (t table) unit() string {
	if strings.HasPrefix(t.Metric.Title, t.Scale.Unit) {
		return ""
	}
	return t.Scale.Unit
}
