package html

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
)

// look is how a page shows a kind of table.
type look struct {
	class   string
	numbers bool // its class aligns numbers, so that what is text needs one instead
	heads   bool // the heads of columns have lines of their own
	cells   bool // cells have
	plain   bool // the heads of rows have no class
}

func lookOf(k doc.TableKind) look {
	switch k {
	case doc.Figures:
		return look{class: "figures nums", numbers: true, heads: true}
	case doc.Study:
		return look{class: "figures study", heads: true, cells: true}
	case doc.Sweep:
		return look{class: "figures nums", numbers: true}
	case doc.Rates:
		return look{class: "figures", plain: true}
	case doc.Breakdown, doc.Limits:
		return look{class: "figures nums " + string(k), numbers: true}
	case doc.Losses:
		return look{class: "figures losses"}
	case doc.Steps, doc.Behind:
		return look{class: "log nums", numbers: true}
	case doc.Trials:
		return look{class: "log nums", numbers: true, plain: true}
	case doc.Places:
		return look{class: "steps"}
	}
	return look{class: string(k)}
}

// scroll begins what a table scrolls in.
func (p *page) scroll(by, label string) {
	p.f("\n<div class=\"scroll\" role=\"group\" tabindex=\"0\" ")
	if by != "" {
		p.f(`aria-labelledby="%s">`, by)
	} else {
		p.f(`aria-label="%s">`, label)
	}
}

func (p *page) table(t doc.Table) {
	how, shown := lookOf(t.Kind), t.Visible(doc.HTML)
	p.scroll(t.By, t.Label)
	p.f("\n<table class=\"%s\">", how.class)
	switch {
	case t.Caption != "" && t.Kind == doc.Sweep:
		p.f("\n<caption>%s</caption>", entity(t.Caption))
	case t.Caption != "":
		p.f("\n<caption>%s</caption>", t.Caption)
	}
	p.heads(t, how, shown)
	for _, g := range t.Groups {
		p.f("\n<tbody>")
		if g.Head.Name != "" || g.Head.Text != "" {
			p.f("\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%d\">", len(shown))
			p.heading(g.Head)
			p.f("</th></tr>")
		}
		for _, r := range g.Rows {
			if r.For.Has(doc.HTML) {
				p.row(t, r, how, shown)
			}
		}
		p.f("\n</tbody>")
	}
	p.f("\n</table>\n</div>")
}

func (p *page) heads(t doc.Table, how look, shown []int) {
	headless := true
	for _, i := range shown {
		headless = headless && t.Columns[i].Head == ""
	}
	if headless {
		return
	}
	line := markup("")
	if how.heads {
		line = "\n"
	}
	p.f("\n<thead><tr>")
	for n, i := range shown {
		c := t.Columns[i]
		switch {
		case c.Unheaded:
			continue
		case c.Bars:
			p.f(`<th scope="col" class="bars" aria-hidden="true"></th>`)
			continue
		}
		p.f(`%s<th scope="col"`, line)
		if n+1 < len(shown) && t.Columns[shown[n+1]].Unheaded {
			p.f(` colspan="2"`)
		}
		if c.Number {
			p.class("num")
		}
		p.f(">")
		switch {
		case c.Title != "":
			p.f(`<abbr title="%s">%s</abbr>`, own(c.Title), c.Head)
		case c.Beside != "":
			p.f(`<span>%s <bdi>%s</bdi></span>`, c.Head, c.Beside)
		case c.Foreign:
			p.f("<bdi>%s</bdi>", c.Head)
		default:
			p.f("%s", c.Head)
		}
		if c.Note != "" {
			p.f(" <span>%s</span>", entity(c.Note))
		}
		p.f("</th>")
	}
	p.f("%s</tr></thead>", line)
}

func (p *page) row(t doc.Table, r doc.Row, how look, shown []int) {
	line := markup("")
	if how.cells && (!r.Out || r.Lead > 0) {
		line = "\n"
	}
	p.f("\n<tr")
	p.group(r.Group)
	if r.Sum {
		p.class("sum")
	}
	p.f(">")
	if r.Kernel != "" {
		p.f("<td colspan=\"%d\" class=\"out\">Drop reasons of the kernel: %s</td></tr>", len(shown), r.Kernel)
		return
	}
	for n, i := range shown {
		if r.Out && n == r.Lead {
			for _, j := range shown[n:] {
				if c := r.Cells[j]; t.Columns[j].Verdict {
					p.f(`%s<td colspan="%d" class="out"><div><span class="t-%s">%s</span> %s</div></td>`, line, len(shown)-n, string(c.Tone), mark(c.Tone), c.Text)
				}
			}
			break
		}
		p.f("%s", line)
		p.cell(t.Columns[i], r.Cells[i], how)
	}
	p.f("%s</tr>", line)
}

func (p *page) cell(c doc.Column, x doc.Cell, how look) {
	switch {
	case c.Verdict:
		p.f(`<td class="verdict t-%s"><div>%s %s</div>`, string(x.Tone), mark(x.Tone), tight(x.Text))
		for _, r := range x.Notes {
			p.f("<small>%s</small>", tight(r))
		}
		p.f("</td>")
		return
	case x.Scenario != nil:
		p.scenario(*x.Scenario)
		return
	case c.Row:
		p.f(`<th scope="row"`)
		switch {
		case c.Number && !how.plain:
			p.class("num")
		case c.Names && c.Strong:
			p.class("names")
		}
		p.f(">")
		p.inner(c, x)
		p.f("</th>")
		return
	}
	class := ""
	switch {
	case c.Bars:
		class = "bars"
	case x.Tone != "":
		class = "t-" + string(x.Tone)
	case how.numbers && !c.Number:
		class = "l"
	case !how.numbers && c.Number:
		class = "num"
	}
	p.f("<td")
	p.class(class)
	p.f(">")
	p.inner(c, x)
	p.f("</td>")
}

func (p *page) inner(c doc.Column, x doc.Cell) {
	if x.Strong != "" {
		p.f("<strong>%s</strong>", x.Strong)
	}
	if c.Names {
		p.f("<bdi>%s</bdi>", x.Text)
	} else {
		p.f("%s", tightIf(x.Tight, x.Text))
	}
	if x.Interval != "" {
		p.f(" <small>(%s)</small>", strings.ReplaceAll(x.Interval, "-", "\u2011"))
	}
	if x.Small != "" {
		p.f(" <small>%s</small>", x.Small)
	}
	for i, l := range x.Lines {
		if i > 0 {
			p.f("<br>")
		}
		p.f("%s", l)
	}
	if x.Bar != nil {
		p.f("%s", markup(chart.Share(*x.Bar)))
	}
}

func (p *page) scenario(s doc.Scenario) {
	p.f(`<td class="what">`)
	if s.Title != "" {
		p.f("<div><bdi>%s</bdi></div>", s.Title)
	}
	p.f("<small>")
	if s.To != "" {
		p.f(`<a href="#%s"><bdi>%s</bdi></a>`, s.To, s.Mode)
	} else {
		p.f("<bdi>%s</bdi>", s.Mode)
	}
	p.f(", <bdi>%s</bdi>", s.Workload)
	if s.Limits != "" {
		p.f(", limited to %s", s.Limits)
	}
	p.f("</small>")
	if s.Description != "" {
		p.f("<small><bdi>%s</bdi></small>", s.Description)
	}
	p.f("</td>")
}
