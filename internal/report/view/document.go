package view

import (
	"sync"

	"tare/internal/report/doc"
	"tare/internal/report/view/answer"
	"tare/internal/report/view/claims"
	"tare/internal/report/view/cpu"
	"tare/internal/report/view/model"
	"tare/internal/report/view/paths"
	"tare/internal/report/view/section"
	"tare/internal/report/view/why"
	"tare/internal/report/view/workloads"
)

// document is the report as blocks.
func document(v model.View) doc.Document {
	b := model.NewBuilder(v)
	b.Images = sync.OnceValue(func() []model.Named {
		if v.FiguresDir == "" {
			return nil
		}
		return figures(v)
	})
	d := doc.Document{Title: v.Title, Description: v.Description, Generator: v.Run.Tare.Version, Particulars: model.Particulars(v), Notices: v.Notices}
	add := func(m doc.Media, blocks ...doc.Block) {
		if len(blocks) > 0 {
			d.Blocks = append(d.Blocks, doc.Only{For: m, Blocks: blocks})
		}
	}
	add(doc.Terminal, section.Leads(b)...)
	add(doc.Pages, overviewSection(b))
	add(0, why.Section(b)...)
	add(0, claims.Section(b)...)
	add(doc.HTML, answer.Matrix(b)...)
	add(0, section.Scenarios(b)...)
	add(0, section.Comparisons(b)...)
	add(doc.Markdown, section.Warnings(b)...)
	add(0, section.Sweeps(b)...)
	add(0, section.Concurrencies(b)...)
	add(0, workloads.Section(b)...)
	add(0, cpu.Section(b)...)
	add(doc.HTML, paths.Section(b)...)
	add(0, section.Losses(b)...)
	add(0, section.Limits(b)...)
	add(0, section.Agreements(b)...)
	add(doc.Markdown, paths.List(b)...)
	add(doc.Markdown|doc.Terminal, section.Decisions(b)...)
	add(doc.Terminal, section.FewLost(b))
	add(doc.Markdown, section.AllLost(b))
	add(doc.Terminal|doc.HTML, section.Warnings(b)...)
	add(doc.Terminal, section.Hosts(b)...)
	add(doc.Markdown, section.About(b))
	add(doc.HTML, section.Environment(b)...)
	add(doc.HTML, section.Method(b), section.Lost(b))
	add(doc.HTML, section.Repeat(b)...)
	return d
}
