package report

import (
	"strings"

	"tare/internal/report/say"
)

func (p *page) scenarios(v view) {
	for i, t := range v.Scenarios {
		if i == 0 {
			p.line("## Scenarios")
		}
		head, rule := "| | scenario | mode | workload | "+md(t.heading())+" (95 % interval) |", "|---|---|---|---|--:|"
		if t.sent() {
			head, rule = head+" sent |", rule+"--:|"
		}
		if t.cpu() {
			head, rule = head+" CPU |", rule+"--:|"
		}
		p.item("%s ratio (95 %% interval) | verdict |", head)
		p.item("%s--:|---|", rule)
		for _, r := range t.Rows {
			line := "| **" + md(r.Scenario.ID) + "** | " + md(r.Scenario.Title) + " | " + md(r.Mode.ID) + " | " + md(r.Scenario.Workload) +
				" | " + r.value(t.Scale) + " |"
			if t.sent() {
				line += " " + r.sentText(t.Scale) + " |"
			}
			if t.cpu() {
				line += " " + r.cpuText() + " |"
			}
			p.item("%s %s | %s |", line, r.ratio(), md(r.judgedBriefly(t.Scale)))
		}
		p.item("")
		if t.cpu() {
			p.line("%s", md(cpuLegend))
		}
		for _, r := range t.Rows {
			if text := r.Scenario.Description; text != "" {
				p.line("**%s**: %s", md(r.Scenario.ID), md(text))
			}
		}
	}
}

func (p *page) comparisons(v view) {
	if len(v.Comparisons) == 0 {
		return
	}
	p.line("## Comparisons")
	p.item("| comparison | metric | A | B | ratio (95 %% interval) | verdict | p | smallest seen | n |")
	p.item("|---|---|--:|--:|--:|---|--:|--:|--:|")
	for _, c := range v.Comparisons {
		name := md(c.heading())
		if len(c.Lines) == 0 {
			p.item("| %s | - | - | - | - | %s | - | - | - |", name, md(c.without()))
		}
		for i, l := range c.Lines {
			if i > 0 {
				name = ""
			}
			p.item("| %s | %s | %s | %s | %s | %s | %s | %s | %s |", name, md(l.heading()), l.value(l.A), l.value(l.B),
				say.Ratio(l.Ratio, l.RatioCI), md(l.brieflyJudged()), md(say.P(l.P)), md(l.detectable()), md(l.count()))
		}
	}
	p.item("")
	p.line("%s", md(comparedLegend))
}

func (p *page) modes(v view) {
	var items []string
	for _, m := range v.Run.Modes {
		title := m.Title
		if unmeasured(m) {
			title = strings.TrimPrefix(title+"; "+fate(m), "; ")
		}
		items = append(items, strings.TrimSuffix("- **"+md(m.ID)+"**: "+md(title), ": "))
		if m.Mode != "" && m.Mode != m.ID {
			items = append(items, "  - "+md("mode "+m.Mode))
		}
		if m.Description != "" {
			items = append(items, "  - "+md(m.Description))
		}
		if len(m.Facts) > 0 {
			items = append(items, "  - "+md(facts(m.Facts)))
		}
		for _, way := range paths(m.Topology) {
			items = append(items, "  - "+mdPath(way))
		}
		if m.Topology != nil {
			items = append(items, "  - "+md(provenInWords(m.Proof)))
		}
		for _, f := range p.figures {
			if f.Path != nil && f.Mode == m.ID {
				items = append(items, "  - "+p.image(f))
			}
		}
	}
	if len(items) > 0 {
		p.line("## Modes and their paths")
		p.line("%s", strings.Join(items, "\n"))
	}
}

// mdPath is a way through a topology, place by place.
func mdPath(way []stop) string {
	var parts []string
	for _, at := range places(way) {
		var labels []string
		for _, s := range at.Stops {
			labels = append(labels, md(s.Label))
		}
		part := strings.Join(labels, " → ")
		if at.Where != "" {
			part = "*" + md(at.Where) + "*: " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " → ")
}
