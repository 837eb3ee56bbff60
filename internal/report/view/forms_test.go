package view

import (
	"tare/internal/report/doc"
	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/report/view/change"
	"tare/internal/report/view/model"
	"tare/internal/result"
)

// What the tests of all forms write a report with.

type TextOptions = text.Options

func Text(in model.Input, opt text.Options) string {
	return string(text.Write(New(in).Document(), opt))
}

func Markdown(in model.Input) string { return string(markdown.Write(New(in).Document())) }

func HTML(in model.Input) string { return string(html.Write(New(in).Document())) }

func changesText(c result.Changes, opt text.Options) string {
	return string(text.Changes(change.Full(c), opt))
}

func changesMarkdown(c result.Changes) string { return string(markdown.Changes(change.Full(c))) }

// changesScreen is the first screen of changes.
func changesScreen(c result.Changes, command string) string {
	return string(text.Overview(change.Overview(c, command, model.UnitBoth), text.Options{}))
}

func claimsMarkdown(blocks []doc.Block) string { return string(markdown.Blocks(blocks)) }

// everything is every form of one report, and its figures.
func everything(in model.Input) map[string]string {
	out := map[string]string{"text": Text(in, TextOptions{}), "Markdown": Markdown(in), "HTML": HTML(in)}
	for name, svg := range New(in).Figures() {
		out[name] = string(svg)
	}
	return out
}
