package html

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
)

// overview writes the first screen: the answer, the table and its notes.
func (p *page) overview(o doc.Overview) {
	if o.Sentence != "" {
		p.f("\n<p class=\"answer\">%s</p>", tight(o.Sentence))
	}
	for _, n := range o.Explanations {
		p.f("\n<p><strong><bdi>%s</bdi></strong>: %s</p>", n.Names(), tightIf(true, n.Text))
	}
	if len(o.Columns) > 0 {
		p.overviewTable(o)
	}
	if legend := o.Legends(o.Columns...); len(legend) > 0 {
		p.f("\n<p class=\"legend\">")
		for i, e := range marked(legend, o) {
			if i > 0 {
				p.f(" · ")
			}
			if e.tone != "" {
				p.f("<span class=\"t-%s\">%s</span> ", string(e.tone), mark(e.tone))
			}
			p.f("%s", tight(e.words))
		}
		p.f("</p>")
	}
	notes := append(append([]doc.Note(nil), o.Notes...), o.Absent...)
	if len(notes) == 0 {
		return
	}
	p.f("\n<ul class=\"warnings\">")
	for _, n := range notes {
		p.f("\n<li>")
		if names := n.Names(); names != "" {
			p.f("<strong><bdi>%s</bdi></strong>: ", names)
		}
		p.f("%s</li>", prose(n.Text))
	}
	p.f("\n</ul>")
}

// legendEntry is a mark that a page draws, empty for none, and what it means.
type legendEntry struct {
	tone  chart.Tone
	words string
}

// marked returns the entries of a legend. A terminal has one sign for what is the same and for what differs by less
// than the margin, and a page has two.
func marked(legend []string, o doc.Overview) (out []legendEntry) {
	seen := map[chart.Tone]bool{}
	for _, g := range o.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				seen[c.Tone] = true
			}
		}
	}
	for _, text := range legend {
		tone, words := legendTone(text)
		if tone != chart.Same || seen[chart.Same] || !seen[chart.Small] {
			out = append(out, legendEntry{tone, words})
		}
		if tone == chart.Same && seen[chart.Small] {
			out = append(out, legendEntry{chart.Small, "different, but " + strings.TrimPrefix(words, "same ")})
		}
	}
	return out
}

// legendTone splits an entry of a legend into its mark and its words.
func legendTone(text string) (tone chart.Tone, words string) {
	sign, rest, _ := strings.Cut(text, " ")
	for tone, s := range chart.Signs() {
		if s == sign && tone != chart.Small {
			return tone, rest
		}
	}
	return "", text
}

func (p *page) overviewTable(o doc.Overview) {
	p.scroll(o.By, "")
	p.f("\n<table class=\"overview\">\n<thead>\n<tr><th scope=\"col\">%s</th>", o.Head)
	for _, c := range o.Columns {
		p.f("<th scope=\"col\">")
		if c.Workload != "" {
			p.f("<small><bdi>%s</bdi></small> ", c.Workload)
		}
		if c.To != "" {
			p.f("<a href=\"#%s\">%s</a>", c.To, c.Metric)
		} else {
			p.f("%s", c.Metric)
		}
		p.f("</th>")
	}
	p.f("</tr>\n</thead>")
	for _, g := range o.Groups {
		p.f("\n<tbody>")
		if g.Name != "" {
			p.f("\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%d\">%s</th></tr>", len(o.Columns)+1, g.Name)
		}
		for _, r := range g.Rows {
			p.f("\n<tr")
			p.group(r.Group)
			p.f("><th scope=\"row\"><bdi>%s</bdi></th>", r.Mode)
			if r.Out != "" {
				p.f("<td colspan=\"%d\" class=\"out\"><div><span class=\"t-absent\">%s</span> %s</div></td>", len(o.Columns), mark(chart.Absent), r.Out)
			}
			for _, c := range r.Cells {
				p.f("<td class=\"t-%s\"><b>", string(c.Tone))
				if c.Mark != "" {
					p.f("%s ", mark(c.Tone))
				}
				p.f("%s</b>", tight(c.Change))
				if c.Interval != "" {
					p.f(" <i>%s</i>", c.Interval)
				}
				if c.Time != "" {
					p.f(" <span>%s</span>", tight(c.Time))
				}
				p.f("</td>")
			}
			p.f("</tr>")
		}
		p.f("\n</tbody>")
	}
	p.f("\n</table>\n</div>")
}
