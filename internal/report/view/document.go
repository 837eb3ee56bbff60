package view

import (
	"fmt"
	"path"
	"sync"
	"time"

	"tare/internal/report/doc"
	"tare/internal/wording"
)

// builder makes the document of a report. It alone decides what is shown, in which order and
// for which media.
type builder struct {
	view
	numbers      map[string]int    // of modes, from 1, which link the parts of a page
	anchors      map[string]string // the section of a metric of a workload
	begin        time.Time
	images       func() []named
	shownReasons map[string]bool // modes whose reason the terminal has shown
}

func newBuilder(v view) *builder {
	b := &builder{view: v, numbers: map[string]int{}, anchors: map[string]string{}, begin: began(v), shownReasons: map[string]bool{}}
	for i, m := range v.Modes {
		b.numbers[m.ID] = i + 1
	}
	for i, w := range v.Workloads {
		for j, t := range w.Tables {
			b.anchor(t, fmt.Sprintf("w%d-%d", i+1, j+1))
		}
	}
	for i, bill := range v.Evidence.CPUCosts {
		for j, t := range bill.Tables {
			b.anchor(t, cpuCostAnchor(i+1, j))
		}
	}
	if pass := v.Evidence.Pass; pass != nil {
		for j, t := range pass.costTables() {
			b.anchor(t, cpuCostAnchor(0, j))
		}
	}
	return b
}

// cpuCostAnchor is the anchor of the j-th table of the i-th CPU cost; i is 0 for the
// fixed-rate pass.
func cpuCostAnchor(i, j int) string { return fmt.Sprintf("c%d-%d", i, j+1) }

func (b *builder) anchor(t table, at string) { b.anchors[t.Workload+" "+t.Metric.Name] = at }

func (b *builder) anchorOf(t table) string { return b.anchors[t.Workload+" "+t.Metric.Name] }

// document is the report as blocks.
func (v view) document() doc.Document {
	b := newBuilder(v)
	b.images = sync.OnceValue(func() []named {
		if v.FiguresDir == "" {
			return nil
		}
		return v.figures()
	})
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
	add(doc.Pages, b.overviewSection())
	add(0, b.ladder()...)
	add(0, b.claims()...)
	add(doc.HTML, b.matrix()...)
	add(0, b.scenarios()...)
	add(0, b.comparisons()...)
	add(doc.Markdown, b.warnings()...)
	add(0, b.sweeps()...)
	add(0, b.concurrencies()...)
	add(0, b.workloads()...)
	add(0, b.cost()...)
	add(doc.HTML, b.modes()...)
	add(0, b.losses()...)
	add(0, b.limits()...)
	add(0, b.agreements()...)
	add(doc.Markdown, b.modeList()...)
	add(doc.Markdown|doc.Terminal, b.decisions()...)
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
func forHTML(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.HTML, Blocks: blocks} }

func forMarkdown(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Markdown, Blocks: blocks} }

func forTerminal(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Terminal, Blocks: blocks} }

func forPages(blocks ...doc.Block) doc.Block { return doc.Only{For: doc.Pages, Blocks: blocks} }

// drawn are the figures that match, as files beside the page.
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

func (b *builder) warnings() []doc.Block {
	if len(b.Run.Warnings) == 0 {
		return nil
	}
	l := doc.List{Role: doc.Warning, Bullets: true, Cut: 800}
	for _, w := range b.Run.Warnings {
		l.Items = append(l.Items, doc.Item{Text: warningLine(w), Code: w.Code})
	}
	return []doc.Block{doc.Section{ID: "warnings", Head: doc.Heading{Text: "Warnings"}, Nav: fmt.Sprintf("Warnings (%d)", len(l.Items)), Blocks: []doc.Block{l}}}
}

// mostLost is how many ruled-out trials a terminal lists, and mostLostRows how many a page
// lists.
const (
	mostLost     = 10
	mostLostRows = 200
)

// lostItems are the first trials that do not count, with so many columns of the reason.
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
		items = append(items, doc.Item{Text: "and " + wording.Count(more, "more", "more")})
	}
	return doc.Section{Head: doc.Heading{Text: "Trials: " + b.TrialCounts.String()}, Blocks: []doc.Block{doc.List{Items: items}}}
}

func (b *builder) allLost() doc.Block {
	return doc.Section{Head: doc.Heading{Text: "Trials"}, Blocks: []doc.Block{
		doc.Paragraph{Text: b.TrialCounts.String()},
		forMarkdown(doc.Later(func() []doc.Block { return []doc.Block{doc.List{Items: b.lostItems(len(b.Lost), 1000)}} })),
	}}
}

func (b *builder) lost() doc.Block {
	text := b.TrialCounts.String() + "."
	if len(b.Lost) == 0 {
		return doc.Section{ID: "trials", Head: doc.Heading{Text: "Trials that do not count"}, Nav: "Trials", Blocks: []doc.Block{doc.Paragraph{Text: text + " Every trial counts."}}}
	}
	blocks := []doc.Block{doc.Paragraph{Text: text}, doc.List{Role: doc.Lost, Items: b.lostItems(mostLostRows, 20000)}}
	if n := len(b.Lost); n > mostLostRows {
		blocks = append(blocks, doc.Paragraph{Role: doc.Seen, Text: fmt.Sprintf("The first %d of %d; all are in trials.ndjson.", mostLostRows, n)})
	}
	return doc.Section{ID: "trials", Head: doc.Heading{Text: "Trials that do not count"}, Nav: "Trials", Fold: true, Blocks: blocks}
}

// notKnown lists what could not be read.
func notKnown(missing []string) []doc.Block {
	var out []doc.Block
	for _, m := range missing {
		out = append(out, doc.Paragraph{Role: doc.Seen, Text: "Not known: " + m, Depth: 2, Cut: mostGap})
	}
	return out
}
