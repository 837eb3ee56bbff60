package section

import (
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
)

// Again is the command that repeats a run.
func Again(b *model.Builder) []doc.Block {
	if b.Command == "" {
		return nil
	}
	return []doc.Block{doc.Command{Line: b.Command}}
}

// Repeat lists the commands that repeat a run and show it again.
func Repeat(b *model.Builder) []doc.Block {
	if b.Command == "" {
		return nil
	}
	var blocks []doc.Block
	if b.Run.Source != "" {
		blocks = append(blocks, doc.Command{Text: "The same numbers again:", Line: b.Command})
	} else {
		blocks = append(blocks, doc.Command{Text: "The same study with the same seed, and so the same trials in the same order:", Line: b.Command})
		if b.Run.ID != "" {
			blocks = append(blocks,
				doc.Command{Text: "In the directory of this run, from its own copy of the study, with every default written out:", Line: "tare run study.yaml"},
				doc.Command{Text: "Compare the two runs:", Line: "tare compare . OTHER-RUN"})
		}
	}
	return []doc.Block{doc.Section{ID: "repeat", Head: doc.Heading{Text: "To repeat it"}, Nav: "Repeat", Blocks: blocks}}
}
