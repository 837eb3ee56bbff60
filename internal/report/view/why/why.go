// Package why explains a mode by its parts: what each costs, as a first screen, tables and waterfalls.
package why

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

func partsAnchor(i int) string { return fmt.Sprintf("why%d", i+1) }

// Section explains a mode by its parts, for pages and the whole report of a terminal.
func Section(b *model.Builder) []doc.Block {
	costs := Costs(b.Run)
	if len(costs) == 0 {
		return nil
	}
	var blocks []doc.Block
	blocks = append(blocks, piece.ForHTML(doc.Paragraph{Role: doc.Legend, Text: partLegend}))
	for i, c := range costs {
		s := doc.Section{ID: partsAnchor(i), Look: doc.Metric, Head: doc.Heading{Name: c.Workload, Text: c.title, Unit: c.unit()}}
		if f, ok := c.Figure(); ok {
			s.Blocks = append(s.Blocks, piece.ForHTML(doc.Figure{ID: s.ID + "-f", Drawings: []doc.Drawing{f}}))
		}
		s.Blocks = append(s.Blocks, partTable(b, c, s.ID))
		for _, r := range c.Removals {
			if r.Interaction != nil {
				s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: doc.Note{About: r.Parts}.Names() + " depends on the other parts: " + c.interaction(r) + "."})
			}
		}
		for _, r := range c.Steps {
			if r.Contradicts != "" {
				s.Blocks = append(s.Blocks, doc.Paragraph{Role: doc.Seen, Text: doc.Note{About: r.Parts}.Names() + ": " + r.Contradicts + "."})
			}
		}
		blocks = append(blocks, s)
	}
	var missing []string
	for _, r := range slices.Concat(b.Run.CostByParts.Modes, b.Run.CostByParts.Removals) {
		if r.Reason != "" {
			missing = append(missing, r.Mode+" is "+r.Reason)
		}
	}
	blocks = append(blocks, piece.NotKnown(missing)...)
	return []doc.Block{doc.Section{ID: "why", Head: doc.Heading{Text: "What its parts cost"}, Nav: "Why", Blocks: blocks}}
}

// ladderLegend explains the tables.
const partLegend = "Each row adds one part to the row before; its cost is the mean difference of the two within the same blocks, with a 95 % interval. " +
	"Rest is what no part explains. Without it: what the whole mode changes if only this part is removed. Where the two differ by more than " +
	"their intervals, the cost of the part depends on the others."

// titleOf is what a part is, from the cost by parts of the run.
func titleOf(b *model.Builder, parts []string) string {
	return ofParts(b.Run.CostByParts, parts, func(r result.PartMode) string { return r.Title })
}

// ladderTable is the parts of one cost.
func partTable(b *model.Builder, c partCosts, by string) doc.Block {
	out := doc.Table{Kind: doc.Study, By: by, Headed: true, Most: 3, Columns: []doc.Column{
		{Head: "Part", Row: true, Names: true}, {For: doc.HTML, Head: "What it is", Names: true}, {Head: "Cost", Note: c.unit(), Number: true},
		{Head: "Of " + b.Run.CostByParts.Baseline, Number: true, Foreign: true}, {Head: "Without it", Number: true}, {Head: "Verdict", Verdict: true},
		{For: doc.HTML, Head: "To get it back", Names: true},
	}}
	blank := doc.Cell{Blank: true}
	value := func(text, interval string) doc.Cell {
		return doc.Cell{Text: strings.TrimSpace(text + " " + interval), Tight: true}
	}
	var rows []doc.Row
	if c.Baseline != nil {
		rows = append(rows, doc.Row{Cells: []doc.Cell{{Text: b.Run.CostByParts.Baseline}, {Text: "the baseline"}, {Text: c.scale.Number(c.Baseline.Value)}, blank, blank, blank, blank}})
	}
	whole := doc.Row{Sum: true, Cells: []doc.Cell{{Text: c.mode}, {Text: "all of it"}, value(c.signed(c.Whole)), blank, blank, blank, blank}}
	placed := false
	for _, s := range c.Steps {
		if s.Beyond && !placed {
			rows, placed = append(rows, whole), true
		}
		removed := blank
		for _, r := range c.Removals {
			if slices.Equal(r.Parts, s.Parts) {
				removed = value(c.removed(r.Cost))
			}
		}
		verdict := wording.Verdict(judgedStep(s))
		rows = append(rows, doc.Row{Cells: []doc.Cell{{Text: stepName(s)}, {Text: titleOf(b, s.Parts)}, value(c.signed(s.Cost)), {Text: ofBaseline(s)}, removed,
			{Text: verdict, Terminal: wording.Word(s.Verdict), Tone: piece.ToneOf(s.Verdict)}, {Text: avoid(b.Run.CostByParts, s.Parts)}}})
	}
	if !placed {
		rows = append(rows, whole)
	}
	for _, r := range c.Removals {
		if !slices.ContainsFunc(c.Steps, func(s result.PartCost) bool { return slices.Equal(r.Parts, s.Parts) }) {
			rows = append(rows, doc.Row{Cells: []doc.Cell{{Text: stepName(r)}, {Text: titleOf(b, r.Parts)}, blank, blank, value(c.removed(r.Cost)), blank, {Text: avoid(b.Run.CostByParts, r.Parts)}}})
		}
	}
	out.Groups = []doc.Group{{Rows: rows}}
	return out
}
