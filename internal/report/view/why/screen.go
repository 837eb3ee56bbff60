package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Overview is the first screen of a run that explains a mode: the parts by their costs,
// then the mode without each part. A terminal has the bars of the first cost beside it; a page
// has a figure.
func Overview(b *model.Builder, on doc.Media) doc.Overview {
	bars := on == doc.Terminal
	costs := Costs(b.Run)
	l := b.Run.CostByParts
	o := doc.Overview{
		By: "answer", Title: b.Title, Measured: model.MeasuredIn(b.View), Notes: append(partNotes(costs), model.OverviewNotes(b.View)...), Absent: model.AbsentNotes(b.Run.Modes),
		NotesLast: true, Head: "part", Page: b.Page, Command: b.Full,
	}
	for i, c := range costs {
		o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.Workload, Metric: c.title, Rank: 2 * i, To: partsAnchor(i)})
		if bars && i == 0 {
			o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.Workload, Metric: "as a waterfall", Rank: 1})
		}
	}
	rows := doc.OverviewGroup{}
	base := doc.OverviewRow{Mode: l.Baseline, Group: b.Numbers[l.Baseline]}
	for i, c := range costs {
		cell := doc.OverviewCell{Tone: chart.Plain, Change: wording.Unknown}
		if c.Baseline != nil {
			cell.Change = c.scale.Number(c.Baseline.Value) + " " + c.unit()
		}
		base.Cells = append(base.Cells, cell)
		if bars && i == 0 {
			base.Cells = append(base.Cells, doc.OverviewCell{Tone: chart.Plain})
		}
	}
	rows.Rows = append(rows.Rows, base)
	top := "= " + l.Mode
	names, steps := stepRows(costs, top)
	for _, name := range names {
		rows.Rows = append(rows.Rows, partRow(costs, steps[name], name == top, name, bars))
	}
	o.Groups = append(o.Groups, rows)
	removed := doc.OverviewGroup{Name: l.Mode + " without one part"}
	for _, r := range l.Removals {
		if r.Reason == "" {
			removed.Rows = append(removed.Rows, removalRow(costs, r.Part, bars))
		}
	}
	if len(removed.Rows) > 0 {
		o.Groups = append(o.Groups, removed)
	}
	o.Legend = model.OverviewLegend(o, b.Run.Cells)
	if len(removed.Rows) > 0 {
		o.Legend = append(o.Legend, "± half of a 95 % interval")
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, rest) }) {
		o.Legend = append(o.Legend, strings.TrimSpace(rest)+" what no part explains")
	}
	o.Sentence = partSentence(b.Run, costs)
	if b.Run.Noisy != "" {
		return o
	}
	if o.Explanations = explanations(l); on != doc.HTML && len(o.Explanations) == 0 && len(costs) > 0 { // a page has them in its tables
		o.Explanations = costs[0].avoidable(l)
	}
	return o
}

// placed is a step of one of the costs, and what the steps below it cost together.
type placed struct {
	result.PartCost
	below float64
}

// stepRows names the rows of the steps in their order, with the explained mode, top, below those on top of it, and
// returns the steps of each row by the number of their cost.
func stepRows(costs []partCosts, top string) (names []string, steps map[string]map[int]placed) {
	steps = map[string]map[int]placed{}
	beyond := map[string]bool{}
	for i, c := range costs {
		sum := 0.0
		for _, s := range c.Steps {
			name := "+ " + stepName(s)
			if steps[name] == nil {
				names, steps[name] = append(names, name), map[int]placed{}
			}
			steps[name][i] = placed{s, sum}
			beyond[name] = beyond[name] || s.Beyond
			if s.Cost != nil {
				sum += s.Cost.Value
			}
		}
	}
	at := slices.IndexFunc(names, func(n string) bool { return beyond[n] })
	if at < 0 {
		at = len(names)
	}
	return slices.Insert(names, at, top), steps
}

// stepCell is the cost of a step.
func (c partCosts) stepCell(s result.PartCost) doc.OverviewCell {
	tone := piece.ToneOf(s.Verdict)
	value, interval := c.signed(s.Cost)
	return doc.OverviewCell{Tone: tone, Mark: piece.MarkOf(tone), Change: value + " " + c.unit(), Interval: interval}
}

// removalCell is what removing a part changes.
func (c partCosts) removalCell(s result.PartCost) doc.OverviewCell {
	tone := piece.ToneOf(s.Verdict)
	switch tone {
	case chart.Worse:
		tone = chart.Better
	case chart.Better:
		tone = chart.Worse
	}
	change, interval := c.removed(s.Cost)
	return doc.OverviewCell{Tone: tone, Mark: piece.MarkOf(tone), Change: strings.TrimSpace(change + " " + interval)}
}

// ladderRow is the row of one step, or of the explained mode, in all costs.
func partRow(costs []partCosts, steps map[int]placed, whole bool, name string, bars bool) doc.OverviewRow {
	row := doc.OverviewRow{Mode: name}
	for i, c := range costs {
		cell, bar := doc.OverviewCell{Tone: chart.Plain, Change: wording.Unknown}, ""
		if whole {
			value, interval := c.signed(c.Whole)
			cell.Change, cell.Interval = value+" "+c.unit(), interval
			bar = c.bar(0, c.Whole)
		}
		if s, ok := steps[i]; ok {
			cell, bar = c.stepCell(s.PartCost), c.bar(s.below, s.Cost)
		}
		row.Cells = append(row.Cells, cell)
		if bars && i == 0 {
			row.Cells = append(row.Cells, doc.OverviewCell{Tone: cell.Tone, Change: bar})
		}
	}
	return row
}

// removalRow is the mode without a part, in all costs.
func removalRow(costs []partCosts, part string, bars bool) doc.OverviewRow {
	row := doc.OverviewRow{Mode: "without " + part}
	for i, c := range costs {
		cell := doc.OverviewCell{Tone: chart.Plain, Change: wording.Unknown}
		for _, s := range c.Removals {
			if slices.Contains(s.Parts, part) {
				cell = c.removalCell(s)
			}
		}
		row.Cells = append(row.Cells, cell)
		if bars && i == 0 {
			row.Cells = append(row.Cells, doc.OverviewCell{Tone: chart.Plain})
		}
	}
	return row
}

// ladderBar is how many columns a waterfall takes.
const partBar = 24

// bar draws a cost as a bar that begins where those before it end.
func (c partCosts) bar(from float64, a *result.Amount) string {
	if a == nil {
		return ""
	}
	lo, hi, sum := 0.0, 0.0, 0.0
	for _, s := range c.Steps {
		if s.Cost != nil {
			sum += s.Cost.Value
			lo, hi = min(lo, sum), max(hi, sum)
		}
	}
	if hi <= lo {
		return ""
	}
	at := func(v float64) int { return int(math.Round((v - lo) / (hi - lo) * partBar)) }
	left, right := at(min(from, from+a.Value)), at(max(from, from+a.Value))
	left, right = min(max(left, 0), partBar), min(max(right, 0), partBar)
	sign := "#"
	if a.Value < 0 {
		sign = "-"
	}
	if left == right {
		return strings.Repeat(" ", min(left, partBar-1)) + "|"
	}
	return strings.Repeat(" ", left) + strings.Repeat(sign, right-left)
}

// ladderNotes are what a reader of the parts must know: parts that depend on each other, and
// costs that the samples contradict.
func partNotes(costs []partCosts) []doc.Note {
	var out []doc.Note
	for _, c := range costs {
		for _, s := range c.Removals {
			if s.Interaction != nil {
				out = append(out, doc.Note{About: s.Parts, Text: "depends on the other parts: " + c.interaction(s)})
			}
		}
		for _, s := range c.Steps {
			if s.Contradicts != "" {
				out = append(out, doc.Note{About: s.Parts, Text: fmt.Sprintf("costs %s of %s, but %s", first(c.signed(s.Cost)), c.title, s.Contradicts)})
			}
		}
	}
	return out
}

func first(value, _ string) string { return value }

// ladderSentence is the answer: what the mode costs, and the parts that cost most of it.
func partSentence(run result.Run, costs []partCosts) string {
	if run.Noisy != "" {
		return "The run is too noisy to tell what the parts cost."
	}
	if len(costs) == 0 {
		return "Nothing can be explained: " + run.CostByParts.Mode + " or " + run.CostByParts.Baseline + " has no values."
	}
	c := costs[0]
	whole, interval := c.signed(c.Whole)
	text := fmt.Sprintf("%s: the %s is %s %s %s", c.mode, c.title, strings.TrimPrefix(whole, "+"), c.unit(), strings.ReplaceAll(interval, "+", ""))
	text = strings.TrimSpace(text) + " more than that of " + run.CostByParts.Baseline
	shown, unclear := c.ordered()
	if len(shown) > 0 {
		text += ": " + strings.Join(shown, ", ")
	}
	text += "."
	if len(unclear) > 0 {
		text += " No cost is shown for " + doc.Note{About: unclear}.Names() + "."
	}
	return text
}

// explanations are why a mode is slower, for each workload.
func explanations(l *result.CostByParts) []doc.Note {
	var out []doc.Note
	for _, e := range l.Explanations {
		text := "Cause: " + e.Text + ". What helps: " + e.Next + "."
		switch e.Kind {
		case result.ExplainedUnknown:
			text = "Cause not shown: " + e.Text + ". What would tell: " + e.Next + "."
		case result.ExplainedNone:
			text = "No cause is needed: " + e.Text + ". Next: " + e.Next + "."
		}
		out = append(out, doc.Note{About: []string{e.Workload}, Text: text})
	}
	return out
}

// ordered lists the steps that are shown to cost or save, the largest first, and the names of
// the others. Steps on top of the mode are left out.
func (c partCosts) ordered() (shown, unclear []string) {
	steps := slices.DeleteFunc(slices.Clone(c.Steps), func(s result.PartCost) bool { return s.Beyond || s.Cost == nil })
	slices.SortStableFunc(steps, func(x, y result.PartCost) int { return cmp.Compare(math.Abs(y.Cost.Value), math.Abs(x.Cost.Value)) })
	for _, s := range steps {
		if s.Verdict == result.Worse || s.Verdict == result.Better || s.Verdict == result.Small {
			value, _ := c.signed(s.Cost)
			shown = append(shown, stepName(s)+" "+value)
			continue
		}
		unclear = append(unclear, stepName(s))
	}
	return shown, unclear
}
