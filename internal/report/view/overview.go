package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/warning"
	"tare/internal/wording"
)

// Overview returns the first screen of the report.
func (r Report) Overview() doc.Overview {
	b := newBuilder(r.view)
	o := b.firstScreen(doc.Terminal)
	o.Claims = b.claimsLine()
	return o
}

// markOf is the mark of a verdict on a terminal and in Markdown.
func markOf(tone chart.Tone) string { return chart.Signs()[tone] }

// overview is the first screen: every mode by the main metrics, as changes.
func (b *builder) overview(on doc.Media) doc.Overview {
	columns := b.mainColumns()
	o := withTies(b.changesOf(columns), columns)
	o.By, o.Title, o.Measured, o.Page, o.Command = "answer", b.Title, measuredIn(b.view), b.Page, b.Full
	o.Notes, o.Absent = overviewNotes(b.view), absentNotes(b.Run.Modes)
	o.Sentence = b.conclusion(familiesOf(b.Input), columns)
	if !slices.ContainsFunc(b.Modes, func(m result.Mode) bool { return strings.HasPrefix(o.Sentence, m.ID+" ") }) {
		o.Sentence = capital(o.Sentence)
	}
	if n := len(grouped(b.Run)) - len(biasNotes(b.Run)); n > 0 {
		o.Others = append(o.Others, wording.Count(n, "further warning", "further warnings"))
	}
	shown := 0
	o.Explanations = b.elsewhere(columns)
	if len(columns) > 0 && !columns[leading(columns)].load { // else they are the sentence
		o.Explanations = append(o.Explanations, b.kneeNotes()...)
	}
	if on == doc.Terminal { // a page has a section of them
		compared := b.comparisonNotes()
		o.Explanations, shown = append(o.Explanations, compared...), len(compared)
	} else { // a page has its notices at the top
		o.Notes = slices.DeleteFunc(o.Notes, func(n doc.Note) bool {
			return slices.ContainsFunc(b.Notices, func(top notice) bool { return top.Text == n.Text })
		})
	}
	if n := len(b.Comparisons) - shown; n > 0 {
		o.Others = append(o.Others, wording.Count(n, "comparison", "comparisons"))
	}
	return o
}

// changesOf is every mode by some metrics, as changes, with what explains them.
func (b *builder) changesOf(columns []mainColumn) doc.Overview {
	families := familiesOf(b.Input)
	o := doc.Overview{Head: overviewHead(families)}
	for _, c := range columns {
		o.Columns = append(o.Columns, doc.OverviewColumn{Workload: c.name, Metric: shortTitle(c.Metric), Rank: c.rank, To: b.anchorOf(c.table), Legend: c.timeLegend(c.Metric)})
	}
	for _, f := range families {
		g := doc.OverviewGroup{Name: f.heading(len(families))}
		for _, m := range f.modes {
			g.Rows = append(g.Rows, b.overviewRow(m, columns))
		}
		o.Groups = append(o.Groups, g)
	}
	o.Legend = overviewLegend(o, b.Run.Cells)
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

// overviewLegend explains the marks that the table has.
func overviewLegend(o doc.Overview, cells []result.Cell) []string {
	seen := map[string]bool{}
	var sender bool
	for _, g := range o.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				seen[c.Mark] = true
				sender = sender || c.Change == "(sender limit)"
			}
		}
	}
	unsure := "cannot tell"
	if few := slices.ContainsFunc(cells, func(c result.Cell) bool { return wording.TooFew(c) != "" }); few {
		unsure += " (fewer than three blocks or values)"
	} else if slices.ContainsFunc(cells, func(c result.Cell) bool {
		return c.Verdict == result.CannotTell && c.RatioCI != nil && (c.RatioCI[0] > 1 || c.RatioCI[1] < 1)
	}) {
		unsure += " (an interval without 0: several modes are compared, so more is needed)"
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
	out := noEngine(v.Run.Modes)
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

// noEngine says that a run without a mode of an engine measured only the kernel's part of what it names.
func noEngine(modes []result.Mode) []doc.Note {
	var like []string
	for _, m := range modes {
		switch {
		case m.Like != "":
			if !slices.Contains(like, m.Like) {
				like = append(like, m.Like)
			}
		case m.Baseline != "" && !m.Control && !strings.HasPrefix(cmp.Or(m.Mode, m.ID), "netns/"):
			return nil
		}
	}
	if len(like) == 0 {
		return nil
	}
	return []doc.Note{{Text: "namespaces, not Docker: an engine adds to these; measure it: sudo tare run --modes host," + strings.Join(like, ",")}}
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
	return doc.Section{ID: "answer", Head: doc.Heading{Text: "The answer"}, Nav: "Answer", Blocks: []doc.Block{b.firstScreen(doc.Pages)}}
}

// firstScreen is the answer: of a run that explains a mode, what its parts cost, otherwise every mode by the main metrics.
func (b *builder) firstScreen(on doc.Media) doc.Overview {
	if b.Run.Ladder != nil {
		return b.ladderOverview(on == doc.Terminal)
	}
	return b.overview(on)
}
