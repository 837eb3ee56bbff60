package text

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/wording"
)

// The bounds of the first screen.
const (
	MostLines   = 40
	MostColumns = 100
)

// How many notes and reasons the first screen has.
const (
	mostNotes  = 3
	mostAbsent = 3
)

// Overview is the first screen of a report: at most [MostLines] lines of at most
// [MostColumns] columns, with the table and the answer last. What does not fit is counted
// in its last line.
func Overview(o doc.Overview, opt Options) []byte {
	p := newPrinter(bounded(opt))
	head, more := p.overviewHead(o, 2)
	table := p.layOut(o)
	o.Legend = table.legends()
	tail := func(rows int) []string { return p.overviewTail(o, append(slices.Clone(more), table.left(rows)...)) }
	rows := MostLines - len(head) - len(tail(1)) - table.fixed()
	if rows < table.rows() { // shorter notes make space for the table
		head, more = p.overviewHead(o, 1)
		rows = MostLines - len(head) - len(tail(1)) - table.fixed()
	}
	for ; rows < 1 && len(o.Explanations) > 0; rows = MostLines - len(head) - len(tail(1)) - table.fixed() {
		o.Explanations = o.Explanations[:len(o.Explanations)-1] // the full report has them
	}
	rows = max(1, min(rows, table.rows()))
	for _, line := range slices.Concat(head, table.lines(rows), tail(rows)) {
		p.buf.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return p.buf.Bytes()
}

// OverviewTable is the table of the first screen alone, with all its rows.
func OverviewTable(o doc.Overview, opt Options) []byte {
	p := newPrinter(bounded(opt))
	table := p.layOut(o)
	for _, line := range table.lines(table.rows()) {
		p.buf.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return p.buf.Bytes()
}

func bounded(opt Options) Options {
	if opt.Width == 0 || opt.Width > MostColumns {
		opt.Width = MostColumns
	}
	return opt
}

// overviewHead is the title and the notes, each of at most so many lines, with what is
// not among them.
func (p *printer) overviewHead(o doc.Overview, each int) (lines, more []string) {
	if title := o.Title + " (" + o.Measured + ")"; o.Measured == "" || wording.Width(title) > p.width {
		lines = p.short(o.Title, p.width, 1)
		if o.Measured != "" {
			lines = append(lines, p.short(o.Measured, p.width, 1)...)
		}
	} else {
		lines = []string{title}
	}
	lines = append(lines, "")
	notes, more := p.notes(o, each)
	if len(notes) > 0 && !o.NotesLast {
		lines = append(append(lines, notes...), "")
	}
	return lines, more
}

// notes are the notes and the reasons for absent modes, each of at most so many lines, with how many are left out.
func (p *printer) notes(o doc.Overview, each int) (lines, more []string) {
	add := func(prefix, text string) {
		indent := wording.Width(prefix)
		for i, l := range p.short(text, p.width-indent, each) {
			if i > 0 {
				prefix = strings.Repeat(" ", indent)
			}
			lines = append(lines, prefix+l)
		}
	}
	for _, n := range o.Notes[:min(len(o.Notes), mostNotes)] {
		add("! ", n.String())
	}
	for _, n := range o.Absent[:min(len(o.Absent), mostAbsent)] {
		add("- ", n.String())
	}
	if n := len(o.Notes) - mostNotes; n > 0 {
		more = append(more, wording.Count(n, "more note", "more notes"))
	}
	if n := len(o.Absent) - mostAbsent; n > 0 {
		more = append(more, wording.Count(n, "more reason", "more reasons"))
	}
	return lines, more
}

// short wraps text into at most so many lines, the last one cut.
func (p *printer) short(text string, width, most int) []string {
	lines := wording.Wrap(text, width)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = wording.Cut(lines[most-1]+" ...", width)
		if !strings.HasSuffix(lines[most-1], "...") {
			lines[most-1] += "..."
		}
	}
	return lines
}

// The most lines of the sentence, of one explanation, and of the legend.
const (
	sentenceLines    = 6
	explanationLines = 7
	legendLines      = 2
)

// overviewTail is the legend, the sentence, and the way to the rest with what is not on
// the screen.
func (p *printer) overviewTail(o doc.Overview, more []string) []string {
	var out []string
	if len(o.Legend) > 0 {
		out = append(out, p.short(strings.Join(o.Legend, ", "), p.width, legendLines)...)
	}
	out = append(out, "")
	out = append(out, p.short(o.Sentence, p.width, sentenceLines)...)
	for _, n := range o.Explanations {
		out = append(out, p.short(n.String(), p.width, explanationLines)...)
	}
	if o.NotesLast {
		notes, _ := p.notes(o, 2)
		out = append(out, notes...)
	}
	if o.Claims != "" {
		out = append(out, p.short(o.Claims, p.width, 2)...)
	}
	return append(out, p.wayOn(o, more)...)
}

// wayOn is the line with the page, the command that prints the rest, and what the rest is. What
// does not fit into it has lines of its own, in which a path or a command is never broken: it is
// there to be copied.
func (p *printer) wayOn(o doc.Overview, more []string) []string {
	const label = "More: "
	var lines []string
	for _, part := range []string{o.Page, o.Command} {
		if part != "" {
			lines = append(lines, part)
		}
	}
	rest := strings.Join(append(slices.Clone(o.Others), more...), ", ")
	if rest != "" {
		rest = "(" + rest + ")"
	}
	if len(lines) == 0 && rest == "" {
		return nil
	}
	if one := strings.TrimSpace(label + strings.Join(lines, "; ") + " " + rest); wording.Width(one) <= p.width {
		return []string{one}
	}
	if rest != "" {
		lines = append(lines, p.short(rest, p.width-len(label), 2)...)
	}
	for i := range lines {
		if i == 0 {
			lines[i] = label + lines[i]
		} else {
			lines[i] = strings.Repeat(" ", len(label)) + lines[i]
		}
	}
	return lines
}

// laidOut is the table of the first screen with the columns that fit.
type laidOut struct {
	p       *printer
	o       doc.Overview
	shown   []int // columns, by their index
	name    int   // the width of the column of modes
	widths  []int
	changes []int // the width of what is before the intervals
	times   []int // the width of the times behind them
	gap     string
	space   string // between mark and change
}

// layOut chooses the columns that fit, the most important ones first, and how far they
// are apart: closer where that shows more of them.
func (p *printer) layOut(o doc.Overview) laidOut {
	t := laidOut{p: p, o: o, name: wording.Width(o.Head)}
	for _, g := range o.Groups {
		for _, r := range g.Rows {
			t.name = max(t.name, wording.Width(r.Mode))
		}
	}
	t.name = min(t.name, p.width/3)
	byRank := make([]int, len(o.Columns))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(x, y int) int { return o.Columns[x].Rank - o.Columns[y].Rank })
	t.measure()
	for n := len(byRank); n >= 0; n-- {
		t.shown = slices.Sorted(slices.Values(byRank[:n]))
		for _, spacing := range [][2]string{{"  ", " "}, {" ", " "}, {" ", ""}} {
			t.gap, t.space = spacing[0], spacing[1]
			if t.width() <= p.width {
				return t
			}
		}
		if n == 1 { // a single column is cut
			return t
		}
	}
	return t
}

// measure finds how wide the columns are, but for the space behind the mark.
func (t *laidOut) measure() {
	t.widths, t.changes, t.times = make([]int, len(t.o.Columns)), make([]int, len(t.o.Columns)), make([]int, len(t.o.Columns))
	for i := range t.o.Columns {
		interval, text := 0, 0
		for _, g := range t.o.Groups {
			for _, r := range g.Rows {
				if i >= len(r.Cells) {
					continue
				}
				c := r.Cells[i]
				t.times[i] = max(t.times[i], wording.Width(c.Time))
				if c.Interval == "" {
					text = max(text, wording.Width(c.Change))
					continue
				}
				t.changes[i], interval = max(t.changes[i], wording.Width(c.Change)), max(interval, wording.Width(c.Interval))
			}
		}
		t.widths[i] = text
		if interval > 0 {
			t.widths[i] = max(text, t.changes[i]+1+interval)
		}
		if t.times[i] > 0 {
			t.widths[i] += 1 + t.times[i]
		}
		head := max(wording.Width(t.o.Columns[i].Metric), min(wording.Width(t.o.Columns[i].Workload), 20))
		t.widths[i] = max(t.widths[i], min(head, 28)-1)
	}
}

func (t *laidOut) width() int {
	n := t.name
	for _, i := range t.shown {
		n += len(t.gap) + 1 + len(t.space) + t.widths[i]
	}
	return n
}

// legends are those of the columns that fit.
func (t *laidOut) legends() []string {
	var shown []doc.OverviewColumn
	for _, i := range t.shown {
		shown = append(shown, t.o.Columns[i])
	}
	return t.o.Legends(shown...)
}

// fixed is how many lines the table has beside its rows.
func (t *laidOut) fixed() int { return len(t.heads()) + max(0, len(t.o.Groups)-1) }

func (t *laidOut) rows() int {
	n := 0
	for _, g := range t.o.Groups {
		n += len(g.Rows)
	}
	return n
}

// left says what is not shown where the table has so many rows.
func (t *laidOut) left(rows int) []string {
	var out []string
	if n := len(t.o.Columns) - len(t.shown); n > 0 {
		out = append(out, wording.Count(n, "more column", "more columns"))
	}
	if n := t.rows() - rows; n > 0 {
		out = append(out, wording.Count(n, "more mode", "more modes"))
	}
	return out
}

// heads are the lines above the rows: workloads, where there are any, and metrics.
func (t *laidOut) heads() []string {
	above, below, named, last := strings.Repeat(" ", t.name), wording.Pad(wording.CutMiddle(t.o.Head, t.name), t.name), false, ""
	for _, i := range t.shown {
		c := t.o.Columns[i]
		w := 1 + len(t.space) + t.widths[i]
		workload := wording.CutMiddle(c.Workload, w)
		if c.Workload == last {
			workload = ""
		}
		last, named = c.Workload, named || workload != ""
		above += t.gap + wording.Pad(workload, w)
		below += t.gap + wording.Pad(wording.Cut(c.Metric, w), w)
	}
	if !named {
		return []string{below}
	}
	return []string{above, below}
}

// lines are the heads and so many rows.
func (t *laidOut) lines(rows int) []string {
	out := t.heads()
	for i, g := range t.o.Groups {
		if rows == 0 {
			break
		}
		if i > 0 {
			out = append(out, "")
		}
		for _, r := range g.Rows[:min(len(g.Rows), rows)] {
			out = append(out, t.row(r))
			rows--
		}
	}
	return out
}

func (t *laidOut) row(r doc.OverviewRow) string {
	line := wording.Pad(wording.CutMiddle(r.Mode, t.name), t.name)
	if r.Out != "" {
		return line + t.gap + t.p.paint(chart.Absent, wording.Cut(" "+t.space+r.Out, max(1, t.p.width-t.name-len(t.gap))))
	}
	for _, i := range t.shown {
		c := doc.OverviewCell{Change: wording.Unknown}
		if i < len(r.Cells) {
			c = r.Cells[i]
		}
		text := c.Change
		if c.Interval != "" {
			text = fmt.Sprint(strings.Repeat(" ", max(0, t.changes[i]-wording.Width(c.Change))), c.Change, " ", c.Interval)
		}
		if c.Time != "" {
			text = wording.Pad(text, t.widths[i]-t.times[i]) + strings.Repeat(" ", t.times[i]-wording.Width(c.Time)) + c.Time
		}
		mark := wording.Pad(c.Mark, 1) + t.space
		w := min(len(t.space)+1+t.widths[i], max(1, t.p.width-t.name-len(t.gap)))
		if c.Interval == "" && c.Mark != "" && wording.Width(c.Mark+" "+text) <= w {
			mark = c.Mark + " "
		}
		cell := wording.Cut(mark+text, w)
		line += t.gap + t.p.paint(c.Tone, cell) + strings.Repeat(" ", max(0, w-wording.Width(cell)))
	}
	return line
}
