package html

import (
	"tare/internal/report/chart"
	"tare/internal/report/doc"
)

// Changes is what changed from one run to another as a page without a script.
func Changes(c doc.Changes) []byte {
	p := &page{}
	style, source := Style()
	p.f(changesHead, source, markup(style), c.Before, c.After)
	for _, s := range c.Notes {
		p.f("\n<section>\n<h2>%s</h2>", s.Heading)
		l := doc.List{Role: doc.Warning}
		for _, text := range s.Lines {
			l.Items = append(l.Items, doc.Item{Text: text})
		}
		p.list(l)
		p.f("\n</section>")
	}
	for _, t := range c.Tables {
		p.f("\n<section class=\"figures\">\n<h2>%s</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table>", t.Heading, t.Heading)
		p.f("\n<thead><tr><th scope=\"col\">Mode</th><th scope=\"col\" class=\"num\">Before</th><th scope=\"col\" class=\"num\">After</th><th scope=\"col\">Change</th>")
		if t.Times() {
			p.f(`<th scope="col" class="num">Time</th>`)
		}
		p.f("</tr></thead>\n<tbody>")
		for _, r := range t.Rows {
			// The chart escapes all text that it is given.
			p.f("\n<tr><th scope=\"row\"><bdi>%s</bdi></th><td class=\"num\">%s</td><td class=\"num\">%s</td>", r.Mode, tight(r.Before), tight(r.After))
			p.f(`<td class="verdict"><div><span class="t-%s">%s</span> %s</div></td>`, string(r.Tone), markup(chart.Mark(r.Tone)), tight(r.Verdict))
			if t.Times() {
				p.f(`<td class="num">%s</td>`, tight(r.Time))
			}
			p.f("</tr>")
		}
		p.f("\n</tbody>\n</table></div>\n</section>")
	}
	p.f("\n<p class=\"legend\">%s</p>\n</main>\n</body>\n</html>\n", c.Legend)
	return p.Bytes()
}

const changesHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>What changed · tare</title>
<style>%s</style>
</head>
<body>
<header>
<p class="brand">tare <span>the network overhead of containers</span></p>
<h1>What changed</h1>
<p class="meta">Before: %s</p>
<p class="meta">After: %s</p>
</header>
<main>`
