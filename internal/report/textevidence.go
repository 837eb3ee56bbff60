package report

import (
	"strings"

	"tare/internal/report/say"
	"tare/internal/result"
)

// mostReasons is how many of the kernel's reasons a terminal is shown.
const mostReasons = 3

// evidence writes what the figures cost and where that went, where datagrams died and
// what held TCP back: what differs, for the whole tables are in the long reports.
func (p *printer) evidence(e evidence) {
	for i, b := range e.Bills {
		if i == 0 {
			p.blank()
			p.buf.WriteString("CPU bill\n")
			p.wrap(gap, b.Legend())
		}
		p.bill(b)
	}
	if e.Pass != nil {
		p.blank()
		p.buf.WriteString("At a fixed rate\n")
		p.wrap(gap, say.Cut(e.Pass.Text, 600))
		if e.Pass.Empty != "" && e.Pass.ID != "" {
			p.wrap(gap, e.Pass.Empty)
		}
		if e.Pass.Bill != nil {
			p.bill(*e.Pass.Bill)
		}
	}
	for _, b := range e.Breakdowns {
		p.breakdown(b)
	}
	p.losses(e.Losses)
	p.limits(e.Limits)
}

// bill writes what a workload cost in each mode: its cost, the CPUs busy, and the ratio
// to the baseline with a word.
func (p *printer) bill(b bill) {
	p.blank()
	mode := p.modeWidth(b.Cost)
	p.wrap(gap, say.Cut(b.Workload, p.width/2)+": "+strings.Join(b.columns(), "; "))
	cells := make([][]string, 0, len(b.Busy)+1)
	var widths []int
	for _, r := range b.Cost.rows() {
		cells = append(cells, b.figures(r))
	}
	for c := range b.columns() {
		width := 0
		for _, row := range cells {
			width = max(width, say.Width(row[c]))
		}
		widths = append(widths, width)
	}
	for i, r := range b.Cost.rows() {
		if unmeasured(r.Mode) {
			continue
		}
		line := gap + say.Pad(say.CutMiddle(r.Mode.ID, mode), mode)
		for c, text := range cells[i] {
			line += gap + say.Pad(text, widths[c])
		}
		p.said(line+gap, r, r.judged(), r.remarks(b.Cost.Scale))
	}
	for _, own := range b.Processes {
		p.wrap(gap, "of it "+own.Mode+"'s own: "+own.Most)
	}
}

// breakdown writes the components that differ, side by side with the baseline.
func (p *printer) breakdown(b breakdown) {
	p.blank()
	p.wrap("", say.Cut(b.Workload, p.width/2)+": "+lower(b.title()))
	for _, m := range b.Missing {
		p.wrap(gap, say.Cut(m, 600))
	}
	if len(b.Modes) == 0 {
		return
	}
	rows := b.short()
	name := 0
	for _, r := range rows {
		name = max(name, say.Width(r.Name))
	}
	name = min(name, p.width/3)
	columns := make([]breakdownColumn, len(b.Modes))
	for j := range b.Modes {
		columns[j] = b.column(rows, j, p.width/3)
	}
	for from := 0; from < len(columns); {
		to, used := from, len(gap)+name
		for to < len(columns) && (to == from || used+len(gap)+columns[to].width <= p.width) {
			used += len(gap) + columns[to].width
			to++
		}
		if from > 0 {
			p.blank()
		}
		for i := -1; i < len(rows); i++ {
			line := gap + say.Pad("", name)
			if i >= 0 {
				line = gap + say.Pad(say.CutMiddle(rows[i].Name, name), name)
			}
			for _, c := range columns[from:to] {
				line += gap + say.Pad(c.texts[i+1], c.width)
			}
			p.wide(line)
		}
		from = to
	}
	p.wrap(gap, b.unknown())
}

// breakdownColumn is the column of a mode: its head and its figures.
type breakdownColumn struct {
	texts []string
	width int
}

// column writes the figures of the j-th mode below each other, with their differences;
// most is the widest that its head may be.
func (b breakdown) column(rows []breakdownRow, j, most int) breakdownColumn {
	value, diff := 0, 0
	for _, r := range rows {
		value, diff = max(value, say.Width(b.number(r.Cells[j].Value))), max(diff, say.Width(b.diff(r.Cells[j])))
	}
	c := breakdownColumn{texts: []string{say.CutMiddle(b.Modes[j].Mode, max(most, value+diff+1))}}
	for _, r := range rows {
		text := right(b.number(r.Cells[j].Value), value)
		if diff > 0 {
			text += " " + right(b.diff(r.Cells[j]), diff)
		}
		c.texts = append(c.texts, text)
	}
	for _, text := range c.texts {
		c.width = max(c.width, say.Width(text))
	}
	return c
}

func right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-say.Width(s))) + s
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// losses says where datagrams died, modes that lost none together.
func (p *printer) losses(tables []lossTable) {
	for i, t := range tables {
		if i == 0 {
			p.blank()
			p.buf.WriteString("Where datagrams died\n")
		}
		p.wrap(gap, t.Workload)
		var whole gaps
		for _, r := range t.Rows {
			text := r.words()
			if reasons := r.reasons(mostReasons); reasons != "" {
				text += "; in the kernel's words " + reasons
			}
			whole.add(r.Mode, text)
		}
		for _, text := range whole.list() {
			p.wrap(gap+gap, text)
		}
		for _, m := range t.Missing {
			p.wrap(gap+gap, say.Cut("Not known: "+m, 600))
		}
	}
}

// limits says what held TCP back, in one line where all modes are alike.
func (p *printer) limits(tables []limitTable) {
	head := "Who limited TCP, share of the time"
	for _, t := range tables {
		if t.Workload == result.CostPassID {
			continue // its rate is set: the application, by design
		}
		if head != "" {
			p.blank()
			p.wrap("", head)
			head = ""
		}
		p.limit(t)
	}
}

func (p *printer) limit(t limitTable) {
	mode := say.Width(t.Workload)
	for _, r := range t.Rows {
		mode = max(mode, say.Width(r.name(t)))
	}
	mode = min(mode, p.width/3)
	line := gap + say.Pad(say.CutMiddle(t.Workload, mode), mode)
	names := limitNames()
	for _, name := range names {
		line += gap + name
	}
	alike := t.alike()
	switch {
	case !t.known():
		p.wrap(gap, t.Workload)
	case alike != "":
		p.wrap(gap, t.Workload+": "+alike)
	case say.Width(line) <= p.width:
		p.wide(line)
		for _, r := range t.Rows {
			line := gap + say.Pad(say.CutMiddle(r.name(t), mode), mode)
			for i, text := range r.Texts() {
				line += gap + right(text, say.Width(names[i]))
			}
			p.wide(line)
		}
	default:
		p.wrap(gap, t.Workload)
		for _, r := range t.Rows {
			var parts []string
			for i, text := range r.Texts() {
				parts = append(parts, names[i]+" "+text)
			}
			p.wrap(gap+gap, r.name(t)+": "+strings.Join(parts, ", "))
		}
	}
	for _, r := range t.Rows {
		if r.Retransmits != "" {
			p.wrap(gap+gap, "retransmits of "+r.name(t)+" over whole trials: "+r.Retransmits)
		}
	}
	for _, m := range t.Missing {
		p.wrap(gap+gap, say.Cut("Not known: "+m, 600))
	}
}
