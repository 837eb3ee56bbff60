package report

import (
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// Measures of a terminal table: columns are two spaces apart, and a cell never
// takes more than so many lines.
const (
	gap      = "  "
	cellRows = 3
)

// workload writes the primary metric with its verdicts, then the others in as
// few tables as fit.
func (p *printer) workload(w workload) {
	if w.Empty != "" {
		p.blank()
		p.wrap("", say.Cut(w.ID, p.width/2))
		p.wrap(gap, w.Empty)
	}
	for i, t := range w.Tables {
		if i == 0 || t.Metric.Primary {
			p.primary(t)
		}
	}
	var rest []table
	for i, t := range w.Tables {
		if i > 0 && !t.Metric.Primary && !billed(t.Metric) && t.judged() && !t.spared() {
			rest = append(rest, t)
		}
	}
	p.secondary(rest)
	for _, text := range remarked(rest) {
		p.wrap(gap, text)
	}
	p.rates(w)
}

func (p *printer) primary(t table) {
	p.blank()
	head := say.Cut(t.Workload, p.width/2) + ": " + t.inline()
	if d := direction(t.Metric); d != "" {
		head += "; " + d
	}
	p.wrap("", head)
	mode, value := p.modeWidth(t), 0
	for _, r := range t.rows() {
		value = max(value, say.Width(r.value(t.Scale)))
	}
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			p.row(r, t, mode, value)
		}
	}
	if s := t.seen(); s != "" {
		p.wrap(gap, s)
	}
}

// row writes one mode.
func (p *printer) row(r row, t table, mode, value int) {
	p.beside(gap+say.Pad(say.CutMiddle(r.Mode.ID, mode), mode)+gap+say.Pad(r.value(t.Scale), value)+gap, r, r.remarks(t.Scale))
}

// beside writes the verdict of a row behind its figures, and the remarks below it. It
// wraps below itself; where too little room is left for it, it has lines of its own.
func (p *printer) beside(lead string, r row, remarks []string) {
	p.said(lead, r, r.verdict(), remarks)
}

// said is beside with the words for the verdict.
func (p *printer) said(lead string, r row, verdict string, remarks []string) {
	room := p.width - say.Width(lead)
	if room < 24 {
		p.wide(lead)
		lead = gap + gap
		room = p.width - len(lead)
	}
	if unmeasured(r.Mode) {
		if p.told[r.Mode.ID+verdict] {
			verdict = string(r.Mode.Status) + ", see above"
		}
		p.told[r.Mode.ID+fate(r.Mode)] = true
	}
	lines := say.Wrap(say.Cut(verdict, cellRows*room), room)
	if len(lines) > cellRows {
		lines = lines[:cellRows]
		lines[cellRows-1] = say.Cut(lines[cellRows-1]+" ...", room)
	}
	indent := strings.Repeat(" ", say.Width(lead))
	for i, l := range lines {
		if i > 0 {
			lead = indent
		}
		p.buf.WriteString(strings.TrimRight(lead+p.paint(r.tone(), l), " ") + "\n")
	}
	for _, text := range remarks {
		p.wrap(indent, text)
	}
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
	mishaps := t.Metric.Better == result.Lower && t.Metric.Unit != "s"
	return !mishaps || !slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// secondary writes the metrics that stand beside the primary one: value, ratio
// and the verdict's word.
func (p *printer) secondary(tables []table) {
	for len(tables) > 0 {
		mode := p.modeWidth(tables[0])
		n, used := 0, len(gap)+mode
		for n < len(tables) {
			w := len(gap) + columnWidth(tables[n])
			if n > 0 && used+w > p.width {
				break
			}
			used += w
			n++
		}
		p.columns(tables[:n], mode)
		tables = tables[n:]
	}
}

// columns writes tables of the same modes side by side; modes that were not
// measured have been told of already.
func (p *printer) columns(tables []table, mode int) {
	line := gap + say.Pad("", mode)
	for _, t := range tables {
		line += gap + say.Pad(columnHead(t), columnWidth(t))
	}
	p.blank()
	p.wide(line)
	rows := tables[0].rows()
	for i, r := range rows {
		if unmeasured(r.Mode) {
			continue
		}
		line := gap + say.Pad(say.CutMiddle(r.Mode.ID, mode), mode)
		for _, t := range tables {
			line += gap + say.Pad(t.rows()[i].brief(t), columnWidth(t))
		}
		p.wide(line)
	}
}

// wide writes one line of a table, cut to the width.
func (p *printer) wide(line string) {
	p.buf.WriteString(strings.TrimRight(say.Cut(strings.TrimRight(line, " "), p.width), " ") + "\n")
}

func columnHead(t table) string {
	if t.Scale.Unit == "" || t.Scale.Unit == "segments" {
		return say.Cut(t.Metric.Name, 30)
	}
	return say.Cut(t.Metric.Name+", "+t.Scale.Unit, 30)
}

func columnWidth(t table) int {
	w := say.Width(columnHead(t))
	for _, r := range t.rows() {
		w = max(w, say.Width(r.brief(t)))
	}
	return w
}

// brief is a row's value, its ratio and a word: "29.3  1.37 worse". Values of a
// column end at the same place.
func (r row) brief(t table) string {
	width := 0
	for _, o := range t.rows() {
		width = max(width, say.Width(o.bare(t)))
	}
	value := r.bare(t)
	text := strings.Repeat(" ", width-say.Width(value)) + value
	// Without a ratio (a count of 0 has none) there is nothing to judge.
	if r.Cell == nil || r.Cell.Ratio == nil {
		return text
	}
	text += gap + say.BareRatio(*r.Cell.Ratio)
	if w := say.Word(r.Cell.Verdict); r.Mode.Control && !r.strange() {
		text += " A/A"
	} else if w != "" {
		text += " " + w
	}
	return text
}

// bare is a row's value alone.
func (r row) bare(t table) string {
	if r.Cell == nil || r.Cell.Value == nil {
		return say.Unknown
	}
	return say.AtLeast(*r.Cell, t.Scale.Number(*r.Cell.Value))
}

// modeWidth is the width of the column of modes: what they need, up to a third
// of the line.
func (p *printer) modeWidth(t table) int {
	w := 0
	for _, r := range t.rows() {
		w = max(w, say.Width(r.Mode.ID))
	}
	return min(w, p.width/3)
}

// paint colours a line of a verdict. The words say the same.
func (p *printer) paint(t chart.Tone, s string) string {
	if !p.color || s == "" {
		return s
	}
	switch t {
	case chart.Worse:
		return "\x1b[33m" + s + "\x1b[0m"
	case chart.Better:
		return "\x1b[36m" + s + "\x1b[0m"
	case chart.Absent:
		return "\x1b[1m" + s + "\x1b[0m"
	case chart.Unsure:
		return "\x1b[2m" + s + "\x1b[0m"
	}
	return s
}
