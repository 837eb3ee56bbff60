package answer

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// compared is a mode's row in the leading column.
type compared struct {
	model.Row
	cost float64 // ratio to the baseline, so turned that more is worse
}

// conclusion is the answer for the run as a whole, a sentence for each of its first workloads.
func conclusion(b *model.Builder, families []model.Family, columns []mainColumn) string {
	v, prefix := b.View, b.ConclusionPrefix()
	if v.TrialCounts.OK == 0 && len(v.Run.Cells) == 0 {
		return strings.Replace(prefix, "; of these: ", ": ", 1) + "no trial is valid, so there are no results."
	}
	if v.Run.Noisy != "" {
		return prefix + "the run is too noisy to judge: " + strings.TrimRight(v.Run.Noisy, ".") + "."
	}
	if empty := analysis.Empty(v.Run); empty != "" && v.Run.Source == "" {
		if v.Run.Status == result.RunComplete {
			prefix = "The run failed: "
		}
		return strings.Replace(prefix, "; of these: ", ": ", 1) + empty + "."
	}
	if len(columns) == 0 {
		return prefix + "no workload gave a value."
	}
	at := leading(columns)
	if knees := kneeNotes(b); len(knees) > 0 && columns[at].load { // only sweeps: no ratio of losses says where a mode begins to lose
		var texts []string
		for _, n := range knees {
			texts = append(texts, n.String()+".")
		}
		return prefix + strings.Join(texts, " ")
	}
	against := overviewHead(families)
	text, ranked := ranking(columns[at], columns, against, true)
	text = withTieSentences(columns[at].Table, text)
	sentences := 1
	for i, c := range columns {
		if !ranked || i == at || !c.Metric.Primary || sentences == mostSentences {
			continue
		}
		if next, ranked := ranking(c, columns, against, false); ranked {
			sentences++
			text += " " + piece.Capital(next)
		}
	}
	return prefix + text
}

// leading is the index of the column of the first sentence: the highest in rank in which a mode is compared, else the highest.
func leading(columns []mainColumn) int {
	at := slices.IndexFunc(columns, func(c mainColumn) bool { return c.rank == 0 })
	if columns[at].compares() {
		return at
	}
	for i, c := range columns {
		if c.compares() && c.Metric.Primary && (!columns[at].compares() || c.rank < columns[at].rank) {
			at = i
		}
	}
	return at
}

// compares reports whether a mode has a value of the column beside its baseline's.
func (c mainColumn) compares() bool {
	return slices.ContainsFunc(c.Rows(), func(r model.Row) bool {
		return !r.Baseline && !r.Mode.Control && !model.Unmeasured(r.Mode) && r.Cell != nil && r.Cell.Baseline != ""
	})
}

// mostSentences is how many workloads the answer ranks the modes by.
const mostSentences = 3

// ranking says by a column which modes cost least and most. ranked is false if there are not several to say it of: the
// text is then about all columns. Only the first sentence of an answer names what the modes are compared with.
func ranking(lead mainColumn, columns []mainColumn, against string, first bool) (text string, ranked bool) {
	what := piece.ShortTitle(lead.Metric)
	if slices.ContainsFunc(columns, func(o mainColumn) bool { return o.name != lead.name && o.Metric.Name == lead.Metric.Name }) {
		what += " in " + lead.name
	}
	by := "by " + what
	if against == "" {
		against = "against its baseline"
	}
	if first {
		by += " " + against
	}
	var told []compared
	var unsure []model.Row
	rows := 0
	for _, r := range lead.Rows() {
		if r.Baseline || r.Mode.Control || model.Unmeasured(r.Mode) || r.Cell == nil || r.Cell.Baseline == "" {
			continue
		}
		rows++
		if ci := r.Cell.RatioCI; !piece.Finite(r.Cell.Ratio) || ci == nil || !(ci[0] <= ci[1]) || r.Cell.Verdict == result.CannotTell || r.Cell.Verdict == "" {
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
		return "no mode is compared with a baseline.", false
	case len(told) == 0 && rows == 1 && wording.TooFew(*unsure[0].Cell) != "":
		return alone(unsure[0].Mode.ID, against, columns) + ".", false
	case len(told) == 0:
		return what + " cannot be told from " + strings.TrimPrefix(against, "against ") + " for " + doc.Note{About: modesOf(unsure)}.Names() + needs(unsure) + ".", first
	case rows == 1:
		return alone(told[0].Mode.ID, against, columns) + ".", false
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
	least, most := near(lead.Table, told, told[0]), near(lead.Table, told, told[len(told)-1])
	slices.Reverse(most)
	switch {
	case !slices.ContainsFunc(told, func(c compared) bool { return c.Cell.Verdict != result.Same && c.Cell.Verdict != result.Small }):
		text = fmt.Sprintf("no mode differs from %s by more than the margin of %s in %s", strings.TrimPrefix(against, "against "), wording.Percent(told[0].Cell.Margin), what)
	case len(told) == 1:
		text = by + ", " + modeNames(told) + " costs " + lead.spread(told)
	case len(least) == len(told) && len(lead.Ties) > 0:
		text = fmt.Sprintf("%s, %s cannot be told apart (%s)", by, modeNames(told), lead.spread(told))
	case len(least) == len(told):
		text = fmt.Sprintf("%s, %s cost about the same (%s, with intervals that overlap)", by, modeNames(told), lead.spread(told))
	default:
		text = fmt.Sprintf("%s, %s cost%s least (%s) and %s most (%s)", by, modeNames(least), third(least), lead.spread(least), modeNames(most), lead.spread(most))
	}
	if len(unsure) > 0 {
		text += "; " + doc.Note{About: modesOf(unsure)}.Names() + " cannot be told" + needs(unsure)
	}
	return text + ".", true
}

// near are the modes that cannot be told from one, in their order: those with a letter in
// common where both are ranked, else those whose intervals overlap.
func near(t model.Table, all []compared, of compared) []compared {
	return slices.DeleteFunc(slices.Clone(all), func(c compared) bool {
		if tied, known := t.Tied(c.Mode.ID, of.Mode.ID); known {
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
func (c mainColumn) spread(of []compared) string {
	lo, hi := c.told(of[0].Cell), c.told(of[len(of)-1].Cell)
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

func modesOf(rows []model.Row) []string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.Mode.ID)
	}
	return ids
}

// needs says what would tell modes from their baseline.
func needs(rows []model.Row) string {
	most, unpaired, single := 0, false, len(rows) > 0
	few := map[string]bool{}
	for _, r := range rows {
		few[wording.TooFew(*r.Cell)] = true
		by, blocks := verdict.Settle(*r.Cell, r.Bounded, r.Noisy)
		if by == verdict.SettleBlocks && blocks > most {
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
		return " (about " + piece.More(most, "value", "values") + " of each needed)"
	}
	return " (about " + piece.More(most, "block", "blocks") + " needed)"
}

// alone words the only mode of a run by its main metrics.
func alone(mode, against string, columns []mainColumn) string {
	columns = slices.Clone(columns)
	slices.SortFunc(columns, func(x, y mainColumn) int { return x.rank - y.rank })
	var parts []string
	for _, c := range columns {
		r, ok := c.Of(mode)
		if !ok || r.Cell == nil || r.Cell.Ratio == nil || c.load || len(parts) == 3 {
			continue
		}
		d := c.delta(r.Cell)
		text, interval := d.Change, d.Interval
		what := piece.ShortTitle(c.Metric)
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
			text += needs([]model.Row{r})
		case result.Same, result.Small:
			text += ", within the margin"
		default:
			text = strings.TrimRight(text+" "+interval, " ")
			if d.Time != "" {
				text += ", " + d.Time
			}
		}
		parts = append(parts, text)
	}
	return mode + " " + against + ": " + strings.Join(parts, "; ")
}
