package report

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/report/doc"
	"tare/internal/report/say"
	"tare/internal/result"
)

// builder makes the document of a report: what is shown, in which order and for which
// media is decided here and nowhere else.
type builder struct {
	view
	numbers map[string]int    // of modes, from 1, by which a page finds what belongs to one
	anchors map[string]string // where a metric of a workload is told of
	begin   time.Time
	images  func() []named
	told    map[string]bool // modes with the reason why they were not measured, on a terminal
}

func newBuilder(v view) *builder {
	b := &builder{view: v, numbers: map[string]int{}, anchors: map[string]string{}, begin: began(v), told: map[string]bool{}}
	b.images = sync.OnceValue(func() []named {
		if v.FiguresDir == "" {
			return nil
		}
		return v.figures()
	})
	for i, m := range v.order {
		b.numbers[m] = i + 1
	}
	for i, w := range v.Workloads {
		for j, t := range w.Tables {
			b.anchor(t, fmt.Sprintf("w%d-%d", i+1, j+1))
		}
	}
	for i, bill := range v.Evidence.Bills {
		for j, t := range bill.Tables {
			b.anchor(t, billAnchor(i+1, j))
		}
	}
	if pass := v.Evidence.Pass; pass != nil {
		for j, t := range pass.billed() {
			b.anchor(t, billAnchor(0, j))
		}
	}
	return b
}

// billAnchor is where the j-th table of the i-th bill stands; 0 is that of the pass at
// a fixed rate.
func billAnchor(i, j int) string { return fmt.Sprintf("c%d-%d", i, j+1) }

func (b *builder) anchor(t table, at string) { b.anchors[t.Workload+" "+t.Metric.Name] = at }

func (b *builder) anchorOf(t table) string { return b.anchors[t.Workload+" "+t.Metric.Name] }

// document is the report as blocks.
func (v view) document() doc.Document {
	b := newBuilder(v)
	d := doc.Document{Title: v.Title, Description: v.Description, Generator: v.Run.Tare.Version, Particulars: particulars(v)}
	for _, n := range v.Notices {
		d.Notices = append(d.Notices, doc.Notice{Text: n.Text, Grave: n.Grave})
	}
	add := func(m doc.Media, blocks ...doc.Block) {
		if len(blocks) > 0 {
			d.Blocks = append(d.Blocks, doc.Only{For: m, Blocks: blocks})
		}
	}
	add(doc.Terminal, b.leads()...)
	add(doc.Pages, b.answers()...)
	add(doc.HTML, b.matrix()...)
	add(0, b.scenarios()...)
	add(0, b.comparisons()...)
	add(doc.Markdown, b.warnings()...)
	add(0, b.sweeps()...)
	add(0, b.workloads()...)
	add(0, b.cost()...)
	add(doc.HTML, b.modes()...)
	add(0, b.losses()...)
	add(0, b.limits()...)
	add(0, b.agreements()...)
	add(doc.Markdown, b.modeList()...)
	add(doc.Markdown|doc.Terminal, b.course()...)
	add(doc.Terminal, b.fewLost())
	add(doc.Markdown, b.allLost())
	add(doc.Terminal|doc.HTML, b.warnings()...)
	add(doc.Terminal, b.hosts()...)
	add(doc.Markdown, b.about())
	add(doc.HTML, b.environment()...)
	add(doc.HTML, b.method(), b.lost())
	add(doc.HTML, b.repeat()...)
	return d
}

// These are blocks for one medium.
func forHTML(blocks ...doc.Block) doc.Block     { return doc.Only{For: doc.HTML, Blocks: blocks} }
func forMarkdown(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Markdown, Blocks: blocks} }
func forTerminal(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Terminal, Blocks: blocks} }
func forPages(blocks ...doc.Block) doc.Block    { return doc.Only{For: doc.Pages, Blocks: blocks} }

// drawn are the figures that are as asked, as files beside the page.
func (b *builder) drawn(is func(named) bool) doc.Block {
	return forMarkdown(doc.Later(func() []doc.Block {
		var out []doc.Block
		for _, f := range b.images() {
			if is(f) {
				out = append(out, doc.Image{Title: f.title(), File: path.Join(b.FiguresDir, f.File)})
			}
		}
		return out
	}))
}

// leads are what must be read before the answers.
func (b *builder) leads() []doc.Block {
	var out []doc.Block
	for _, text := range b.Evidence.Lead {
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text, Tight: true})
	}
	return out
}

// items are the answers as those of a list.
func (b *builder) items() []doc.Item {
	var out []doc.Item
	for _, a := range b.Answers {
		i := doc.Item{Name: a.Mode, Text: a.Lead, Group: b.numbers[a.Mode]}
		for _, c := range a.Clauses {
			i.Clauses = append(i.Clauses, doc.Clause{Tone: c.Tone, Text: c.Text})
		}
		out = append(out, i)
	}
	return out
}

func (b *builder) answers() []doc.Block {
	if len(b.Answers) == 0 {
		return nil
	}
	blocks := append(b.leads(), doc.List{Role: doc.Answer, Items: b.items()})
	if n := len(b.Run.Warnings); n > 0 {
		blocks = append(blocks, forHTML(doc.Paragraph{Role: doc.Meta, Text: say.Count(n, "warning bears", "warnings bear") + " on these figures: ",
			Link: &doc.Link{Text: "what to beware of", To: "warnings"}}))
	}
	return []doc.Block{doc.Section{ID: "answer", Head: doc.Heading{Text: "The answer"}, Nav: "Answer", Blocks: blocks}}
}

func (b *builder) warnings() []doc.Block {
	if len(b.Run.Warnings) == 0 {
		return nil
	}
	l := doc.List{Role: doc.Warning, Bullets: true, Cut: 800}
	for _, w := range b.Run.Warnings {
		l.Items = append(l.Items, doc.Item{Text: warning(w), Code: w.Code})
	}
	return []doc.Block{doc.Section{ID: "warnings", Head: doc.Heading{Text: "Warnings"}, Nav: fmt.Sprintf("Warnings (%d)", len(l.Items)), Blocks: []doc.Block{l}}}
}

func (b *builder) agreements() []doc.Block {
	l := doc.List{Loose: true}
	for _, text := range agreements(b.view) {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "tools-two", Head: doc.Heading{Text: "Two tools"}, Blocks: []doc.Block{l}}}
}

// course is what the run decided about itself.
func (b *builder) course() []doc.Block {
	l := doc.List{Tight: true, Bullets: true}
	for _, text := range b.Course {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "course", Head: doc.Heading{Text: "How the run went"}, Blocks: []doc.Block{l}}}
}

// mostLost is how many ruled-out trials a terminal is shown one by one, and mostLostRows how
// many a page.
const (
	mostLost     = 10
	mostLostRows = 200
)

// lostItems are the first trials that do not count, with as many columns of why.
func (b *builder) lostItems(most, reason int) []doc.Item {
	var out []doc.Item
	for _, t := range b.Lost[:min(len(b.Lost), most)] {
		out = append(out, doc.Item{Text: lost(t, reason)})
	}
	return out
}

func (b *builder) fewLost() doc.Block {
	items := b.lostItems(mostLost, 200)
	if more := len(b.Lost) - len(items); more > 0 {
		items = append(items, doc.Item{Text: "and " + say.Count(more, "more", "more")})
	}
	return doc.Section{Head: doc.Heading{Text: "Trials: " + b.Tally.String()}, Blocks: []doc.Block{doc.List{Items: items}}}
}

func (b *builder) allLost() doc.Block {
	return doc.Section{Head: doc.Heading{Text: "Trials"}, Blocks: []doc.Block{
		doc.Paragraph{Text: b.Tally.String()},
		forMarkdown(doc.Later(func() []doc.Block { return []doc.Block{doc.List{Items: b.lostItems(len(b.Lost), 1000)}} })),
	}}
}

func (b *builder) lost() doc.Block {
	text := b.Tally.String() + "."
	if len(b.Lost) == 0 {
		return doc.Section{ID: "trials", Head: doc.Heading{Text: "Trials that do not count"}, Nav: "Trials", Blocks: []doc.Block{doc.Paragraph{Text: text + " Every trial counts."}}}
	}
	blocks := []doc.Block{doc.Paragraph{Text: text}, doc.List{Role: doc.Lost, Items: b.lostItems(mostLostRows, 20000)}}
	if n := len(b.Lost); n > mostLostRows {
		blocks = append(blocks, doc.Paragraph{Role: doc.Seen, Text: fmt.Sprintf("The first %d of %d; trials.ndjson has all.", mostLostRows, n)})
	}
	return doc.Section{ID: "trials", Head: doc.Heading{Text: "Trials that do not count"}, Nav: "Trials", Blocks: blocks}
}

// hosts are what a terminal is told of the run's surroundings.
func (b *builder) hosts() []doc.Block {
	var out []doc.Block
	l := doc.List{Cut: 600}
	for _, h := range alike(b.Run.Hosts) {
		l.Items = append(l.Items, doc.Item{Name: h.Name, Text: facts(h.Facts), Colon: true})
	}
	if len(l.Items) > 0 {
		out = append(out, doc.Section{Head: doc.Heading{Text: "Hosts"}, Blocks: []doc.Block{l}})
	}
	l = doc.List{Cut: 600}
	for _, s := range standingsOf(b.Run.Modes) {
		l.Items = append(l.Items, doc.Item{Name: s.Names(), Text: s.Text(), Colon: true})
	}
	if len(l.Items) > 0 {
		out = append(out, doc.Section{Head: doc.Heading{Text: "Modes"}, Blocks: []doc.Block{l}})
	}
	if b.Command != "" {
		out = append(out, doc.Command{Line: b.Command})
	}
	return out
}

// about is what identifies the run and its surroundings, for a page without columns to
// spare.
func (b *builder) about() doc.Block {
	blocks := []doc.Block{factTable(about(b.view))}
	for _, h := range b.Run.Hosts {
		s := doc.Section{Head: doc.Heading{Text: "Host " + orUnknown(h.Name)}, Blocks: []doc.Block{doc.Paragraph{Text: "Nothing is known."}}}
		if len(h.Facts) > 0 {
			s.Blocks = []doc.Block{factTable(h.Facts)}
		}
		blocks = append(blocks, s)
	}
	if standings := standingsOf(b.Run.Modes); len(standings) > 0 {
		blocks = append(blocks, doc.Section{Head: doc.Heading{Text: "What the modes stood on"}, Blocks: []doc.Block{standingTable(standings)}})
	}
	if b.Command != "" {
		blocks = append(blocks, doc.Section{Head: doc.Heading{Text: "How to repeat"}, Blocks: []doc.Block{doc.Command{Line: b.Command}}})
	}
	return doc.Section{Head: doc.Heading{Text: "This run"}, Blocks: blocks}
}

func factTable(fs []result.Fact) doc.Table {
	t := doc.Table{Kind: doc.Facts, Columns: []doc.Column{{Row: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, f := range fs {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: f.Name}, {Text: orUnknown(f.Value)}}})
	}
	return t
}

func standingTable(all []standing) doc.Table {
	t := doc.Table{Kind: doc.Facts, By: "standings", Caption: "Engines and limits of the modes",
		Columns: []doc.Column{{Row: true, Names: true, Strong: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, s := range all {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: s.Names()}, {Text: s.Text()}}})
	}
	return t
}

// environment is where the run was, with a column for each host.
func (b *builder) environment() []doc.Block {
	var blocks []doc.Block
	if len(b.Run.Hosts) > 0 {
		blocks = append(blocks, doc.Section{ID: "hosts", Head: doc.Heading{Text: "Hosts"}, Blocks: []doc.Block{hostTable(b.Run.Hosts)}})
	}
	if standings := standingsOf(b.Run.Modes); len(standings) > 0 {
		blocks = append(blocks, doc.Section{ID: "standings", Head: doc.Heading{Text: "What the modes stood on"}, Blocks: []doc.Block{standingTable(standings)}})
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "environment", Head: doc.Heading{Text: "Environment"}, Nav: "Environment", Blocks: blocks}}
}

// hostTable is the facts of all hosts, in the order in which they first appear.
func hostTable(hosts []result.Host) doc.Table {
	t := doc.Table{Kind: doc.Facts, By: "hosts", Caption: "What the hosts were", Columns: []doc.Column{{Head: "Fact", Row: true}}, Groups: make([]doc.Group, 1)}
	rows := &t.Groups[0].Rows
	for i, h := range hosts {
		t.Columns = append(t.Columns, doc.Column{Head: h.Name, Foreign: true})
		for _, f := range h.Facts {
			at := slices.IndexFunc(*rows, func(r doc.Row) bool { return r.Cells[0].Text == f.Name })
			if at < 0 {
				at = len(*rows)
				*rows = append(*rows, doc.Row{Cells: append([]doc.Cell{{Text: f.Name}}, slices.Repeat([]doc.Cell{{Text: say.Unknown}}, len(hosts))...)})
			}
			(*rows)[at].Cells[i+1].Text = f.Value
		}
	}
	return t
}

// method says how the figures came about.
func (b *builder) method() doc.Block {
	var blocks []doc.Block
	for _, text := range methodText(b.view) {
		blocks = append(blocks, doc.Paragraph{Text: text, Tight: true})
	}
	t := factTable(about(b.view))
	t.By, t.Caption = "method", "This run"
	return doc.Section{ID: "method", Head: doc.Heading{Text: "Method and seed"}, Nav: "Method", Blocks: append(append(blocks, t), b.course()...)}
}

// repeat are the commands to repeat a run and to look at it again.
func (b *builder) repeat() []doc.Block {
	if b.Command == "" {
		return nil
	}
	var blocks []doc.Block
	if b.Run.Source != "" {
		blocks = append(blocks, doc.Command{Text: "The same numbers, judged once more:", Line: b.Command})
	} else {
		blocks = append(blocks, doc.Command{Text: "The same study with the same seed, so the same trials in the same order:", Line: b.Command})
		if b.Run.ID != "" {
			blocks = append(blocks,
				doc.Command{Text: "In the directory of this run, from its own copy of the study, with every default written out:", Line: "tare run study.yaml"},
				doc.Command{Text: "And whether the two say the same:", Line: "tare compare . OTHER-RUN"})
		}
	}
	return []doc.Block{doc.Section{ID: "repeat", Head: doc.Heading{Text: "To repeat it"}, Nav: "Repeat", Blocks: blocks}}
}

// modes are the modes with their paths drawn.
func (b *builder) modes() []doc.Block {
	var all []doc.Block
	for i, m := range b.Run.Modes {
		s := doc.Section{ID: fmt.Sprintf("m%d", i), Look: doc.Mode, Group: b.numbers[m.ID], Head: doc.Heading{Name: m.ID, Small: m.Title}}
		if unmeasured(m) {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Reason, Text: fate(m)})
		}
		if m.Description != "" {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: m.Description})
		}
		if m.Mode != "" && m.Mode != m.ID {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Meta, Text: "mode " + m.Mode})
		}
		if len(m.Facts) > 0 {
			s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Meta, Text: facts(m.Facts)})
		}
		s.Blocks = append(s.Blocks, forHTML(doc.Later(func() []doc.Block {
			d := topologyOf(m)
			if d == nil {
				return pathsOf(m)
			}
			return []doc.Block{
				doc.Figure{Look: doc.Topology, ID: fmt.Sprintf("topo%d", i), Drawings: []doc.Drawing{d.Figure}, Caption: d.Caption},
				doc.Details{Summary: "Each step and its counters", Blocks: []doc.Block{d.table(s.ID)}},
			}
		})))
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "modes", Head: doc.Heading{Text: "Modes and their paths"}, Nav: "Paths", Blocks: []doc.Block{doc.Beside{Blocks: all}}}}
}

// table is the steps behind a drawing.
func (d pathDrawing) table(by string) doc.Table {
	t := doc.Table{Kind: doc.Places, By: by, Caption: "The steps from client to server, as read back, and what their counters showed",
		Columns: []doc.Column{{Head: "Where"}, {Head: "Step", Row: true}, {Head: "As read back"}, {Head: "Counters"}}, Groups: make([]doc.Group, 1)}
	for _, r := range d.Rows {
		step := doc.Cell{Text: r.Step}
		if r.Beside {
			step.Small = "beside the path"
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: r.Where}, step, {Text: r.Facts}, {Lines: r.Findings}}})
	}
	return t
}

// pathsOf are the ways through a mode in words.
func pathsOf(m result.Mode) []doc.Block {
	var out []doc.Block
	for _, way := range paths(m.Topology) {
		var p doc.Path
		for _, at := range places(way) {
			step := doc.Step{Where: at.Where}
			for _, s := range at.Stops {
				step.Stops = append(step.Stops, doc.Stop{Label: s.Label, Facts: s.Facts, Look: s.Look})
			}
			p.Steps = append(p.Steps, step)
		}
		out = append(out, p)
	}
	return out
}

// modeList are the modes with their paths in words.
func (b *builder) modeList() []doc.Block {
	var all []doc.Block
	for _, m := range b.Run.Modes {
		s := doc.Section{Look: doc.Mode, Head: doc.Heading{Name: m.ID, Small: m.Title}}
		if unmeasured(m) {
			s.Head.Small = strings.TrimPrefix(m.Title+"; "+fate(m), "; ")
		}
		if m.Mode != "" && m.Mode != m.ID {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: "mode " + m.Mode})
		}
		if m.Description != "" {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: m.Description})
		}
		if len(m.Facts) > 0 {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: facts(m.Facts)})
		}
		s.Blocks = append(s.Blocks, pathsOf(m)...)
		if m.Topology != nil {
			s.Blocks = append(s.Blocks, doc.Paragraph{Text: provenInWords(m.Proof)})
		}
		s.Blocks = append(s.Blocks, b.drawn(func(f named) bool { return f.Path != nil && f.Mode == m.ID }))
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{Head: doc.Heading{Text: "Modes and their paths"}, Blocks: all}}
}
