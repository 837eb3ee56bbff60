package report

import (
	"fmt"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/say"
	"tare/internal/result"
)

// mostReasons is how many of the kernel's reasons a terminal is shown, and mostGap how many
// columns of why something is not known.
const (
	mostReasons = 3
	mostGap     = 600
)

// cost is what the figures cost in CPU and where that went.
func (b *builder) cost() []doc.Block {
	e := b.Evidence
	if len(e.Bills)+len(e.Breakdowns) == 0 && e.Pass == nil {
		return nil
	}
	s := doc.Section{ID: "cost", Nav: "CPU", Head: doc.Heading{Text: "What it costs in CPU", Terminal: "CPU bill", Untold: len(e.Bills) == 0}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	if n := len(e.Bills); n > 0 {
		add(doc.Only{For: doc.Terminal | doc.Markdown, Blocks: []doc.Block{doc.Paragraph{Role: doc.Legend, Text: e.Bills[0].Legend(), Depth: 1}}},
			forHTML(doc.Paragraph{Role: doc.Legend, Text: e.Bills[n-1].Legend()}))
	}
	for i, bill := range e.Bills {
		add(forTerminal(b.bill(bill)))
		for j, t := range bill.Tables {
			metric := b.metric(t, billAnchor(i+1, j), false)
			metric.Head.Name = bill.Workload
			add(forPages(metric))
		}
		add(forPages(bill.processes()...))
	}
	if e.Pass != nil {
		add(b.pass(*e.Pass)...)
	}
	for i, d := range e.Breakdowns {
		add(b.breakdown(d, fmt.Sprintf("b%d", i+1)))
	}
	return []doc.Block{s}
}

// bill is what a workload cost in each mode, for a terminal: its cost, the CPUs busy, and
// the ratio to the baseline with a word.
func (b *builder) bill(of bill) doc.Section {
	t := doc.Table{Kind: doc.Figures, Most: 3, Columns: []doc.Column{{Row: true}}, Groups: make([]doc.Group, 1)}
	for range of.columns() {
		t.Columns = append(t.Columns, doc.Column{})
	}
	t.Columns = append(t.Columns, doc.Column{Verdict: true})
	for _, r := range of.Cost.rows() {
		row := doc.Row{Cells: []doc.Cell{{Text: r.Mode.ID}}}
		for _, text := range of.figures(r) {
			row.Cells = append(row.Cells, doc.Cell{Text: text})
		}
		if unmeasured(r.Mode) {
			row.For = doc.Pages
		}
		row.Cells = append(row.Cells, doc.Cell{Tone: r.tone(), Remarks: r.remarks(of.Cost.Scale), Terminal: r.judged()})
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	s := doc.Section{Head: doc.Heading{Name: of.Workload, Text: strings.Join(of.columns(), "; "), Depth: 1}, Blocks: []doc.Block{t}}
	for _, own := range of.Processes {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: "of it " + own.Mode + "'s own: " + own.Most, Depth: 1})
	}
	return s
}

// processes lists what the modes' own processes used.
func (b bill) processes() []doc.Block {
	if len(b.Processes) == 0 {
		return nil
	}
	l := doc.List{Role: doc.Own, Tight: true}
	for _, own := range b.Processes {
		l.Items = append(l.Items, doc.Item{Name: own.Mode, Text: own.Text, Colon: true})
	}
	return []doc.Block{doc.Paragraph{Role: doc.Own, Text: processesLegend}, l}
}

// pass is the pass at a fixed rate.
func (b *builder) pass(p pass) []doc.Block {
	s := doc.Section{ID: "pass", Look: doc.Metric, Head: doc.Heading{Text: "At a fixed rate"},
		Blocks: []doc.Block{doc.Paragraph{Text: p.Text, Tight: true, Depth: 1, Cut: mostGap}}}
	if p.ID != "" && p.Empty != "" {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: p.Empty, Depth: 1})
	}
	out := []doc.Block{s}
	for j, t := range p.billed() {
		metric := b.metric(t, billAnchor(0, j), false)
		metric.Level = 4
		out = append(out, forPages(metric))
	}
	var carried []doc.Block
	for j, t := range p.carried() {
		metric := b.metric(t, fmt.Sprintf("r%d", j+1), false)
		metric.Level = 4
		metric.Blocks = metric.Blocks[1:] // every mode's figure is alike
		carried = append(carried, metric)
	}
	out = append(out, forMarkdown(carried...))
	if p.Bill != nil {
		out = append(out, forPages(p.Bill.processes()...), forTerminal(b.bill(*p.Bill)))
	}
	if len(carried) > 0 {
		out = append(out, forHTML(doc.Details{Summary: "What was carried", Blocks: carried}))
	}
	return append(out, forHTML(doc.Later(func() []doc.Block { return b.log(p.workload) })))
}

// breakdown is where the CPU time of a workload went.
func (b *builder) breakdown(d breakdown, anchor string) doc.Block {
	s := doc.Section{ID: anchor, Look: doc.Metric, Head: doc.Heading{Name: d.Workload, Text: lower(d.title()), Tight: true}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	for _, m := range d.Missing {
		add(doc.Paragraph{Role: doc.Missing, Text: m, Depth: 1, Cut: mostGap})
	}
	if len(d.Modes) == 0 {
		return s
	}
	fine := d.finer()
	add(b.drawn(func(f named) bool { return f.Stack && f.Table.Workload == d.Workload }),
		forHTML(doc.Later(func() []doc.Block { return fine.drawing(anchor) })),
		forPages(fine.table(anchor)), forTerminal(d.grid()),
		doc.Paragraph{Role: doc.Seen, Text: d.unknown(), Tight: true, Depth: 1})
	if folded := d.Folded(); len(folded) > 0 {
		const head = "Folded stacks, for a flame graph"
		l := doc.List{}
		for _, f := range folded {
			l.Items = append(l.Items, doc.Item{Text: f})
		}
		add(forMarkdown(doc.Paragraph{Text: head + ":"}, l), forHTML(doc.Details{Summary: head, Blocks: []doc.Block{l}}))
	}
	return s
}

// drawing is the stacked bars of a breakdown.
func (b breakdown) drawing(anchor string) []doc.Block {
	f, _ := b.figure()
	out := doc.Figure{ID: anchor + "-f"}
	keys, _ := b.keys()
	for i, name := range keys {
		out.Keys = append(out.Keys, doc.Key{No: i, Name: name})
	}
	out.Keys = append(out.Keys, doc.Key{No: chart.Unsorted, Name: result.Unclassified})
	for _, p := range f.Panels {
		out.Drawings = append(out.Drawings, chart.Figure{Title: b.Workload + ": " + p.Title, Desc: f.Desc, Panels: []chart.Panel{p}})
	}
	return []doc.Block{out}
}

func (b breakdown) table(anchor string) doc.Table {
	t := doc.Table{Kind: doc.Breakdown, By: anchor, Caption: "CPU time, " + b.Unit + " " + withInterval, Columns: []doc.Column{{Head: "Component", Row: true}}, Groups: make([]doc.Group, 1)}
	for _, m := range b.Modes {
		t.Columns = append(t.Columns, doc.Column{Head: m.Mode, Foreign: true, Number: true})
		if m.Base != "" {
			t.Columns = append(t.Columns, doc.Column{Head: "beside", Beside: m.Base, Number: true})
		}
	}
	for i, r := range append(b.Rows, b.all()) {
		row := doc.Row{Sum: i == len(b.Rows), Cells: []doc.Cell{{Text: r.Name}}}
		for j, c := range r.Cells {
			value := doc.Cell{Text: b.number(c.Value)}
			if c.CI != nil {
				value.Interval = b.number(c.CI[0]) + "-" + b.number(c.CI[1])
			}
			row.Cells = append(row.Cells, value)
			if b.Modes[j].Base == "" {
				continue
			}
			diff := doc.Cell{Text: b.diff(c)}
			if b.apart(r, j) {
				switch {
				case strings.HasPrefix(diff.Text, "+"):
					diff.Tone = chart.Worse
				case strings.HasPrefix(diff.Text, "-"):
					diff.Tone = chart.Better
				}
			}
			row.Cells = append(row.Cells, diff)
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, row)
	}
	return t
}

// grid is the components that differ, side by side with the baseline.
func (b breakdown) grid() doc.Grid {
	var g doc.Grid
	rows := b.short()
	for _, r := range rows {
		g.Names = append(g.Names, r.Name)
	}
	for j, m := range b.Modes {
		value, diff := 0, 0
		for _, r := range rows {
			value, diff = max(value, say.Width(b.number(r.Cells[j].Value))), max(diff, say.Width(b.diff(r.Cells[j])))
		}
		c := doc.GridColumn{Head: m.Mode}
		for _, r := range rows {
			text := right(b.number(r.Cells[j].Value), value)
			if diff > 0 {
				text += " " + right(b.diff(r.Cells[j]), diff)
			}
			c.Cells = append(c.Cells, text)
		}
		g.Columns = append(g.Columns, c)
	}
	return g
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// notKnown are what could not be read.
func notKnown(missing []string) []doc.Block {
	var out []doc.Block
	for _, m := range missing {
		out = append(out, doc.Paragraph{Role: doc.Seen, Text: "Not known: " + m, Depth: 2, Cut: mostGap})
	}
	return out
}

// losses say where datagrams died; a terminal is told of modes that lost alike together.
func (b *builder) losses() []doc.Block {
	var blocks []doc.Block
	for i, t := range b.Evidence.Losses {
		s := doc.Section{ID: fmt.Sprintf("l%d", i+1), Look: doc.Metric, Head: doc.Heading{Name: t.Workload, Untold: true}}
		brief := []doc.Block{doc.Paragraph{Text: t.Workload, Depth: 1}}
		var told gaps
		var reasons []doc.Block
		for _, r := range t.Rows {
			text := r.words()
			if some := r.reasons(mostReasons); some != "" {
				text += "; in the kernel's words " + some
			}
			told.add(r.Mode, text)
			if all := r.reasons(len(r.Reasons)); all != "" {
				reasons = append(reasons, doc.Paragraph{Text: r.Mode + ", in the kernel's words: " + all})
			}
		}
		for _, text := range told.list() {
			brief = append(brief, doc.Paragraph{Text: text, Depth: 2})
		}
		table := t.table(s.ID)
		if len(t.Rows) == 0 {
			table = forMarkdown(doc.Table{})
		}
		s.Blocks = append([]doc.Block{forTerminal(brief...), forPages(table), forMarkdown(reasons...)}, notKnown(t.Missing)...)
		blocks = append(blocks, s)
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "losses", Head: doc.Heading{Text: "Where datagrams died"}, Nav: "Losses",
		Blocks: append([]doc.Block{forPages(doc.Paragraph{Role: doc.Legend, Text: lossLegend})}, blocks...)}}
}

func (t lossTable) table(by string) doc.Block {
	out := doc.Table{Kind: doc.Losses, By: by, Columns: []doc.Column{
		{For: doc.Markdown, Head: "Mode"}, {Head: "Place"}, {Head: "Where", Names: true}, {Head: "Counter", Names: true}, {Head: "Datagrams", Number: true},
		{Head: "Share", Plain: "of what was lost", Number: true}, {For: doc.HTML, Bars: true},
	}}
	blank := doc.Cell{Blank: true}
	for _, r := range t.Rows {
		g := doc.Group{For: doc.HTML, Head: doc.Heading{Name: r.Mode, Small: r.whole(), Tight: true}}
		g.Rows = append(g.Rows, doc.Row{For: doc.Markdown, Cells: []doc.Cell{{Text: r.Mode}, {Text: r.whole()}, blank, blank, {Text: fmt.Sprint(r.Lost)}, blank, blank}})
		for _, l := range r.lines() {
			g.Rows = append(g.Rows, doc.Row{Cells: []doc.Cell{blank, {Text: l.Title}, {Text: l.Where}, {Text: l.Counter}, {Text: fmt.Sprint(l.Count)},
				{Text: r.portion(l.Count), Tight: true}, {Bar: ptrTo(l.Share)}}})
		}
		if text := r.reasons(len(r.Reasons)); text != "" {
			g.Rows = append(g.Rows, doc.Row{For: doc.HTML, Kernel: text})
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}

// limits say who limited TCP; a terminal is told in one line where all modes are alike.
func (b *builder) limits() []doc.Block {
	var blocks []doc.Block
	untold := true
	for i, t := range b.Evidence.Limits {
		s := doc.Section{ID: fmt.Sprintf("t%d", i+1), Look: doc.Metric, Head: doc.Heading{Name: t.Workload, Untold: true}}
		table := doc.Block(t.table(s.ID))
		if len(t.Rows) == 0 {
			table = forMarkdown(doc.Table{})
		}
		s.Blocks = []doc.Block{forPages(table)}
		if t.Workload == result.CostPassID { // its rate is set: the application, by design
			s.Blocks = append(s.Blocks, forPages(notKnown(t.Missing)...))
		} else {
			untold = false
			s.Blocks = append(append(s.Blocks, forTerminal(t.brief()...)), notKnown(t.Missing)...)
		}
		blocks = append(blocks, s)
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "limits", Nav: "TCP", Head: doc.Heading{Text: "Who limited TCP", Terminal: "Who limited TCP, share of the time", Untold: untold},
		Blocks: append([]doc.Block{forPages(doc.Paragraph{Role: doc.Legend, Text: limitLegend})}, blocks...)}}
}

func (t limitTable) table(by string) doc.Table {
	out := doc.Table{Kind: doc.Limits, By: by, Columns: []doc.Column{{Head: "Mode", Row: true, Names: true}}, Groups: make([]doc.Group, 1)}
	for _, name := range limitNames() {
		out.Columns = append(out.Columns, doc.Column{Head: name, Number: true})
	}
	out.Columns = append(out.Columns, doc.Column{Head: "Retransmits, whole trials"})
	for _, r := range t.Rows {
		row := doc.Row{Cells: []doc.Cell{{Text: r.name(t)}}}
		for i, text := range r.Texts() {
			share := 0.0
			if r.Shares[i] != nil {
				share = *r.Shares[i]
			}
			row.Cells = append(row.Cells, doc.Cell{Text: text, Tight: true, Bar: &share})
		}
		row.Cells = append(row.Cells, doc.Cell{Text: r.Again()})
		out.Groups[0].Rows = append(out.Groups[0].Rows, row)
	}
	return out
}

// brief is the table for a terminal.
func (t limitTable) brief() []doc.Block {
	var out []doc.Block
	alike := t.alike()
	switch {
	case !t.known():
		out = append(out, doc.Paragraph{Text: t.Workload, Depth: 1})
	case alike != "":
		out = append(out, doc.Paragraph{Text: t.Workload + ": " + alike, Depth: 1})
	default:
		g := doc.Grid{Corner: t.Workload, Else: []doc.Block{doc.Paragraph{Text: t.Workload, Depth: 1}}}
		names := limitNames()
		for _, name := range names {
			g.Columns = append(g.Columns, doc.GridColumn{Head: name, Uncut: true})
		}
		for _, r := range t.Rows {
			g.Names = append(g.Names, r.name(t))
			var parts []string
			for i, text := range r.Texts() {
				g.Columns[i].Cells = append(g.Columns[i].Cells, right(text, say.Width(names[i])))
				parts = append(parts, names[i]+" "+text)
			}
			g.Else = append(g.Else, doc.Paragraph{Text: r.name(t) + ": " + strings.Join(parts, ", "), Depth: 2})
		}
		out = append(out, g)
	}
	for _, r := range t.Rows {
		if r.Retransmits != "" {
			out = append(out, doc.Paragraph{Text: "retransmits of " + r.name(t) + " over whole trials: " + r.Retransmits, Depth: 2})
		}
	}
	return out
}
