package section

import (
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
)

// Leads are the paragraphs before the summaries.
func Leads(b *model.Builder) []doc.Block {
	var out []doc.Block
	for _, text := range b.Evidence.Lead {
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text, Tight: true})
	}
	return out
}
