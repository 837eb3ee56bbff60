package report

import (
	"fmt"
	"strings"
)

// course says what the run decided about itself.
func (p *page) course(v view) {
	if len(v.Course) == 0 {
		return
	}
	p.line("## How the run went")
	for _, text := range v.Course {
		p.item("- %s", md(text))
	}
	p.item("")
}

// sweeps writes a table for each sweep: a row a load, a column a mode.
func (p *page) sweeps(v view) {
	for _, s := range v.Sweeps {
		p.line("## %s: loss by load", md(s.ID))
		p.line("Loss ratio in percent, with its 95 %% interval.")
		head := "| load |"
		for _, m := range s.Modes {
			head += " " + md(m) + " |"
		}
		p.item("%s", head)
		p.item("|--:|%s", strings.Repeat("--:|", len(s.Modes)))
		for _, r := range s.Rows {
			line := "| " + md(r.Rate) + " |"
			for _, l := range r.Loss {
				line += " " + l + " |"
			}
			p.item("%s", line)
		}
		p.item("")
	}
}

// searches says how sure modes are of the rates found, and holds what the steps lost
// over the loads.
func (p *page) searches(w workload) {
	if len(w.Rates) > 0 {
		p.line("%s", md(searchLegend))
		p.item("| mode | goal | steps at the rate found |")
		p.item("|---|---|---|")
		for _, r := range w.Rates {
			p.item("| %s | %s | %s |", md(r.Mode), md(r.Goal), md(r.Text))
		}
		p.item("")
	}
	for _, c := range w.Curves {
		p.line("<details><summary>%s</summary>", entities(c.Caption()))
		p.item("| load, %s | median loss | most | lossy | steps | time | sender short |", md(c.Unit))
		p.item("|--:|--:|--:|--:|--:|--:|--:|")
		for _, o := range c.Points {
			p.item("| %s | %s | %s | %d | %d | %s | %d |", o.Load, o.Median, o.Worst, o.Lossy, o.Steps, o.Seconds, o.Limited)
		}
		p.item("")
		p.line("</details>")
	}
}

// entities escapes text within HTML that stands in Markdown, where a backslash would
// be seen: whatever means something in either is written as a number.
func entities(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]()<>&|#!~\"'", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
