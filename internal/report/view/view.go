package view

import (
	"tare/internal/report/doc"
	"tare/internal/report/view/answer"
	"tare/internal/report/view/claims"
	"tare/internal/report/view/model"
	"tare/internal/report/view/ranking"
	"tare/internal/report/view/why"
)

// Overview returns the first screen of the report.
func (r Report) Overview() doc.Overview {
	b := model.NewBuilder(r.view)
	o := firstScreen(b, doc.Terminal)
	o.Claims = claims.Line(b)
	return o
}

// overviewSection is the first screen as the first section of a page.
func overviewSection(b *model.Builder) doc.Block {
	return doc.Section{ID: "answer", Head: doc.Heading{Text: "The answer"}, Nav: "Answer", Blocks: []doc.Block{firstScreen(b, doc.Pages)}}
}

// firstScreen is the answer: of a run that explains a mode, what its parts cost, otherwise every mode by the main metrics.
func firstScreen(b *model.Builder, on doc.Media) doc.Overview {
	if b.Run.Ladder != nil {
		return why.Overview(b, on == doc.Terminal)
	}
	return answer.Overview(b, on)
}

// Report is a run prepared for a report.
type Report struct{ view model.View }

// New prepares a report.
func New(in model.Input) Report { return Report{model.New(in)} }

// Document returns the report as a document.
func (r Report) Document() doc.Document { return document(r.view) }

// Ranking returns the rankings of numbers without a baseline as a document.
func (r Report) Ranking() doc.Document { return ranking.Document(model.NewBuilder(r.view)) }

// Claims are the claims of the run as one screen.
func (r Report) Claims() doc.Claims { return claims.Screen(model.NewBuilder(r.view)) }

// ClaimBlocks are the blocks of the section about claims; empty without claims.
func (r Report) ClaimBlocks() []doc.Block {
	for _, b := range claims.Section(model.NewBuilder(r.view)) {
		if s, ok := b.(doc.Section); ok {
			return s.Blocks
		}
	}
	return nil
}
