package section

import (
	"fmt"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/result"
)

// warningLine returns a warning with its scope.
func warningLine(w result.Warning) string {
	text := w.Text
	if text == "" {
		text = w.Code
	}
	if w.Scope == "" || w.Scope == "run" {
		return text
	}
	return w.Scope + ": " + text
}

// Warnings are all warnings of the run, each with its scope.
func Warnings(b *model.Builder) []doc.Block {
	if len(b.Run.Warnings) == 0 {
		return nil
	}
	l := doc.List{Role: doc.Warning, Bullets: true, Cut: 800}
	for _, w := range b.Run.Warnings {
		l.Items = append(l.Items, doc.Item{Text: warningLine(w), Code: w.Code})
	}
	return []doc.Block{doc.Section{ID: "warnings", Head: doc.Heading{Text: "Warnings"}, Nav: fmt.Sprintf("Warnings (%d)", len(l.Items)), Blocks: []doc.Block{l}}}
}
