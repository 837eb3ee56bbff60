package section

import (
	"fmt"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// about lists what identifies a run, for the full reports.
func about(v model.View) []result.Fact {
	r := v.Run
	if r.Source != "" {
		return []result.Fact{
			{Name: "numbers of", Value: r.Source},
			{Name: "compared", Value: model.Paired(r)},
			{Name: "judged by", Value: "tare " + model.Version(r)},
			{Name: "values", Value: v.TrialCounts.String()},
		}
	}
	finished := "unknown"
	if !r.Finished.IsZero() {
		finished = wording.Time(r.Finished)
		if d := model.Took(r); d != "" {
			finished += ", after " + d
		}
	}
	return []result.Fact{
		{Name: "run", Value: piece.OrUnknown(r.ID)},
		{Name: "status", Value: piece.OrUnknown(string(r.Status))},
		{Name: "started", Value: wording.Time(r.Started)},
		{Name: "finished", Value: finished},
		{Name: "profile", Value: piece.OrUnknown(r.Profile)},
		{Name: "seed", Value: model.Seed(r)},
		{Name: "tare", Value: model.Version(r)},
		{Name: "trials", Value: v.TrialCounts.String()},
	}
}

// methodText explains the statistics in short.
func methodText(v model.View) []string {
	if v.Run.Source != "" {
		return nil
	}
	text := "A trial gives one number. A block runs every mode once, with the baseline, in a random order given by the seed. " +
		"A ratio is the geometric mean, over the blocks, of a mode's trial to its baseline's, with the 95 % interval that Student's t gives the paired logarithms. "
	if m := marginOf(v); m > 0 {
		text += fmt.Sprintf("Modes are the same where two one-sided tests show the ratio to be within %s; ", wording.Percent(m))
	} else {
		text += "Modes are the same where two one-sided tests show the ratio to be within the margin; "
	}
	return []string{text + "probabilities are adjusted over the modes by Holm's method. A ratio that shows neither is \"cannot tell\"; the number of blocks that would settle it is an estimate."}
}

// marginOf is the margin of a run's verdicts, 0 where there are none or several.
func marginOf(v model.View) float64 {
	m := 0.0
	for _, c := range v.Run.Cells {
		switch {
		case c.Margin <= 0:
		case m == 0:
			m = c.Margin
		case m != c.Margin:
			return 0
		}
	}
	return m
}

// About identifies the run and its hosts, for Markdown.
func About(b *model.Builder) doc.Block {
	blocks := []doc.Block{piece.FactTable(about(b.View))}
	for _, h := range b.Run.Hosts {
		s := doc.Section{Head: doc.Heading{Text: "Host " + piece.OrUnknown(h.Name)}, Blocks: []doc.Block{doc.Paragraph{Text: "Nothing is known."}}}
		if len(h.Facts) > 0 {
			s.Blocks = []doc.Block{piece.FactTable(h.Facts)}
		}
		blocks = append(blocks, s)
	}
	if standings := modeEnvironments(b.Run.Modes); len(standings) > 0 {
		blocks = append(blocks, doc.Section{Head: doc.Heading{Text: "Environment of the modes"}, Blocks: []doc.Block{environmentTable(standings)}})
	}
	if b.Command != "" {
		blocks = append(blocks, doc.Section{Head: doc.Heading{Text: "How to repeat"}, Blocks: []doc.Block{doc.Command{Line: b.Command}}})
	}
	return doc.Section{Head: doc.Heading{Text: "This run"}, Blocks: blocks}
}

// Method explains the statistics.
func Method(b *model.Builder) doc.Block {
	var blocks []doc.Block
	for _, text := range methodText(b.View) {
		blocks = append(blocks, doc.Paragraph{Text: text, Tight: true})
	}
	t := piece.FactTable(about(b.View))
	t.By, t.Caption = "method", "This run"
	return doc.Section{ID: "method", Head: doc.Heading{Text: "Method and seed"}, Nav: "Method", Fold: true, Blocks: append(append(blocks, t), Decisions(b)...)}
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
