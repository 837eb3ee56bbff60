package view

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/wording"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/warning"
)

// Overview returns the first screen of the report.
func (r Report) Overview() doc.Overview {
	b := newBuilder(r.view)
	o := b.overview(doc.Terminal)
	o.Claims = b.claimsLine()
	return o
}

// markOf is the mark of a verdict on a terminal and in Markdown.
func markOf(tone chart.Tone) string { return chart.Signs()[tone] }

// mainColumn is a metric of a workload that the first screen shows.
type mainColumn struct {
	table
	name string // of the workload
	rank int
	load bool // its loss ratio is shown as it is, not as a change
}

// overview is the first screen: every mode by the main metrics, as changes.
func (b *builder) overview(on doc.Media) doc.Overview {
	if b.Run.Ladder != nil {
		return b.ladderOverview(on == doc.Terminal)
	}
	columns := b.mainColumns()
	families := familiesOf(b.Input)
	o := doc.Overview{
		Title: b.Title, Measured: measuredIn(b.view), Notes: overviewNotes(b.view), Absent: absentNotes(b.Run.Modes),
		Head: overviewHead(families), Page: b.Page, Command: b.Full,
	}
	for _, c := range columns {
		o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.name, Metric: shortTitle(c.Metric), Rank: c.rank, To: b.anchorOf(c.table)})
	}
	for _, f := range families {
		g := doc.OverviewGroup{Name: f.heading(len(families))}
		for _, m := range f.modes {
			g.Rows = append(g.Rows, b.overviewRow(m, columns))
		}
		o.Groups = append(o.Groups, g)
	}
	o = withTies(o, columns)
	o.Legend = overviewLegend(o, b.Run.Cells)
	o.Sentence = b.conclusion(families, columns)
	if !slices.ContainsFunc(b.order, func(m string) bool { return strings.HasPrefix(o.Sentence, m+" ") }) {
		o.Sentence = capital(o.Sentence)
	}
	if n := len(grouped(b.Run)) - len(biasNotes(b.Run)); n > 0 {
		o.Others = append(o.Others, wording.Count(n, "further warning", "further warnings"))
	}
	if n := len(b.Comparisons); n > 0 {
		o.Others = append(o.Others, wording.Count(n, "comparison", "comparisons"))
	}
	return o
}

// measuredIn says how much was measured.
func measuredIn(v view) string {
	var parts []string
	if v.Run.Source != "" {
		parts = append(parts, paired(v.Run))
	}
	if v.Run.Profile != "" {
		parts = append(parts, "profile "+v.Run.Profile)
	}
	if n := blocks(v); n > 0 && v.Run.Source == "" {
		parts = append(parts, wording.Count(n, "block", "blocks"))
	}
	trials := wording.Count(v.TrialCounts.OK, "valid trial", "valid trials")
	if v.Run.Source != "" {
		trials = wording.Count(v.TrialCounts.OK, "value", "values")
	}
	if out := v.TrialCounts.Invalid + v.TrialCounts.Failed; out > 0 {
		trials += fmt.Sprintf(" and %d ruled out or failed", out)
	}
	parts = append(parts, trials)
	if d := took(v.Run); d != "" {
		parts = append(parts, d)
	}
	return strings.Join(parts, ", ")
}

// overviewHead heads the column of modes by what they are compared with.
func overviewHead(families []family) string {
	base := ""
	for _, f := range families {
		if !f.compared() {
			continue
		}
		if base != "" {
			return "" // the first row of each group
		}
		base = f.base
	}
	if base == "" {
		return ""
	}
	return "against " + base
}

// mainColumns chooses the metrics of the first screen in the order in which they are
// shown: of each workload its main metric, its loss ratio where anything was lost and its
// 99th percentile, and one CPU cost at the end.
func (b *builder) mainColumns() []mainColumn {
	var out []mainColumn
	add := func(w string, t table, class int) {
		if t.worthAColumn() {
			out = append(out, mainColumn{table: t, name: w, rank: class, load: t.Metric.Name == "loss_ratio"})
		}
	}
	const (
		link = iota // the CPU cost, where the link limits goodput
		primary
		cpu
		tail
		loss
		sweep
	)
	var costs []mainColumn
	for _, w := range b.Workloads {
		for _, t := range w.Tables {
			switch {
			case b.swept(w.ID):
				if metric, _ := b.curve(w.ID); t.Metric.Name == metric {
					add(w.ID, t, sweep)
				}
			case t.Metric.Primary:
				add(w.ID, t, primary)
			case t.Metric.Name == "loss_ratio":
				if t.anyAboveZero() {
					add(w.ID, t, loss)
				}
			case !t.Metric.Detail && strings.HasSuffix(t.Metric.Name, "_p99") && t.Metric.Name != "delay_variation_p99":
				add(w.ID, t, tail)
			case strings.HasPrefix(t.Metric.Name, "cpu_cost") && t.judged():
				costs = append(costs, mainColumn{table: t, name: w.ID, rank: cpu})
			}
		}
	}
	if p := b.Evidence.Pass; p != nil {
		for _, t := range p.Tables {
			if t.Metric.Name == result.CPUCost && t.judged() {
				costs = []mainColumn{{table: t, name: "at a fixed rate", rank: cpu}}
				break
			}
		}
	}
	if len(costs) > 0 {
		c := costs[0]
		if len(b.Run.LinkLimited) > 0 {
			c.rank = link
		}
		out = append(out, c)
	}
	return ranked(out)
}

// ranked turns the classes of columns into ranks without gaps; columns of one class rank
// in their order.
func ranked(columns []mainColumn) []mainColumn {
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return columns[x].rank - columns[y].rank })
	for rank, i := range order {
		columns[i].rank = rank
	}
	return columns
}

func (t table) anyAboveZero() bool {
	return slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// titles shortens the titles of metrics for the head of a column.
var titles = strings.NewReplacer(", median", " p50", ", 90th percentile", " p90", ", 99th percentile", " p99", ", 99.9th percentile", " p99.9")

// each1000 writes a cost per 1000 exchanges as the same number per exchange, which is shorter.
var each1000 = strings.NewReplacer("us/1000 transactions", "ns/transaction", "ms/1000 transactions", "us/transaction",
	"s/1000 transactions", "ms/transaction", "us/1000 connections", "ns/connection", "ms/1000 connections", "us/connection",
	"s/1000 connections", "ms/connection")

func shortTitle(m result.Metric) string { return titles.Replace(noun(m)) }

func (b *builder) overviewRow(m result.Mode, columns []mainColumn) doc.OverviewRow {
	out := doc.OverviewRow{Mode: m.ID, Group: b.numbers[m.ID]}
	if unmeasured(m) {
		out.Out = wording.Cut(string(m.Status), 20)
		return out
	}
	for _, c := range columns {
		r, ok := c.of(m.ID)
		if !ok {
			r = row{Mode: m}
		}
		out.Cells = append(out.Cells, r.overviewCell(c))
	}
	return out
}

// overviewCell is a row of a table as one cell of the first screen.
func (r row) overviewCell(t mainColumn) doc.OverviewCell {
	c := r.Cell
	plain := func(text string) doc.OverviewCell { return doc.OverviewCell{Tone: chart.Plain, Change: text} }
	unsure := func(text string) doc.OverviewCell {
		return doc.OverviewCell{Tone: chart.Unsure, Mark: markOf(chart.Unsure), Change: text}
	}
	switch {
	case c == nil && len(r.Trials) == 0:
		return plain(wording.Unknown)
	case c == nil && slices.ContainsFunc(r.Trials, func(t *result.Trial) bool { return t.Status == result.TrialOK }):
		return plain("not judged")
	case c == nil || c.Value == nil && c.Ratio == nil:
		return doc.OverviewCell{Tone: chart.Absent, Change: "no valid trial"}
	case r.Baseline || c.Baseline == "":
		return plain(wording.AtLeast(*c, each1000.Replace(t.Scale.Value(*c.Value))))
	case c.Verdict == result.Same && c.Ratio == nil, t.load && zero(c) && r.baseZero:
		return plain("none in either")
	case t.load && c.Value != nil:
		cell := plain(t.Scale.Value(*c.Value))
		if tone := r.tone(); tone == chart.Worse || tone == chart.Better {
			cell.Tone, cell.Mark = tone, markOf(tone)
		}
		return cell
	case c.Verdict == result.CannotTell && r.Noisy:
		return unsure("(noisy)")
	case c.Verdict == result.CannotTell && (c.AtLeast || r.Bounded):
		return unsure("(sender limit)")
	case wording.TooFew(*c) != "":
		cell := unsure("")
		cell.Change, cell.Interval = wording.Delta(c.Ratio, c.RatioCI)
		return cell
	case c.Verdict == result.CannotTell && finite(c.Detectable):
		return unsure("(sees " + sees(*c.Detectable) + ")")
	case c.Ratio == nil && c.Value != nil:
		return unsure(wording.AtLeast(*c, t.Scale.Value(*c.Value)))
	case c.Verdict == result.CannotTell: // without an interval
		text, _ := wording.Delta(c.Ratio, nil)
		return unsure(text)
	}
	out := doc.OverviewCell{Tone: r.tone()}
	out.Mark = markOf(toneOf(c.Verdict))
	out.Change, out.Interval = wording.Delta(c.Ratio, c.RatioCI)
	return out
}

// sees words the smallest change that could have been seen, as a factor where it is large. How much
// more than ten times it is tells nothing.
func sees(d float64) string {
	switch {
	case d > 9:
		return "more than 10x"
	case d > 2:
		return wording.Fixed(1+d, 0) + "x"
	}
	return change(d)
}

// overviewLegend explains the marks that the table has.
func overviewLegend(o doc.Overview, cells []result.Cell) []string {
	seen := map[string]bool{}
	var sender, few, sees bool
	for _, g := range o.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				seen[c.Mark] = true
				sender = sender || c.Change == "(sender limit)"
				few = few || c.Mark == markOf(chart.Unsure) && c.Interval != ""
				sees = sees || strings.HasPrefix(c.Change, "(sees ")
			}
		}
	}
	unsure := "cannot tell (sees: smallest visible change)"
	switch {
	case few && sees:
		unsure = "cannot tell (sees: smallest visible change), or indicative: fewer than three blocks or values"
	case few:
		unsure = "indicative: fewer than three blocks or values"
	}
	within := "within the margin"
	margins := map[float64]bool{}
	for _, c := range cells {
		if c.Margin > 0 {
			margins[c.Margin] = true
		}
	}
	if len(margins) == 1 {
		for m := range margins {
			within = "within " + wording.Percent(m)
		}
	}
	var out []string
	for _, m := range []struct{ mark, means string }{
		{markOf(chart.Worse), "worse"}, {markOf(chart.Better), "better"}, {markOf(chart.Same), "same " + within},
		{markOf(chart.Unsure), unsure},
	} {
		if seen[m.mark] {
			out = append(out, m.mark+" "+m.means)
		}
	}
	if len(out) > 0 {
		out = append(out, "(..) 95 % interval")
	}
	if sender {
		out = append(out, "sender limit: the sender could not keep up")
	}
	return out
}

// overviewNotes are what biases the comparison, the most important first.
func overviewNotes(v view) []doc.Note {
	var out []doc.Note
	for _, n := range differingControls(v) {
		out = append(out, doc.Note{Text: n.Text})
	}
	for _, n := range oldEngines(v) {
		out = append(out, doc.Note{Text: n.Text})
	}
	for _, p := range v.Run.Paces {
		out = append(out, doc.Note{Text: p.Workload + " is " + wording.Pace(p)})
	}
	for _, text := range v.Evidence.Lead {
		out = append(out, doc.Note{Text: text})
	}
	return append(out, biasNotes(v.Run)...)
}

// absentNotes are the reasons why modes have no values, modes with the same one together.
func absentNotes(modes []result.Mode) []doc.Note {
	var out []doc.Note
	for _, m := range modes {
		if !unmeasured(m) {
			continue
		}
		text := fate(m)
		if m.Reason == "" {
			text += ": no reason is recorded"
		}
		i := slices.IndexFunc(out, func(n doc.Note) bool { return n.Text == text })
		if i < 0 {
			i = len(out)
			out = append(out, doc.Note{Text: text})
		}
		out[i].About = append(out[i].About, m.ID)
	}
	return out
}

// compared is a mode's row in the leading column.
type compared struct {
	row
	cost float64 // ratio to the baseline, so turned that more is worse
}

// conclusionPrefix is what limits the answer as a whole; empty for a complete run with enough blocks.
func (b *builder) conclusionPrefix() string {
	v, prefix := b.view, ""
	switch {
	case v.Run.Status == result.RunInterrupted || v.Run.Status == result.RunFailed:
		prefix = fmt.Sprintf("The run was %s after %s; of these: ", v.Run.Status, wording.Count(v.TrialCounts.OK, "valid trial", "valid trials"))
		if v.Run.Status == result.RunFailed {
			prefix = strings.Replace(prefix, "The run was failed", "The run failed", 1)
		}
	case slices.ContainsFunc(v.Run.Cells, func(c result.Cell) bool { return c.Indicative }):
		prefix = "Indicative only (" + wording.Count(blocks(v), "block", "blocks") + ", warm-up not verified): "
	}
	return prefix
}

// conclusion is the answer for the run as a whole, in one sentence.
func (b *builder) conclusion(families []family, columns []mainColumn) string {
	v, prefix := b.view, b.conclusionPrefix()
	if v.TrialCounts.OK == 0 && len(v.Run.Cells) == 0 {
		return strings.Replace(prefix, "; of these: ", ": ", 1) + "no trial is valid, so there are no results."
	}
	if v.Run.Noisy != "" {
		return prefix + "the run is too noisy to judge: " + strings.TrimRight(v.Run.Noisy, ".") + "."
	}
	if len(columns) == 0 {
		return prefix + "no workload gave a value."
	}
	at := slices.IndexFunc(columns, func(c mainColumn) bool { return c.rank == 0 })
	text := b.ranking(columns[at], columns, overviewHead(families))
	return prefix + columns[at].withTieSentences(text)
}

// ranking says by the leading column which modes cost least and most.
func (b *builder) ranking(lead mainColumn, columns []mainColumn, against string) string {
	what := shortTitle(lead.Metric)
	if against == "" {
		against = "against its baseline"
	}
	var told []compared
	var unsure []row
	rows := 0
	for _, r := range lead.rows() {
		if r.Baseline || r.Mode.Control || unmeasured(r.Mode) || r.Cell == nil || r.Cell.Baseline == "" {
			continue
		}
		rows++
		if ci := r.Cell.RatioCI; !finite(r.Cell.Ratio) || ci == nil || !(ci[0] <= ci[1]) || r.Cell.Verdict == result.CannotTell || r.Cell.Verdict == "" {
			unsure = append(unsure, r)
			continue
		}
		c := compared{r, *r.Cell.Ratio}
		if lead.Metric.Better == result.Higher {
			c.cost = 1 / c.cost
		}
		told = append(told, c)
	}
	switch {
	case rows == 0:
		return "no mode is compared with a baseline."
	case len(told) == 0 && rows == 1 && wording.TooFew(*unsure[0].Cell) != "":
		return alone(unsure[0].Mode.ID, against, columns) + "."
	case len(told) == 0:
		return what + " cannot be told from " + strings.TrimPrefix(against, "against ") + " for " + doc.Note{About: modesOf(unsure)}.Names() + needs(unsure) + "."
	case rows == 1:
		return alone(told[0].Mode.ID, against, columns) + "."
	}
	slices.SortStableFunc(told, func(x, y compared) int {
		switch {
		case x.cost < y.cost:
			return -1
		case x.cost > y.cost:
			return 1
		}
		return 0
	})
	text := ""
	least, most := lead.near(told, told[0]), lead.near(told, told[len(told)-1])
	slices.Reverse(most)
	switch {
	case !slices.ContainsFunc(told, func(c compared) bool { return c.Cell.Verdict != result.Same && c.Cell.Verdict != result.Small }):
		text = fmt.Sprintf("no mode differs from %s by more than the margin of %s in %s", strings.TrimPrefix(against, "against "), wording.Percent(told[0].Cell.Margin), what)
	case len(told) == 1:
		text = alone(told[0].Mode.ID, against, columns)
	case len(least) == len(told) && len(lead.ties) > 0:
		text = fmt.Sprintf("by %s %s, %s cannot be told apart (%s)", what, against, modeNames(told), spread(told))
	case len(least) == len(told):
		text = fmt.Sprintf("by %s %s, %s cost about the same (%s, with intervals that overlap)", what, against, modeNames(told), spread(told))
	default:
		text = fmt.Sprintf("by %s %s, %s cost%s least (%s) and %s most (%s)", what, against, modeNames(least), third(least), spread(least), modeNames(most), spread(most))
	}
	if len(unsure) > 0 {
		text += "; " + doc.Note{About: modesOf(unsure)}.Names() + " cannot be told" + needs(unsure)
	}
	return text + "."
}

// capital begins a sentence with a capital letter, unless it begins with a name.
func capital(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	if strings.ContainsAny(first, "/-_") || first == "" {
		return s
	}
	return strings.TrimRight(strings.ToUpper(first[:1])+first[1:]+" "+rest, " ")
}

// near are the modes that cannot be told from one, in their order: those with a letter in
// common where both are ranked, else those whose intervals overlap.
func (t table) near(all []compared, of compared) []compared {
	return slices.DeleteFunc(slices.Clone(all), func(c compared) bool {
		if tied, known := t.tied(c.Mode.ID, of.Mode.ID); known {
			return !tied
		}
		return c.Cell.RatioCI[1] < of.Cell.RatioCI[0] || c.Cell.RatioCI[0] > of.Cell.RatioCI[1]
	})
}

func modeNames(of []compared) string {
	var ids []string
	for _, c := range of {
		ids = append(ids, c.Mode.ID)
	}
	return doc.Note{About: ids}.Names()
}

func third(of []compared) string {
	if len(of) == 1 {
		return "s"
	}
	return ""
}

// spread is the changes of modes: one, or from the first to the last.
func spread(of []compared) string {
	lo, _ := wording.Delta(of[0].Cell.Ratio, nil)
	hi, _ := wording.Delta(of[len(of)-1].Cell.Ratio, nil)
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

func modesOf(rows []row) []string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.Mode.ID)
	}
	return ids
}

// needs says what would tell modes from their baseline.
func needs(rows []row) string {
	most, unpaired, single := 0, false, len(rows) > 0
	few := map[string]bool{}
	for _, r := range rows {
		few[wording.TooFew(*r.Cell)] = true
		by, blocks := analysis.Settle(*r.Cell, r.Bounded, r.Noisy)
		if by == analysis.SettleBlocks && blocks > most {
			most, unpaired = blocks, r.Cell.Unpaired
		}
		single = single && r.Cell.N == 1
	}
	switch {
	case len(few) == 1 && !few[""]:
		for reason := range few {
			return " (indicative: " + reason + ")"
		}
		return ""
	case single:
		return " (one block gives no interval)"
	case most == 0:
		return ""
	case unpaired:
		return " (about " + more(most, "value", "values") + " of each needed)"
	}
	return " (about " + more(most, "block", "blocks") + " needed)"
}

// more is a number of further blocks or values.
func more(n int, one, many string) string {
	if n >= stats.MaxBlocksNeeded {
		return fmt.Sprintf("%d or more %s", n, many)
	}
	return wording.Count(n, "more "+one, "more "+many)
}

// alone words the only mode of a run by its main metrics.
func alone(mode, against string, columns []mainColumn) string {
	columns = slices.Clone(columns)
	slices.SortFunc(columns, func(x, y mainColumn) int { return x.rank - y.rank })
	var parts []string
	for _, c := range columns {
		r, ok := c.of(mode)
		if !ok || r.Cell == nil || r.Cell.Ratio == nil || c.load || len(parts) == 3 {
			continue
		}
		text, interval := wording.Delta(r.Cell.Ratio, r.Cell.RatioCI)
		what := shortTitle(c.Metric)
		if slices.ContainsFunc(columns, func(o mainColumn) bool { return o.name != c.name && o.Metric.Name == c.Metric.Name }) {
			what += " in " + c.name
		}
		text = what + " " + text
		switch r.Cell.Verdict {
		case result.CannotTell:
			if wording.TooFew(*r.Cell) == "" {
				text = what + " cannot be told"
			} else {
				text = strings.TrimRight(text+" "+interval, " ")
			}
			text += needs([]row{r})
		case result.Same, result.Small:
			text += ", within the margin"
		default:
			text = strings.TrimRight(text+" "+interval, " ")
		}
		parts = append(parts, text)
	}
	return mode + " " + against + ": " + strings.Join(parts, "; ")
}

// grouped are the warnings of a run, those with one code as one.
func grouped(run result.Run) []analysis.Grouped {
	modes := make([]string, len(run.Modes))
	for i, m := range run.Modes {
		modes[i] = m.ID
	}
	return analysis.Group(run.Warnings, modes...)
}

// biasNotes are the warnings that bias or void a comparison, the same warning of several
// modes as one note.
func biasNotes(run result.Run) []doc.Note {
	measured := 0
	for _, m := range run.Modes {
		if !unmeasured(m) {
			measured++
		}
	}
	var out []doc.Note
	for _, g := range grouped(run) {
		if g.Severity == warning.Bias {
			if len(g.Modes) > 1 && len(g.Modes) == measured {
				g.Modes = []string{"all modes"}
			}
			out = append(out, doc.Note{About: g.Modes, Text: g.Text})
		}
	}
	return out
}

// overviewSection is the first screen as the first section of a page.
func (b *builder) overviewSection() doc.Block {
	return doc.Section{ID: "answer", Head: doc.Heading{Text: "The answer"}, Nav: "Answer", Blocks: []doc.Block{b.overview(doc.Pages)}}
}
