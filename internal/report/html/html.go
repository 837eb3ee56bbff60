// Package html writes a document as one page that needs nothing else.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/hypertext"
)

//go:embed page.js
var pageScript string

//go:embed page.css
var pageStyle string

// Style is how pages look, with its source for a Content-Security-Policy that allows nothing
// else.
func Style() (style, source string) {
	style = chart.CSS() + pageStyle
	return style, sourceOf(style)
}

// Script is the script of pages, with its source for a Content-Security-Policy that allows
// nothing else.
func Script() (script, source string) { return pageScript, sourceOf(pageScript) }

func sourceOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// markup is text that is HTML already.
type markup = hypertext.Markup

type page struct{ bytes.Buffer }

func (p *page) f(format string, args ...any) { hypertext.Write(&p.Buffer, format, args...) }

var (
	option   = regexp.MustCompile(`--[a-z][a-z-]*`)
	interval = regexp.MustCompile(`\(([0-9.]+)-([0-9.]+)\)`)
)

func escape(s string) markup { return hypertext.Escape(s) }

// tight keeps a number, its unit, its per cent sign and its interval on one line.
func tight(s string) string {
	for _, u := range []string{"%", "Gbit/s", "Mbit/s", "kbit/s", "bit/s", "k/s", "/s", "us", "ms", "more", "ms/Gbit", "s/Gbit", "CPUs", "("} {
		s = strings.ReplaceAll(s, " "+u, "\u00a0"+u)
	}
	s = strings.ReplaceAll(s, "≥ ", "≥\u00a0")
	return interval.ReplaceAllString(s, "($1\u2011$2)")
}

// tightIf is the prose s, tight or not.
func tightIf(is bool, s string) markup {
	if is {
		s = tight(s)
	}
	return prose(s)
}

// prose is a text with each option of a command, such as --full, on one line: a browser would break it after its hyphens.
func prose(s string) markup {
	return markup(option.ReplaceAllString(string(escape(s)), `<span class="nb">$0</span>`))
}

func mark(t chart.Tone) markup { return markup(chart.MarkRef(t)) }

// entity is a text of the program's own with its per cent signs bound by entities.
func entity(s string) markup {
	return markup(strings.ReplaceAll(string(escape(s)), " %", "&nbsp;%"))
}

// own is text of the program's own in an attribute, where an apostrophe may stand.
func own(s string) markup {
	return markup(strings.ReplaceAll(string(escape(s)), "&#39;", "'"))
}

// Write is a document as a page.
func Write(d doc.Document) []byte {
	p := &page{}
	style, styleSource := Style()
	script, scriptSource := Script()
	blocks := doc.For(doc.HTML, d.Blocks)
	p.f(head, styleSource, scriptSource, d.Generator, d.Title, markup(style), markup(chart.MarkSymbols()), d.Title)
	if d.Description != "" {
		p.f(`<p class="lead">%s</p>`, d.Description)
	}
	p.f("\n<p class=\"meta\">%s</p>\n", strings.Join(d.Particulars, " · "))
	for _, n := range d.Notices {
		class := markup("")
		if n.Grave {
			class = " grave"
		}
		p.f("<p class=\"notice%s\" role=\"note\">%s</p>\n", class, prose(n.Text))
	}
	p.f(`<nav aria-label="Contents">`)
	for i, b := range blocks {
		if s, ok := b.(doc.Section); ok && s.Nav != "" {
			if i > 0 || s.ID != "answer" {
				p.f(" ")
			}
			p.f(`<a href="#%s">%s</a>`, s.ID, s.Nav)
		}
	}
	p.f("\n</nav>\n<div id=\"tools\" role=\"group\" aria-label=\"Show\" hidden></div>\n</header>\n<main>")
	for _, b := range blocks {
		p.block(b, 2)
	}
	p.f("\n</main>\n<footer>\n<p>In figures and tables: ")
	for _, t := range []struct {
		tone chart.Tone
		text markup
	}{
		{chart.Worse, "worse,\n"}, {chart.Better, "better,\n"}, {chart.Same, "same within the margin,\n"},
		{chart.Small, "different, but less than the margin,\n"}, {chart.Unsure, "cannot tell,\n"}, {chart.Plain, "not compared,\n"},
		{chart.Absent, "not measured. "},
	} {
		p.f(`<span class="t-%s">%s</span> %s`, string(t.tone), mark(t.tone), t.text)
	}
	p.f(foot, markup(script))
	return p.Bytes()
}

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s; script-src %s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="tare %s">
<title>%s · tare</title>
<style>%s</style>
</head>
<body>
%s
<header>
<p class="brand">tare <span>the network overhead of containers</span></p>
<h1><bdi>%s</bdi></h1>
`

const foot = `Intervals are 95&nbsp;%% intervals.
A ratio is the mean, block by block, of a mode to its baseline.</p>
<p>In the figures a dot is a trial; in those of ratios it is a block, the mode's trial over its baseline's in the same block.
The bar below the dots is the 95&nbsp;%% interval around the mean, whose mark is the verdict's.
The shaded band is the margin within which two modes count as the same. A small cross is a trial that was ruled out and does not count.</p>
</footer>
<script>%s</script>
</body>
</html>
`

// block writes a block; level is that of the next heading.
func (p *page) block(b doc.Block, level int) {
	switch b := b.(type) {
	case doc.Section:
		p.section(b, level)
	case doc.Paragraph:
		p.paragraph(b)
	case doc.List:
		p.list(b)
	case doc.Table:
		p.table(b)
	case doc.Overview:
		p.overview(b)
	case doc.Figure:
		p.figure(b)
	case doc.Details:
		p.details(b, level)
	case doc.Path:
		p.path(b)
	case doc.Beside:
		p.f("\n<div class=\"charts\">")
		p.blocks(b.Blocks, level)
		if !b.Single {
			p.f("\n")
		}
		p.f("</div>")
	case doc.Command:
		p.f("\n<p>%s</p>\n<pre class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Command\"><code>%s</code></pre>", b.Text, b.Line)
	}
}

func (p *page) blocks(blocks []doc.Block, level int) {
	for _, b := range doc.For(doc.HTML, blocks) {
		p.block(b, level)
	}
}

func (p *page) section(s doc.Section, level int) {
	end := markup("")
	switch {
	case level == 2:
		p.f("\n<section aria-labelledby=\"%s\"", s.ID)
		if s.Look == doc.Work {
			p.f(` data-w="%s"`, s.ID)
		}
		p.f(">")
		end = "\n</section>"
	case s.Look == doc.Metric:
		p.f("\n<section class=\"metric\">")
		end = "\n</section>"
	case s.Look == doc.Mode:
		p.f("\n<article class=\"mode\"")
		p.group(s.Group)
		p.f(">")
		end = "\n</article>"
	}
	if s.Fold {
		p.f("\n<details class=\"fold\">\n<summary>")
	}
	p.f("\n<h%d id=\"%s\">", level, s.ID)
	p.heading(s.Head)
	p.f("</h%d>", level)
	if s.Fold {
		p.f("\n</summary>")
		end = "\n</details>" + end
	}
	p.blocks(s.Blocks, 3)
	p.f("%s", end)
}

func (p *page) heading(h doc.Heading) {
	if h.Name != "" || h.Text == "" {
		p.f("<bdi>%s</bdi>", h.Name)
		if h.Text != "" {
			p.f(": ")
		}
	}
	p.f("%s", tightIf(h.Tight, h.Text))
	if h.Small != "" {
		p.f(" <small>%s</small>", tightIf(h.Tight, h.Small))
	}
	for _, n := range h.Notes {
		p.f(" <small><bdi>%s</bdi></small>", n)
	}
}

// group says which mode an element is about.
func (p *page) group(no int) {
	if no != 0 {
		p.f(` data-m="%d"`, no)
	}
}

func (p *page) class(name string) {
	if name != "" {
		p.f(` class="%s"`, name)
	}
}

func (p *page) paragraph(b doc.Paragraph) {
	p.f("\n<p")
	p.class(string(b.Role))
	p.f(">")
	if b.Role == doc.Reason || b.Role == doc.Missing {
		p.f(`<span class="t-absent">%s</span> `, mark(chart.Absent))
	}
	p.f("%s", tightIf(b.Tight, b.Text))
	if b.Link != nil {
		p.f("<a href=\"#%s\">%s</a>.", b.Link.To, b.Link.Text)
	}
	p.f("</p>")
}

func (p *page) list(l doc.List) {
	p.f("\n<ul")
	p.class(string(l.Role))
	p.f(">")
	for _, i := range l.Items {
		p.f("\n<li")
		p.group(i.Group)
		p.f(">")
		if i.Name != "" {
			p.f("<strong><bdi>%s</bdi></strong> ", i.Name)
		}
		p.f("%s", tightIf(l.Tight, i.Text))
		for n, c := range i.Clauses {
			if n > 0 {
				p.f("; ")
			}
			text := tight(c.Text)
			p.f(`<span class="clause">`)
			if c.Tone != chart.Plain {
				first := text
				if at := strings.IndexByte(text, ' '); at >= 0 {
					first = text[:at]
				}
				p.f(`<span class="nb">%s&nbsp;%s</span>`, mark(c.Tone), first)
				text = text[len(first):]
			}
			p.f("%s</span>", text)
		}
		if len(i.Clauses) > 0 {
			p.f(".")
		}
		if i.Code != "" {
			p.f(" <code>%s</code>", i.Code)
		}
		p.f("</li>")
	}
	p.f("\n</ul>")
}

func (p *page) details(d doc.Details, level int) {
	p.f("\n<details")
	p.class(d.Look)
	p.f(">\n<summary>%s", d.Summary)
	if d.Name != "" {
		p.f("<bdi>%s</bdi>", d.Name)
	}
	p.f("</summary>")
	p.blocks(d.Blocks, level)
	p.f("\n</details>")
}

func (p *page) figure(f doc.Figure) {
	p.f("\n<figure")
	p.class(string(f.Look))
	p.f(">")
	if len(f.Keys) > 0 {
		p.f("\n<ul class=\"keys\">")
		for _, k := range f.Keys {
			if f.Look == doc.Panels {
				p.f("\n<li>%s %s</li>", markup(chart.Swatch(k.No)), k.Name)
				continue
			}
			p.f("\n<li")
			p.group(k.Group)
			p.f(">%s <bdi>%s</bdi></li>", markup(chart.LineKey(k.No)), k.Name)
		}
		p.f("\n</ul>")
	}
	// The charts escape all text that they are given.
	if f.Look == doc.Panels {
		p.f("\n<div class=\"panels\">\n")
		for i, d := range f.Drawings {
			p.f("<div>%s</div>\n", markup(d.Inline(fmt.Sprintf("%s%d", f.ID, i+1))))
		}
		p.f("</div>")
	} else {
		for _, d := range f.Drawings {
			p.f("\n%s", markup(d.Inline(f.ID)))
		}
		p.f("\n<figcaption>%s</figcaption>", tightIf(f.Look == doc.Shown, f.Caption))
	}
	if b := f.Behind; b != nil {
		summary := "As a table"
		if b.Caption != "" {
			summary += ": " + b.Caption
		}
		p.details(doc.Details{Summary: summary, Blocks: []doc.Block{*b}}, 3)
	}
	p.f("\n</figure>")
}

func (p *page) path(way doc.Path) {
	p.f("\n<ol class=\"path\">")
	for _, at := range way.Steps {
		p.f("\n<li><span class=\"where\">%s</span><ol>", at.Where)
		for _, s := range at.Stops {
			p.f("\n<li class=\"%s\"><span>%s</span>", s.Look, s.Label)
			if s.Facts != "" {
				p.f("<small>%s</small>", s.Facts)
			}
			p.f("</li>")
		}
		p.f("\n</ol></li>")
	}
	p.f("\n</ol>")
}
