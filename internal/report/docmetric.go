package report

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/say"
)

// The notes and titles of columns.
const (
	withInterval = "(95 % interval)"
	smallest     = "Smallest change that this comparison could have seen"
)

// workloads are the figures of all workloads; a terminal without any is told what became
// of the modes.
func (b *builder) workloads() []doc.Block {
	var out []doc.Block
	for i, w := range b.Workloads {
		out = append(out, b.workload(w, fmt.Sprintf("w%d", i+1)))
	}
	if len(out) == 0 && len(b.Answers) > 0 {
		out = append(out, forTerminal(doc.List{Apart: true, Items: b.items()}))
	}
	return out
}

func (b *builder) workload(w workload, id string) doc.Block {
	s := doc.Section{ID: id, Look: doc.Work, Nav: w.ID, Head: doc.Heading{Name: w.ID, Untold: w.Empty == ""}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	if w.Empty != "" {
		add(doc.Paragraph{Text: w.Empty, Depth: 1})
	}
	var details, rest []doc.Block
	var nouns []string
	var others []table
	for i, t := range w.Tables {
		told := i == 0 || t.Metric.Primary
		if !told && !billed(t.Metric) && t.judged() && !t.spared() {
			others = append(others, t)
		}
		media := doc.Media(0)
		if b.billed(t) {
			if told {
				add(forTerminal(b.metric(t, "", told)))
			}
			continue
		}
		section := b.metric(t, b.anchorOf(t), told)
		switch {
		case t.Metric.Detail && told:
			media = doc.Markdown | doc.Terminal
		case t.Metric.Detail:
			media = doc.Markdown
		case !told:
			media = doc.Pages
		}
		if t.Metric.Detail {
			details, nouns = append(details, section), append(nouns, noun(t.Metric))
		}
		add(doc.Only{For: media, Blocks: []doc.Block{section}})
	}
	add(forTerminal(besides(others)...), forHTML(doc.Later(func() []doc.Block {
		if charts := b.charts(w, id); len(charts) > 0 {
			return []doc.Block{doc.Beside{Blocks: charts}}
		}
		return nil
	})))
	add(b.searches(w, id)...)
	if len(details) > 0 {
		rest = append(rest, doc.Details{Summary: "Further figures: " + strings.Join(nouns, ", "), Blocks: details})
	}
	add(forHTML(append(rest, doc.Later(func() []doc.Block { return b.log(w) }))...))
	return s
}

// metric is one metric of a workload over all modes. A terminal that is told of it sees
// each mode with its verdict.
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
			desc = "The trials that the ratios are of; the table has the figures."
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
				verdict.Terminal = b.tell(r, r.verdict())
			}
			group.Rows = append(group.Rows, doc.Row{Group: r.No, Out: unmeasured(r.Mode) || r.Cell == nil, Lead: 1, Cells: []doc.Cell{
				{Text: r.Mode.ID}, {Text: r.value(t.Scale)}, {Text: r.ratio()}, verdict, {Text: r.p()}, {Text: r.detectable()}, {Text: r.n()},
			}})
		}
		out.Groups = append(out.Groups, group)
	}
	return out
}

// cell is the verdict of a row, for where its ratio stands beside it.
func (r row) cell(s say.Scale) doc.Cell {
	return doc.Cell{Text: r.brieflyJudged(), Tone: r.tone(), Remarks: r.remarks(s)}
}

// tell is the verdict of a row for a terminal, where the reason why a mode was not measured
// is told once.
func (b *builder) tell(r row, verdict string) string {
	if !unmeasured(r.Mode) {
		return verdict
	}
	if b.told[r.Mode.ID+verdict] {
		verdict = string(r.Mode.Status) + ", see above"
	}
	b.told[r.Mode.ID+fate(r.Mode)] = true
	return verdict
}

// judged says that a table has a figure at all.
func (t table) judged() bool {
	return slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil })
}

// spared says that a terminal can do without the table.
func (t table) spared() bool {
	if !t.Metric.Detail {
		return false
	}
	mishaps := t.Metric.Better == "lower" && t.Metric.Unit != "s"
	return !mishaps || !slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// besides are the metrics that stand beside the primary one on a terminal: value, ratio
// and the verdict's word.
func besides(tables []table) []doc.Block {
	if len(tables) == 0 {
		return nil
	}
	g := doc.Grid{Apart: true}
	for _, r := range tables[0].rows() {
		g.Least = max(g.Least, say.Width(r.Mode.ID))
		if !unmeasured(r.Mode) {
			g.Names = append(g.Names, r.Mode.ID)
		}
	}
	for _, t := range tables {
		c := doc.GridColumn{Head: columnHead(t), Uncut: true}
		for _, r := range t.rows() {
			if !unmeasured(r.Mode) {
				c.Cells = append(c.Cells, r.brief(t))
			}
		}
		g.Columns = append(g.Columns, c)
	}
	out := []doc.Block{g}
	for _, text := range remarked(tables) {
		out = append(out, doc.Paragraph{Text: text, Depth: 1})
	}
	return out
}

func columnHead(t table) string {
	if t.Scale.Unit == "" || t.Scale.Unit == "segments" {
		return say.Cut(t.Metric.Name, 30)
	}
	return say.Cut(t.Metric.Name+", "+t.Scale.Unit, 30)
}

// brief is a row's value, its ratio and a word: "29.3  1.37 worse". Values of a
// column end at the same place.
func (r row) brief(t table) string {
	width := 0
	for _, o := range t.rows() {
		width = max(width, say.Width(o.bare(t)))
	}
	text := right(r.bare(t), width)
	// Without a ratio (a count of 0 has none) there is nothing to judge.
	if r.Cell == nil || r.Cell.Ratio == nil {
		return text
	}
	text += "  " + say.BareRatio(*r.Cell.Ratio)
	if w := say.Word(r.Cell.Verdict); r.Mode.Control && !r.strange() {
		text += " A/A"
	} else if w != "" {
		text += " " + w
	}
	return text
}

// right puts text at the right of so many columns.
func right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-say.Width(s))) + s
}

// bare is a row's value alone.
func (r row) bare(t table) string {
	if r.Cell == nil || r.Cell.Value == nil {
		return say.Unknown
	}
	return say.AtLeast(*r.Cell, t.Scale.Number(*r.Cell.Value))
}

// charts are what a workload has beside its figures: when its trials ran, what went on
// within them, its percentiles and its loss over load.
func (b *builder) charts(w workload, anchor string) []doc.Block {
	var out []doc.Block
	add := func(s shown, behind *doc.Table) {
		out = append(out, s.figure(fmt.Sprintf("%s-g%d", anchor, len(out)+1), w.ID, behind))
	}
	if len(w.Tables) > 0 {
		main := w.Tables[0]
		if s, ok := main.strip(b.begin); ok {
			add(s, nil) // the table of trials is behind it
		}
		if t, ok := main.timedOf(mostSlots); ok {
			coarse, _ := main.timedOf(mostTimes)
			add(t.chart(), coarse.tableOf().table())
		}
	}
	for _, c := range w.percentileCurves() {
		add(c.chart(), c.tableOf().table())
	}
	if s, ok := w.lossCurve(); ok {
		add(s, nil) // the tables of the search are behind it
	}
	return out
}

// mostTimes is how many times of a window the table behind a series has.
const mostTimes = 12

// figure is a chart with the table behind it, nil where that is elsewhere.
func (s shown) figure(id, workload string, behind *doc.Table) doc.Figure {
	f := doc.Figure{Look: doc.Shown, ID: id, Caption: s.Caption, Behind: behind,
		Drawings: []doc.Drawing{chart.Figure{Title: workload + ": " + s.Plane.Title, Desc: s.Desc, Planes: []chart.Plane{s.Plane}}}}
	for i, name := range s.Keys {
		k := doc.Key{No: i, Name: name}
		if lanes := s.Plane.Lanes; len(lanes) == 1 && i < len(lanes[0].Lines) {
			k.Group = lanes[0].Lines[i].Group
		}
		f.Keys = append(f.Keys, k)
	}
	return f
}

func (b behind) table() *doc.Table {
	t := doc.Table{Kind: doc.Behind, Label: b.Caption, Caption: b.Caption, Columns: []doc.Column{{Head: b.First, Row: true, Names: true}}, Groups: make([]doc.Group, 1)}
	for _, h := range b.Heads {
		t.Columns = append(t.Columns, doc.Column{Head: h, Foreign: true, Number: true})
	}
	for _, r := range b.Rows {
		row := doc.Row{Group: r.Group, Cells: []doc.Cell{{Text: r.Name}}}
		for _, text := range r.Cells {
			row.Cells = append(row.Cells, doc.Cell{Text: text})
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	return &t
}

// searches say how sure modes are of the rates found, and hold what the steps lost over the
// loads.
func (b *builder) searches(w workload, id string) []doc.Block {
	var out []doc.Block
	if len(w.Rates) > 0 {
		t := doc.Table{Kind: doc.Rates, By: id + "-rates", Columns: []doc.Column{{Head: "Mode", Row: true, Names: true}, {Head: "Goal"}, {Head: "Steps at the rate found"}}, Groups: make([]doc.Group, 1)}
		for _, r := range w.Rates {
			t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: r.Mode}, {Text: r.Goal}, {Text: r.Text, Tight: true}}})
		}
		legend := doc.Paragraph{Role: doc.Legend, Text: searchLegend}
		out = append(out, forMarkdown(legend, t), forHTML(doc.Section{ID: t.By, Look: doc.Metric, Head: doc.Heading{Text: "How sure the rates are"}, Blocks: []doc.Block{legend, t}}))
		s := doc.Section{Head: doc.Heading{Text: "Steps at the rates found that lost more than the goal allows:", Depth: 1}}
		for _, text := range w.rateLines() {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: text, Depth: 2})
		}
		if len(s.Blocks) > 0 {
			out = append(out, forTerminal(s))
		}
	}
	for _, c := range w.Curves {
		out = append(out, forPages(doc.Details{Name: c.Caption(), Blocks: []doc.Block{c.table()}}))
	}
	return out
}

func (c curve) table() doc.Table {
	t := doc.Table{Kind: doc.Steps, Label: c.Caption(), Groups: make([]doc.Group, 1), Columns: []doc.Column{
		{Head: "Load, " + c.Unit, Row: true, Number: true}, {Head: "Median loss", Number: true}, {Head: "Most", Number: true}, {Head: "Lossy", Number: true},
		{Head: "Steps", Number: true}, {Head: "Time", Number: true},
		{Head: "Sender short", Title: "Steps in which the sender did not reach the load: they say nothing of the path", Number: true},
	}}
	for _, o := range c.Points {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: o.Load}, {Text: o.Median}, {Text: o.Worst},
			{Text: fmt.Sprint(o.Lossy)}, {Text: fmt.Sprint(o.Steps)}, {Text: o.Seconds}, {Text: fmt.Sprint(o.Limited)}}})
	}
	return t
}

// sweeps are a table for each sweep: a row a load, a column a mode.
func (b *builder) sweeps() []doc.Block {
	var out []doc.Block
	for i, s := range b.Sweeps {
		id := fmt.Sprintf("sweep%d", i)
		const caption = "Loss ratio in percent, with its 95 % interval"
		t := doc.Table{Kind: doc.Sweep, By: id, Caption: caption, Columns: []doc.Column{{Head: "Load", Row: true, Number: true}}, Groups: make([]doc.Group, 1)}
		g := doc.Grid{Uncut: true}
		for c, mode := range s.Modes {
			t.Columns = append(t.Columns, doc.Column{Head: mode, Foreign: true, Number: true})
			column := doc.GridColumn{Head: mode}
			for _, r := range s.Rows {
				column.Cells = append(column.Cells, r.Loss[c])
			}
			g.Columns = append(g.Columns, column)
		}
		for _, r := range s.Rows {
			g.Names = append(g.Names, r.Rate)
			row := doc.Row{Cells: []doc.Cell{{Text: r.Rate}}}
			for _, text := range r.Loss {
				row.Cells = append(row.Cells, doc.Cell{Text: text})
			}
			t.Groups[0].Rows = append(t.Groups[0].Rows, row)
		}
		drawn := sync.OnceValue(func() []doc.Block {
			c, ok := s.chart(b.view)
			if !ok {
				return nil
			}
			return []doc.Block{doc.Beside{Single: true, Blocks: []doc.Block{c.figure(id+"-g", s.ID, nil)}}}
		})
		out = append(out, doc.Section{ID: id, Nav: s.ID + ": loss by load",
			Head:   doc.Heading{Name: s.ID, Text: "loss by load", Terminal: "loss ratio, %; a row a load, a column a mode"},
			Blocks: []doc.Block{forMarkdown(doc.Paragraph{Text: caption + "."}), forHTML(doc.Later(drawn)), forPages(t), forTerminal(g)}})
	}
	return out
}
