// Package section has the sections of a run's report that are one file each. A section takes the run and returns blocks, none where
// the run lacks what it shows. It uses nothing of another file of this package, which a test checks: what sections share is in
// packages model, sheet and piece.
package section

import (
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
)

// Leads are the paragraphs before the summaries.
func Leads(b *model.Builder) []doc.Block {
	var out []doc.Block
	for _, text := range b.Evidence.Lead {
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text, Tight: true})
	}
	return out
}

// Particulars are what identifies the run, in one paragraph.
func Particulars(b *model.Builder) []doc.Block {
	return []doc.Block{piece.InOneLine(model.Particulars(b.View))}
}
