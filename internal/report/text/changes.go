package text

import (
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/wording"
)

// Changes is what changed from one run to another, as [Write] writes a document.
func Changes(c doc.Changes, opt Options) []byte {
	p := newPrinter(opt)
	p.wrap("Before: ", c.Before)
	p.wrap("After:  ", c.After)
	for _, s := range c.Notes {
		p.blank()
		p.wrap("", s.Heading)
		for _, l := range s.Lines {
			p.wrap(gap, wording.Cut(l, 10*p.width))
		}
	}
	for _, t := range c.Tables {
		if !spared(t) {
			p.changes(t)
		}
	}
	p.blank()
	p.wrap("", c.Legend)
	return p.buf.Bytes()
}

// spared reports whether a terminal leaves the table out: a detail without a known change.
func spared(t doc.ChangeTable) bool {
	return t.Detail && !slices.ContainsFunc(t.Rows, func(r doc.ChangeRow) bool { return r.Tone == chart.Worse || r.Tone == chart.Better })
}

// change is the verdict of a row with its time.
func change(r doc.ChangeRow) string {
	if r.Time == "" {
		return r.Verdict
	}
	return r.Verdict + "; " + r.Time
}

// changes writes a table.
func (p *printer) changes(t doc.ChangeTable) {
	p.blank()
	p.wrap("", t.Heading)
	var mode, before, after int
	for _, r := range t.Rows {
		mode, before, after = max(mode, wording.Width(r.Mode)), max(before, wording.Width(r.Before)), max(after, wording.Width(r.After))
	}
	mode = min(mode, p.width/3)
	for _, r := range t.Rows {
		lead := gap + wording.Pad(wording.CutMiddle(r.Mode, mode), mode) + gap + wording.Pad(r.Before, before) + gap + wording.Pad(r.After, after) + gap
		room := p.width - wording.Width(lead)
		switch {
		case room < 0: // not even the values fit
			p.wide(gap + r.Mode)
			p.wrap(gap+gap, r.Before+", now "+r.After)
			lead = gap + gap
		case room < 24:
			p.wide(lead)
			lead = gap + gap
		}
		room = p.width - wording.Width(lead)
		for i, l := range wording.Wrap(change(r), room) {
			if i > 0 {
				lead = strings.Repeat(" ", wording.Width(lead))
			}
			p.buf.WriteString(strings.TrimRight(lead+p.paint(r.Tone, l), " ") + "\n")
		}
	}
}
