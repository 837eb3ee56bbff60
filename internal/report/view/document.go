package view

import (
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

// part is a section of a report: the media that have it, 0 for all, and its blocks.
type part struct {
	on     doc.Media
	blocks func(*model.Builder) []doc.Block
}

// parts are the sections of a run's report in their order. A section has no blocks where the run lacks what it shows.
func parts() []part {
	return []part{
		{doc.Markdown, section.Particulars},
		{doc.Terminal, section.Leads},
		{doc.Markdown, answerOn(doc.Markdown)},
		{doc.HTML, answerOn(doc.HTML)},
		{screens, why.Section},
		{0, claims.Section},
		{doc.HTML, answer.Matrix},
		{screens, section.Scenarios},
		{screens, section.Comparisons},
		{screens, section.Sweeps},
		{screens, section.Concurrencies},
		{screens, workloads.Section},
		{screens, cpu.Section},
		{doc.HTML, paths.Section},
		{screens, section.SetupTimes},
		{0, section.Failures},
		{screens, section.Losses},
		{screens, section.Limits},
		{screens, section.Agreements},
		{screens, section.Sensitivity},
		{screens, section.Chance},
		{doc.Terminal, section.Decisions},
		{doc.Terminal, section.TrialsBriefly},
		{0, section.Warnings},
		{doc.Terminal, section.Hosts},
		{doc.Terminal | doc.Markdown, section.Again},
		{doc.HTML, section.Environment},
		{doc.HTML, section.Method},
		{doc.HTML, section.Trials},
		{doc.HTML, section.Repeat},
	}
}

// screens are the media that show all of a run. Markdown has the first screen.
const screens = doc.Terminal | doc.HTML

// document is the report as blocks.
func document(v model.View) doc.Document {
	b := model.NewBuilder(v)
	d := doc.Document{Title: v.Title, Description: v.Description, Generator: v.Run.Tare.Version, Particulars: model.Particulars(v), Notices: v.Notices}
	for _, p := range parts() {
		blocks := []doc.Block{doc.Later(func() []doc.Block { return p.blocks(b) })}
		if p.on == 0 || p.on == screens { // in the order of the terminal, which shows a reason once
			blocks = p.blocks(b)
		}
		d.Blocks = append(d.Blocks, doc.Only{For: p.on, Blocks: blocks})
	}
	return d
}

// answerOn is the first screen as a section.
func answerOn(on doc.Media) func(*model.Builder) []doc.Block {
	return func(b *model.Builder) []doc.Block {
		return []doc.Block{doc.Section{ID: "answer", Head: doc.Heading{Text: "The answer"}, Nav: "Answer", Blocks: []doc.Block{firstScreen(b, on)}}}
	}
}

// firstScreen is the answer: of a run that explains a mode, what its parts cost, otherwise every mode by the main metrics.
func firstScreen(b *model.Builder, on doc.Media) doc.Overview {
	if b.Run.CostByParts != nil {
		return why.Overview(b, on)
	}
	return answer.Overview(b, on)
}
