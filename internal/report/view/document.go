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

// part is a section of a report: the media that have it, 0 for all, its blocks, and what it shows.
type part struct {
	on     doc.Media
	blocks func(*model.Builder) []doc.Block
	// shows is its line in docs/report.md, in Markdown: what is below its heading; where its headings differ by run, after a name and
	// " | ". It is empty for what a page does not have, or has in another part.
	shows string
}

// parts are the sections of a run's report in their order. A section has no blocks where the run lacks what it shows.
func parts() []part {
	return []part{
		{doc.Markdown, section.Particulars, ""},
		{doc.Terminal, section.Leads, ""},
		{doc.Markdown, answerOn(doc.Markdown), ""},
		{doc.HTML, answerOn(doc.HTML), "the table and the sentence of [the first screen](#the-first-screen)"},
		{screens, why.Section, "of a mode that `tare why` explains: what [each part](howto/why-is-my-container-slower.md) costs"},
		{0, claims.Section, "each [published claim](claims.md) of the study"},
		{doc.HTML, answer.Matrix, "the main metrics that the answer does not show, in the same form"},
		{screens, section.Scenarios, "the scenarios of the study, and what each carried"},
		{screens, section.Comparisons, "what the study compares besides modes with their baseline"},
		{screens, section.Sweeps, "one section per sweep | the values by load"},
		{screens, section.Concurrencies, "one section per list of flows or streams | the values by their number, and where [two curves cross](method/statistics.md#where-two-curves-cross)"},
		{screens, workloads.Section, "one section per workload | its main metric; folded, its further metrics, charts and trials. Modes with a common letter in the column *Ties* [cannot be told apart](method/statistics.md#ties-in-a-ranking)"},
		{screens, cpu.Section, "that of each workload, the pass at a fixed rate, and [what the CPU time was spent on](breakdown.md)"},
		{doc.HTML, paths.Section, "the path of each mode, drawn from what was read back, with the movement of its counters ([path proof](proof.md))"},
		{screens, section.SetupTimes, "the percentiles of the workload [setup](workloads/setup.md)"},
		{0, section.Failures, "by workload and mode, with the handshakes that lost a packet"},
		{screens, section.Losses, "by [place](loss.md)"},
		{screens, section.Limits, "by [side and cause](workloads/tcp_stream.md#who-limits)"},
		{screens, section.Agreements, "whether a second generator measured the same cost (`verify_with`)"},
		{screens, section.Sensitivity, "the ratios with each setting of the sensitivity pass"},
		{screens, section.Chance, "how many verdicts may be wrong"},
		{doc.Terminal, section.Decisions, ""},
		{doc.Terminal, section.TrialsBriefly, ""},
		{0, section.Warnings, "all [codes](warnings.md)"},
		{doc.Terminal, section.Hosts, ""},
		{doc.Terminal | doc.Markdown, section.Again, ""},
		{doc.HTML, section.Environment, "the [facts](facts.md) of the hosts and of each mode"},
		{doc.HTML, section.Method, "seed, profile, versions, why the run stopped"},
		{doc.HTML, section.Trials, "each trial with its reason"},
		{doc.HTML, section.Repeat, "the commands"},
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
