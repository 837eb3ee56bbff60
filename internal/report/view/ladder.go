package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// ladderCost is the cost of the parts in one metric, ready to be written.
type ladderCost struct {
	result.LadderCost
	mode  string
	title string // of the cost, such as "time per transaction"
	scale wording.Scale
}

// ladderCosts are those of a run, the main metric of each workload first.
func ladderCosts(run result.Run) []ladderCost {
	if run.Ladder == nil {
		return nil
	}
	var out []ladderCost
	for _, c := range run.Ladder.Costs {
		values := []float64{}
		for _, a := range []*result.Amount{c.Baseline, c.Whole} {
			if a != nil {
				values = append(values, a.Value)
			}
		}
		l := ladderCost{LadderCost: c, mode: run.Ladder.Mode, scale: wording.ScaleFor(c.Unit, values...)}
		_, unit, _ := strings.Cut(each1000.Replace(c.Unit), "/")
		l.title = "time per " + unit
		if strings.HasPrefix(c.Metric, result.CPUCost) {
			l.title = "CPU time per " + unit
		}
		out = append(out, l)
	}
	return out
}

// fitLadder returns a ladder without the costs of modes that were not measured, and without
// amounts that are no numbers.
func fitLadder(l *result.Ladder, unfit map[string]bool) *result.Ladder {
	if l == nil || unfit[l.Mode] || unfit[l.Baseline] {
		return nil
	}
	number := func(a *result.Amount) *result.Amount {
		if a == nil || !finite(&a.Value) || a.CI != nil && !(finite(&a.CI[0]) && finite(&a.CI[1])) {
			return nil
		}
		return a
	}
	steps := func(all []result.LadderStep) []result.LadderStep {
		all = slices.DeleteFunc(slices.Clone(all), func(s result.LadderStep) bool { return unfit[s.With] || unfit[s.Without] })
		for i := range all {
			all[i].Cost, all[i].Interaction = number(all[i].Cost), number(all[i].Interaction)
			if !finite(all[i].Share) {
				all[i].Share = nil
			}
		}
		return all
	}
	out := *l
	out.Costs = slices.Clone(l.Costs)
	for i, c := range out.Costs {
		c.Baseline, c.Whole, c.Steps, c.Removals = number(c.Baseline), number(c.Whole), steps(c.Steps), steps(c.Removals)
		out.Costs[i] = c
	}
	return &out
}

// unit is the scale's unit as people write it. The title says of what it is the time.
func (c ladderCost) unit() string {
	unit, _, _ := strings.Cut(each1000.Replace(c.scale.Unit), "/")
	return unit
}

// signed writes an amount with its sign, with as many digits as its interval supports.
func (c ladderCost) signed(a *result.Amount) (value, interval string) {
	if a == nil {
		return wording.Unknown, ""
	}
	v, digits := c.scale.In(a.Value), c.digits(a)
	write := func(v float64) string {
		text := wording.Fixed(v, digits)
		if v > 0 {
			return "+" + text
		}
		return text
	}
	if a.CI == nil {
		return write(v), ""
	}
	lo, hi := c.scale.In(a.CI[0]), c.scale.In(a.CI[1])
	return write(v), "(" + write(min(lo, hi)) + " .. " + write(max(lo, hi)) + ")"
}

// digits is how many decimals of an amount its interval supports.
func (c ladderCost) digits(a *result.Amount) int {
	half := math.Abs(c.scale.In(a.Value)) / 10
	if a.CI != nil {
		half = c.half(a)
	}
	if !(half > 0) {
		return 3
	}
	return min(3, max(0, -int(math.Floor(math.Log10(half)))))
}

// half is half of an amount's interval, which is symmetric.
func (c ladderCost) half(a *result.Amount) float64 {
	return math.Abs(c.scale.In(a.CI[1])-c.scale.In(a.CI[0])) / 2
}

// removed says in words what the mode is without a part that costs an amount.
func (c ladderCost) removed(a *result.Amount) (change, interval string) {
	if a == nil {
		return wording.Unknown, ""
	}
	v, digits := c.scale.In(a.Value), c.digits(a)
	text, less, more := wording.Fixed(math.Abs(v), digits), "faster", "slower"
	if strings.HasPrefix(c.Metric, result.CPUCost) {
		less, more = "less", "more"
	}
	switch {
	case text == wording.Fixed(0, digits):
		change = "no change"
	case v > 0:
		change = text + " " + c.unit() + " " + less
	default:
		change = text + " " + c.unit() + " " + more
	}
	if a.CI != nil {
		interval = "±" + wording.Fixed(c.half(a), digits)
	}
	return change, interval
}

// stepName is the parts of a step, as a row names it.
func stepName(s result.LadderStep) string {
	text := strings.Join(s.Parts, ", ")
	if s.Rest {
		text += rest
	}
	return text
}

// rest marks a step that no part explains.
const rest = " (rest)"

// ofBaseline is a step's part of the baseline, in words.
func ofBaseline(s result.LadderStep) string {
	if s.Share == nil {
		return wording.Unknown
	}
	return wording.Change(1 + *s.Share)
}

// judgedStep is a step as a cell that holds its verdict.
func judgedStep(s result.LadderStep) result.Cell {
	return result.Cell{Ratio: s.Ratio, RatioCI: s.RatioCI, Verdict: s.Verdict, Baseline: s.Without}
}

// ladderOverview is the first screen of a run that explains a mode: the parts by their costs,
// then the mode without each part. A terminal has the bars of the first cost beside it; a page
// has a figure.
func (b *builder) ladderOverview(bars bool) doc.Overview {
	costs := ladderCosts(b.Run)
	l := b.Run.Ladder
	o := doc.Overview{
		By: "answer", Title: b.Title, Measured: measuredIn(b.view), Notes: append(ladderNotes(costs), overviewNotes(b.view)...), Absent: absentNotes(b.Run.Modes),
		NotesLast: true, Head: "part", Page: b.Page, Command: b.Full,
	}
	for i, c := range costs {
		o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.Workload, Metric: c.title, Rank: 2 * i, To: ladderAnchor(i)})
		if bars && i == 0 {
			o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.Workload, Metric: "as a waterfall", Rank: 1})
		}
	}
	rows := doc.OverviewGroup{}
	base := doc.OverviewRow{Mode: l.Baseline, Group: b.numbers[l.Baseline]}
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
	var names []string
	for _, c := range costs {
		for _, s := range c.Steps {
			if name := "+ " + stepName(s); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	top := "= " + l.Mode
	if i := slices.IndexFunc(names, func(n string) bool { return isBeyond(costs, n) }); i >= 0 {
		names = slices.Insert(names, i, top)
	} else {
		names = append(names, top)
	}
	for _, name := range names {
		rows.Rows = append(rows.Rows, ladderRow(costs, name, top, bars))
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
	o.Legend = overviewLegend(o, b.Run.Cells)
	if len(removed.Rows) > 0 {
		o.Legend = append(o.Legend, "± half of a 95 % interval")
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, rest) }) {
		o.Legend = append(o.Legend, strings.TrimSpace(rest)+" what no part explains")
	}
	o.Sentence = ladderSentence(b.Run, costs)
	if b.Run.Noisy != "" {
		return o
	}
	if o.Explanations = explanations(l); bars && len(o.Explanations) == 0 && len(costs) > 0 { // a page has them in its tables
		o.Explanations = costs[0].avoidable(l)
	}
	return o
}

// isBeyond reports whether a row is a step on top of the mode.
func isBeyond(costs []ladderCost, name string) bool {
	return slices.ContainsFunc(costs, func(c ladderCost) bool {
		return slices.ContainsFunc(c.Steps, func(s result.LadderStep) bool { return s.Beyond && "+ "+stepName(s) == name })
	})
}

// stepCell is the cost of a step.
func (c ladderCost) stepCell(s result.LadderStep) doc.OverviewCell {
	tone := toneOf(s.Verdict)
	value, interval := c.signed(s.Cost)
	return doc.OverviewCell{Tone: tone, Mark: markOf(tone), Change: value + " " + c.unit(), Interval: interval}
}

// removalCell is what removing a part changes.
func (c ladderCost) removalCell(s result.LadderStep) doc.OverviewCell {
	tone := toneOf(s.Verdict)
	switch tone {
	case chart.Worse:
		tone = chart.Better
	case chart.Better:
		tone = chart.Worse
	}
	change, interval := c.removed(s.Cost)
	return doc.OverviewCell{Tone: tone, Mark: markOf(tone), Change: strings.TrimSpace(change + " " + interval)}
}

// ladderRow is one step, or the explained mode, in all costs.
func ladderRow(costs []ladderCost, name, top string, bars bool) doc.OverviewRow {
	row := doc.OverviewRow{Mode: name}
	for i, c := range costs {
		cell, bar := doc.OverviewCell{Tone: chart.Plain, Change: wording.Unknown}, ""
		if name == top {
			value, interval := c.signed(c.Whole)
			cell.Change, cell.Interval = value+" "+c.unit(), interval
			bar = c.bar(0, c.Whole)
		}
		sum := 0.0
		for _, s := range c.Steps {
			if "+ "+stepName(s) == name {
				cell, bar = c.stepCell(s), c.bar(sum, s.Cost)
			}
			if s.Cost != nil {
				sum += s.Cost.Value
			}
		}
		row.Cells = append(row.Cells, cell)
		if bars && i == 0 {
			row.Cells = append(row.Cells, doc.OverviewCell{Tone: cell.Tone, Change: bar})
		}
	}
	return row
}

// removalRow is the mode without a part, in all costs.
func removalRow(costs []ladderCost, part string, bars bool) doc.OverviewRow {
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
const ladderBar = 24

// bar draws a cost as a bar that begins where those before it end.
func (c ladderCost) bar(from float64, a *result.Amount) string {
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
	at := func(v float64) int { return int(math.Round((v - lo) / (hi - lo) * ladderBar)) }
	left, right := at(min(from, from+a.Value)), at(max(from, from+a.Value))
	left, right = min(max(left, 0), ladderBar), min(max(right, 0), ladderBar)
	sign := "#"
	if a.Value < 0 {
		sign = "-"
	}
	if left == right {
		return strings.Repeat(" ", min(left, ladderBar-1)) + "|"
	}
	return strings.Repeat(" ", left) + strings.Repeat(sign, right-left)
}

// ladderNotes are what a reader of the parts must know: parts that depend on each other, and
// costs that the samples contradict.
func ladderNotes(costs []ladderCost) []doc.Note {
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

// interaction says by how much the two orders differ.
func (c ladderCost) interaction(s result.LadderStep) string {
	value, interval := c.signed(s.Interaction)
	return fmt.Sprintf("in %s of %s, adding it and removing it differ by %s %s %s", c.title, c.Workload, value, c.unit(), interval)
}

// ladderSentence is the answer: what the mode costs, and the parts that cost most of it.
func ladderSentence(run result.Run, costs []ladderCost) string {
	if run.Noisy != "" {
		return "The run is too noisy to tell what the parts cost."
	}
	if len(costs) == 0 {
		return "Nothing can be explained: " + run.Ladder.Mode + " or " + run.Ladder.Baseline + " has no values."
	}
	c := costs[0]
	whole, interval := c.signed(c.Whole)
	text := fmt.Sprintf("%s: the %s is %s %s %s", c.mode, c.title, strings.TrimPrefix(whole, "+"), c.unit(), strings.ReplaceAll(interval, "+", ""))
	text = strings.TrimSpace(text) + " more than that of " + run.Ladder.Baseline
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
func explanations(l *result.Ladder) []doc.Note {
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
func (c ladderCost) ordered() (shown, unclear []string) {
	steps := slices.DeleteFunc(slices.Clone(c.Steps), func(s result.LadderStep) bool { return s.Beyond || s.Cost == nil })
	slices.SortStableFunc(steps, func(x, y result.LadderStep) int { return cmp.Compare(math.Abs(y.Cost.Value), math.Abs(x.Cost.Value)) })
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

func ladderAnchor(i int) string { return fmt.Sprintf("why%d", i+1) }

// ladder explains a mode by its parts, for pages and the whole report of a terminal.
func (b *builder) ladder() []doc.Block {
	costs := ladderCosts(b.Run)
	if len(costs) == 0 {
		return nil
	}
	var blocks []doc.Block
	blocks = append(blocks, forPages(doc.Paragraph{Role: doc.Legend, Text: ladderLegend}))
	for i, c := range costs {
		s := doc.Section{ID: ladderAnchor(i), Look: doc.Metric, Head: doc.Heading{Name: c.Workload, Text: c.title, Unit: c.unit()}}
		if f, ok := c.figure(); ok {
			s.Blocks = append(s.Blocks, b.drawn(func(n named) bool { return n.Ladder == i+1 }),
				forHTML(doc.Figure{ID: s.ID + "-f", Drawings: []doc.Drawing{f}}))
		}
		s.Blocks = append(s.Blocks, b.ladderTable(c, s.ID))
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
	for _, r := range slices.Concat(b.Run.Ladder.Rungs, b.Run.Ladder.Removals) {
		if r.Reason != "" {
			missing = append(missing, r.Mode+" is "+r.Reason)
		}
	}
	blocks = append(blocks, notKnown(missing)...)
	return []doc.Block{doc.Section{ID: "why", Head: doc.Heading{Text: "What its parts cost"}, Nav: "Why", Blocks: blocks}}
}

// ladderLegend explains the tables.
const ladderLegend = "Each row adds one part to the row before; its cost is the mean difference of the two within the same blocks, with a 95 % interval. " +
	"Rest is what no part explains. Without it: what the whole mode changes if only this part is removed. Where the two differ by more than " +
	"their intervals, the cost of the part depends on the others."

// titleOf is what a part is, from the ladder of the run.
func (b *builder) titleOf(parts []string) string {
	return ofParts(b.Run.Ladder, parts, func(r result.Rung) string { return r.Title })
}

// ladderTable is the parts of one cost.
func (b *builder) ladderTable(c ladderCost, by string) doc.Block {
	out := doc.Table{Kind: doc.Study, By: by, Headed: true, Most: 3, Columns: []doc.Column{
		{Head: "Part", Row: true, Names: true}, {For: doc.Pages, Head: "What it is", Names: true}, {Head: "Cost", Note: c.unit(), Number: true},
		{Head: "Of " + b.Run.Ladder.Baseline, Number: true, Foreign: true}, {Head: "Without it", Number: true}, {Head: "Verdict", Verdict: true},
		{For: doc.Pages, Head: "To get it back", Names: true},
	}}
	blank := doc.Cell{Blank: true}
	value := func(text, interval string) doc.Cell {
		return doc.Cell{Text: strings.TrimSpace(text + " " + interval), Tight: true}
	}
	var rows []doc.Row
	if c.Baseline != nil {
		rows = append(rows, doc.Row{Cells: []doc.Cell{{Text: b.Run.Ladder.Baseline}, {Text: "the baseline"}, {Text: c.scale.Number(c.Baseline.Value)}, blank, blank, blank, blank}})
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
		rows = append(rows, doc.Row{Cells: []doc.Cell{{Text: stepName(s)}, {Text: b.titleOf(s.Parts)}, value(c.signed(s.Cost)), {Text: ofBaseline(s)}, removed,
			{Text: verdict, Terminal: wording.Word(s.Verdict), Tone: toneOf(s.Verdict)}, {Text: avoid(b.Run.Ladder, s.Parts)}}})
	}
	if !placed {
		rows = append(rows, whole)
	}
	for _, r := range c.Removals {
		if !slices.ContainsFunc(c.Steps, func(s result.LadderStep) bool { return slices.Equal(r.Parts, s.Parts) }) {
			rows = append(rows, doc.Row{Cells: []doc.Cell{{Text: stepName(r)}, {Text: b.titleOf(r.Parts)}, blank, blank, value(c.removed(r.Cost)), blank, {Text: avoid(b.Run.Ladder, r.Parts)}}})
		}
	}
	out.Groups = []doc.Group{{Rows: rows}}
	return out
}
