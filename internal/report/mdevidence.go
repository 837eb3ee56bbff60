package report

import (
	"fmt"
	"strings"
)

// evidence writes what the figures cost, where datagrams died and what held TCP back,
// with all their tables.
func (p *page) evidence(e evidence) {
	if len(e.Bills)+len(e.Breakdowns) > 0 || e.Pass != nil {
		p.line("## What it costs in CPU")
	}
	for i, b := range e.Bills {
		if i == 0 {
			p.line("%s", md(b.Legend()))
		}
		p.bill(b)
	}
	if e.Pass != nil {
		p.line("### At a fixed rate")
		p.line("%s", md(e.Pass.Text))
		if e.Pass.ID != "" && e.Pass.Empty != "" {
			p.line("%s", md(e.Pass.Empty))
		}
		for _, t := range append(e.Pass.billed(), e.Pass.carried()...) {
			p.metric(t, "#### ")
		}
		if e.Pass.Bill != nil {
			p.processes(*e.Pass.Bill)
		}
	}
	for _, b := range e.Breakdowns {
		p.breakdown(b)
	}
	p.losses(e.Losses)
	p.limits(e.Limits)
}

func (p *page) bill(b bill) {
	for _, t := range b.Tables {
		p.metric(t, "### "+md(b.Workload)+": ")
	}
	p.processes(b)
}

// processes lists what the modes' own processes used.
func (p *page) processes(b bill) {
	for i, own := range b.Processes {
		if i == 0 {
			p.line("%s", md(processesLegend))
		}
		p.item("- **%s**: %s", md(own.Mode), md(own.Text))
	}
	if len(b.Processes) > 0 {
		p.item("")
	}
}

func (p *page) breakdown(b breakdown) {
	b = b.finer()
	p.line("### %s: %s", md(b.Workload), md(lower(b.title())))
	for _, m := range b.Missing {
		p.line("%s", md(m))
	}
	if len(b.Modes) == 0 {
		return
	}
	p.drawn(func(f named) bool { return f.Stack && f.Table.Workload == b.Workload })
	head := "| component |"
	for _, m := range b.Modes {
		head += " " + md(m.Mode) + " |"
		if m.Base != "" {
			head += " beside " + md(m.Base) + " |"
		}
	}
	p.item("%s", head)
	p.item("|---|%s", strings.Repeat("--:|", strings.Count(head, "|")-2))
	for i, r := range append(b.Rows, b.all()) {
		name := md(r.Name)
		if i == len(b.Rows) {
			name = "**" + name + "**"
		}
		line := "| " + name + " |"
		for j, c := range r.Cells {
			line += " " + b.value(c) + " |"
			if b.Modes[j].Base != "" {
				line += " " + b.diff(c) + " |"
			}
		}
		p.item("%s", line)
	}
	p.item("")
	p.line("%s", md(b.unknown()))
	for i, f := range b.Folded() {
		if i == 0 {
			p.line("Folded stacks, for a flame graph:")
		}
		p.item("- %s", md(f))
	}
	if len(b.Folded()) > 0 {
		p.item("")
	}
}

func (p *page) losses(tables []lossTable) {
	for i, t := range tables {
		if i == 0 {
			p.line("## Where datagrams died")
			p.line("%s", md(lossLegend))
		}
		p.line("### %s", md(t.Workload))
		if len(t.Rows) > 0 {
			p.item("| mode | place | where | counter | datagrams | of what was lost |")
			p.item("|---|---|---|---|--:|--:|")
		}
		for _, r := range t.Rows {
			p.item("| %s | %s | | | %d | |", md(r.Mode), md(r.whole()), r.Lost)
			for _, l := range r.lines() {
				p.item("| | %s | %s | %s | %s | %s |", md(l.Title), md(l.Where), md(l.Counter), md(fmt.Sprint(l.Count)), md(r.portion(l.Count)))
			}
		}
		p.item("")
		for _, r := range t.Rows {
			if text := r.reasons(len(r.Reasons)); text != "" {
				p.line("%s, in the kernel's words: %s", md(r.Mode), md(text))
			}
		}
		for _, m := range t.Missing {
			p.line("Not known: %s", md(m))
		}
	}
}

func (p *page) limits(tables []limitTable) {
	for i, t := range tables {
		if i == 0 {
			p.line("## Who limited TCP")
			p.line("%s", md(limitLegend))
		}
		p.line("### %s", md(t.Workload))
		if len(t.Rows) > 0 {
			p.item("| mode | %s | retransmits, whole trials |", strings.Join(limitNames(), " | "))
			p.item("|---|--:|--:|--:|--:|---|")
		}
		for _, r := range t.Rows {
			line := "| " + md(r.name(t)) + " |"
			for _, text := range r.Texts() {
				line += " " + md(text) + " |"
			}
			p.item("%s %s |", line, md(r.Again()))
		}
		p.item("")
		for _, m := range t.Missing {
			p.line("Not known: %s", md(m))
		}
	}
}

// leads are what is said before the answers.
func (p *page) leads(e evidence) {
	for _, text := range e.Lead {
		p.line("**%s**", md(text))
	}
}
