package view

import (
	"io"

	"tare/internal/report/doc"
	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/result"
)

// What the tests of all forms write a report with.

type TextOptions = text.Options

func Figures(in Input) (map[string][]byte, error) { return New(in).Figures(), nil }

func Text(w io.Writer, in Input, opt text.Options) error {
	_, err := w.Write(text.Write(New(in).Document(), opt))
	return err
}

func Markdown(w io.Writer, in Input) error {
	_, err := w.Write(markdown.Write(New(in).Document()))
	return err
}

func HTML(w io.Writer, in Input) error {
	_, err := w.Write(html.Write(New(in).Document()))
	return err
}

func ChangesText(w io.Writer, c result.Changes, opt text.Options) error {
	_, err := w.Write(text.Changes(Changes(c), opt))
	return err
}

func ChangesMarkdown(w io.Writer, c result.Changes) error {
	_, err := w.Write(markdown.Changes(Changes(c)))
	return err
}

// ChangesScreen is the first screen of changes.
func ChangesScreen(w io.Writer, c result.Changes, command string, opt text.Options) error {
	_, err := w.Write(text.Overview(ChangesOverview(c, command), opt))
	return err
}

func claimsMarkdown(blocks []doc.Block) []byte { return markdown.Blocks(blocks) }
