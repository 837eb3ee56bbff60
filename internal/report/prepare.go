package report

import (
	"html/template"
	"io"

	"tare/internal/report/doc"
	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
)

// TextOptions says how to write for a terminal.
type TextOptions = text.Options

// Prepared is a report that was worked out once, to be written in several forms: of a
// run with very many trials that takes longer than writing it.
type Prepared struct {
	view view
	doc  doc.Document
}

// Prepare works out a report.
func Prepare(in Input) Prepared {
	v := newView(in)
	return Prepared{v, v.document()}
}

// Text writes the report for a terminal: no line is wider than opt.Width, but for
// a quoted command, and only opt.Color brings in escape sequences. Its only error
// is that of w.
func Text(w io.Writer, in Input, opt TextOptions) error { return Prepare(in).Text(w, opt) }

// Text writes the report as [Text] does.
func (r Prepared) Text(w io.Writer, opt TextOptions) error {
	_, err := w.Write(text.Write(r.doc, opt))
	return err
}

// Markdown writes the report as a page of GitHub-flavoured Markdown. Its only
// error is that of w.
func Markdown(w io.Writer, in Input) error { return Prepare(in).Markdown(w) }

// Markdown writes the report as [Markdown] does.
func (r Prepared) Markdown(w io.Writer) error {
	_, err := w.Write(markdown.Write(r.doc))
	return err
}

// HTML writes the report as one page that needs nothing else: no request to
// anywhere. Its one script makes it handier, and nothing is missing without it. A
// Content-Security-Policy with the hashes of its style and of its script holds it to
// that, whatever the run's strings contain. Its only error is that of w.
func HTML(w io.Writer, in Input) error { return Prepare(in).HTML(w) }

// HTML writes the report as [HTML] does.
func (r Prepared) HTML(w io.Writer) error {
	_, err := w.Write(html.Write(r.doc))
	return err
}

// Style is how pages look, with the source by which a Content-Security-Policy lets it
// in and nothing else.
func Style() (style template.CSS, source string) {
	text, source := html.Style()
	return template.CSS(text), source
}

// Script is what makes pages handier, with the source by which a
// Content-Security-Policy lets it in and nothing else.
func Script() (script template.JS, source string) {
	text, source := html.Script()
	return template.JS(text), source
}
