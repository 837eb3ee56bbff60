// Package view turns a run into a report: the document, with every number formatted, and the
// figures. Its list of parts is the order of the sections and says which media have them; each section is a package
// or a file of package section, and none calls another. What they share is in model (the run, prepared), sheet (a metric
// over all modes, and its charts) and piece (texts and blocks).
//
// All media show the same content in the same words: every mode, with the reason where it was
// not measured; every value with its interval; the verdict; the trials that were ruled out;
// the warnings. An interrupted run has a report, too, even without a trial. Markdown has the first screen with the warnings.
package view

import (
	"tare/internal/report/doc"
	"tare/internal/report/view/claims"
	"tare/internal/report/view/model"
	"tare/internal/report/view/ranking"
)

// Report is a run prepared for a report.
type Report struct{ view model.View }

// New prepares a report.
func New(in model.Input) Report { return Report{model.New(in)} }

// Document returns the report as a document.
func (r Report) Document() doc.Document { return document(r.view) }

// Overview returns the first screen of the report.
func (r Report) Overview() doc.Overview {
	b := model.NewBuilder(r.view)
	o := firstScreen(b, doc.Terminal)
	o.Claims = claims.Line(b)
	return o
}

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
