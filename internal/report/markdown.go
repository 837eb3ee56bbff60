package report

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"tare/internal/result"
)

// Markdown writes the report as a page of GitHub-flavoured Markdown. Its only
// error is that of w.
func Markdown(w io.Writer, in Input) error {
	return Prepare(in).Markdown(w)
}

// Markdown writes the report as [Markdown] does.
func (r Prepared) Markdown(w io.Writer) error {
	v := r.view
	p := &page{dir: v.FiguresDir}
	if p.dir != "" {
		p.figures = v.figures()
	}
	p.line("# %s", md(v.Title))
	for _, n := range v.Notices {
		p.line("> **%s**", md(n.Text))
	}
	for _, par := range strings.Split(v.Description, "\n") {
		if par != "" {
			p.line("%s", md(par))
		}
	}
	p.answers(v)
	p.scenarios(v)
	p.comparisons(v)
	p.warnings(v)
	p.sweeps(v)
	for _, w := range v.Workloads {
		p.workload(v, w)
	}
	p.evidence(v.Evidence)
	p.agreements(v)
	p.modes(v)
	p.course(v)
	p.lost(v)
	p.about(v)
	_, err := w.Write(p.Bytes())
	return err
}

// page collects blocks of Markdown.
type page struct {
	bytes.Buffer
	dir     string
	figures []named
}

// line writes a block: a line and an empty one. Arguments are Markdown already.
func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n\n", args...)
}

// item writes one line of a list or of a table.
func (p *page) item(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

func (p *page) answers(v view) {
	if len(v.Answers) == 0 {
		return
	}
	p.line("## The answer")
	p.leads(v.Evidence)
	for _, a := range v.Answers {
		text := strings.TrimPrefix(a.String(), a.Mode)
		p.item("- **%s** %s", md(a.Mode), md(text))
	}
	p.item("")
}

func (p *page) warnings(v view) {
	if len(v.Run.Warnings) == 0 {
		return
	}
	p.line("## Warnings")
	for _, w := range v.Run.Warnings {
		p.item("- %s", md(warning(w)))
	}
	p.item("")
}

func (p *page) workload(v view, w workload) {
	p.line("## %s", md(w.ID))
	if w.Empty != "" {
		p.line("%s", md(w.Empty))
	}
	for _, t := range w.Tables {
		if !v.billed(t) {
			p.metric(t, "### ")
		}
	}
	p.searches(w)
}

// metric writes one metric below a heading that begins with head.
func (p *page) metric(t table, head string) {
	title := head + md(t.heading())
	if d := direction(t.Metric); d != "" {
		title += " (" + d + ")"
	}
	p.line("%s", title)
	p.drawn(func(f named) bool {
		return !f.Stack && f.Path == nil && f.Table.Workload == t.Workload && f.Table.Metric.Name == t.Metric.Name
	})
	p.table(t)
	if s := t.seen(); s != "" {
		p.line("%s", md(s))
	}
}

// drawn shows the figures that are as asked.
func (p *page) drawn(is func(named) bool) {
	for _, f := range p.figures {
		if is(f) {
			p.line("%s", p.image(f))
		}
	}
}

// image is a figure by its file.
func (p *page) image(f named) string {
	link := url.URL{Path: path.Join(p.dir, f.File)}
	return "![" + md(f.title()) + "](" + link.EscapedPath() + ")"
}

func (p *page) table(t table) {
	p.item("| mode | mean (95 %% interval) | ratio (95 %% interval) | verdict | p | smallest seen | n |")
	p.item("|---|--:|--:|---|--:|--:|--:|")
	for _, g := range t.Groups {
		if g.Heading != "" {
			p.item("| *%s* | | | | | | |", md(g.Heading))
		}
		for _, r := range g.Rows {
			p.item("| %s | %s | %s | %s | %s | %s | %s |", md(r.Mode.ID), r.value(t.Scale), r.ratio(),
				md(r.judgedBriefly(t.Scale)), md(r.p()), md(r.detectable()), r.n())
		}
	}
	p.item("")
}

func (p *page) agreements(v view) {
	for i, a := range agreements(v) {
		if i == 0 {
			p.line("## Two tools")
		}
		p.line("%s", md(a))
	}
}

func (p *page) lost(v view) {
	p.line("## Trials")
	p.line("%s", v.Tally.String())
	for _, t := range v.Lost {
		p.item("- %s", md(lost(t, 1000)))
	}
	if len(v.Lost) > 0 {
		p.item("")
	}
}

func (p *page) about(v view) {
	p.line("## This run")
	p.facts(about(v))
	for _, h := range v.Run.Hosts {
		p.line("### Host %s", md(orUnknown(h.Name)))
		p.facts(h.Facts)
	}
	if s := standingsOf(v.Run.Modes); len(s) > 0 {
		p.line("### What the modes stood on")
		p.item("| | |")
		p.item("|---|---|")
		for _, s := range s {
			p.item("| %s | %s |", md(s.Names()), md(s.Text()))
		}
		p.item("")
	}
	if v.Command != "" {
		fence := strings.Repeat("`", max(3, longestRun(v.Command, '`')+1))
		p.line("### How to repeat")
		p.line("%s\n%s\n%s", fence, v.Command, fence)
	}
}

func (p *page) facts(fs []result.Fact) {
	if len(fs) == 0 {
		p.line("Nothing is known.")
		return
	}
	p.item("| | |")
	p.item("|---|---|")
	for _, f := range fs {
		p.item("| %s | %s |", md(f.Name), md(orUnknown(f.Value)))
	}
	p.item("")
}
