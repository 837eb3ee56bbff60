package text

import (
	"cmp"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/wording"
)

// claimDetail is how much a terminal shows of each claim: how many lines its sentence may take, then
// its values, then the reason for the outcome. Zero leaves a part out.
type claimDetail struct{ sentence, values, reason int }

// claimDetails are the forms of a claim on the first screen, the shortest first.
func claimDetails() []claimDetail {
	return []claimDetail{{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {2, 1, 1}, {2, 1, 2}, {3, 2, 2}}
}

// Claims is the claims of a run on one screen: at most [MostLines] lines of at most [MostColumns]
// columns. With many claims each is shortened; those that do not fit are counted.
func Claims(c doc.Claims, opt Options) []byte {
	p := newPrinter(bounded(opt))
	head, more := p.overviewHead(doc.Overview{Title: c.Title, Measured: c.Measured, Notes: c.Notes}, 1)
	tail := func(left int) []string {
		rest := slices.Clone(more)
		if left > 0 {
			rest = append(rest, wording.Count(left, "more claim", "more claims"))
		}
		return p.overviewTail(doc.Overview{Sentence: c.Sentence, Page: c.Page, Command: c.Command}, rest)
	}
	var rows []doc.ClaimRow
	for _, g := range c.Groups {
		rows = append(rows, g.Rows...)
	}
	lines, left := slices.Concat(p.fitted(rows, MostLines-len(head)-len(tail(0)))...), 0
	if space := MostLines - len(head) - len(tail(0)); len(lines) > space { // one for each claim
		space = max(1, MostLines-len(head)-len(tail(len(rows))))
		left = len(lines) - space
		lines = lines[:space]
	}
	for _, l := range slices.Concat(head, lines, tail(left)) {
		p.buf.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return p.buf.Bytes()
}

// ClaimsTable is all claims, by study where there are several, with their values and reasons.
func ClaimsTable(c doc.Claims, opt Options) []byte {
	p := newPrinter(bounded(opt))
	for i, g := range c.Groups {
		if i > 0 {
			p.blank()
		}
		if g.Study != "" {
			p.wrap("", g.Study+": "+wording.Cut(g.Title, 2*p.width))
			p.wrap(gap, wording.Cut(g.Text, 2*p.width))
			if g.Run != "" {
				p.wrap(gap, wording.Cut(g.Run, 2*p.width))
			}
		}
		width := outcomeWidth(g.Rows)
		for _, r := range g.Rows {
			for _, l := range p.claimRow(r, width, claimDetail{2, 1, 2}) {
				p.buf.WriteString(strings.TrimRight(l, " ") + "\n")
			}
		}
	}
	if len(c.Groups) > 0 && c.Groups[0].Study != "" {
		p.blank()
		p.wrap("", c.Sentence)
	}
	return p.buf.Bytes()
}

// fitted are the lines of each claim, all together at most so many if one for each is enough. Claims
// with a value are the first to get further lines.
func (p *printer) fitted(rows []doc.ClaimRow, space int) [][]string {
	width := outcomeWidth(rows)
	forms := claimDetails()
	out := make([][]string, len(rows))
	byValue := make([]int, len(rows))
	for i, r := range rows {
		out[i], byValue[i] = p.claimRow(r, width, forms[0]), i
		space -= len(out[i])
	}
	slices.SortStableFunc(byValue, func(x, y int) int { return cmp.Compare(min(len(rows[y].Found), 1), min(len(rows[x].Found), 1)) })
	for _, form := range forms[1:] {
		for _, i := range byValue {
			if longer := p.claimRow(rows[i], width, form); len(longer)-len(out[i]) <= space {
				space -= len(longer) - len(out[i])
				out[i] = longer
			}
		}
	}
	return out
}

// outcomeWidth is the width of the column of outcomes.
func outcomeWidth(rows []doc.ClaimRow) int {
	width := 0
	for _, r := range rows {
		width = max(width, wording.Width(r.Sign+" "+r.Outcome))
	}
	return width
}

// claimRow is a claim with the outcome in a column of its own before the sentence.
func (p *printer) claimRow(r doc.ClaimRow, width int, d claimDetail) []string {
	indent := strings.Repeat(" ", width+len(gap))
	room := max(1, p.width-len(indent))
	lead := p.paint(claimTone(r.Tone), wording.Pad(r.Sign+" "+r.Outcome, width)) + gap
	var out []string
	add := func(text string, most int) {
		if text == "" || most == 0 {
			return
		}
		for _, l := range p.short(text, room, most) {
			out = append(out, lead+l)
			lead = indent
		}
	}
	add(cmp.Or(r.Claim, r.ID, wording.Unknown), d.sentence)
	add(r.Values(), d.values)
	add(r.Reason, d.reason)
	return out
}

// claimTone is the colour of an outcome on a terminal, which shows the tone of what is the same in no
// colour.
func claimTone(t chart.Tone) chart.Tone {
	if t == chart.Same {
		return chart.Better
	}
	if t == chart.Absent {
		return chart.Unsure
	}
	return t
}
