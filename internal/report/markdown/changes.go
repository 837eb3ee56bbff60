package markdown

import "tare/internal/report/doc"

// Changes is what changed from one run to another as a page of Markdown.
func Changes(c doc.Changes) []byte {
	p := &page{}
	p.line("# What changed")
	p.line("Before: %s", md(c.Before))
	p.item("After: %s", md(c.After))
	for _, s := range c.Notes {
		p.item("\n%s\n", md(s.Heading))
		for _, l := range s.Lines {
			p.item("- %s", md(l))
		}
	}
	for _, t := range c.Tables {
		if !t.Times() {
			p.item("\n## %s\n\n| mode | before | after | change |\n|---|---|---|---|", md(t.Heading))
			for _, r := range t.Rows {
				p.item("| %s | %s | %s | %s |", md(r.Mode), md(r.Before), md(r.After), md(r.Verdict))
			}
			continue
		}
		p.item("\n## %s\n\n| mode | before | after | change | time |\n|---|---|---|---|---|", md(t.Heading))
		for _, r := range t.Rows {
			p.item("| %s | %s | %s | %s | %s |", md(r.Mode), md(r.Before), md(r.After), md(r.Verdict), md(r.Time))
		}
	}
	p.item("\n%s", md(c.Legend))
	return p.Bytes()
}
