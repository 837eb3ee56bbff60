package view

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// tiesHead heads a column of letters, and tiesMeaning explains it.
const (
	tiesHead    = "ties"
	tiesMeaning = "Modes with a common letter cannot be told apart"
)

// mostTies is how many sets of tied modes a sentence names.
const mostTies = 4

// tie is a mode's place in one of the rankings of a table.
type tie struct {
	ranking int
	letters string
}

// rankingIndex has the rankings of a run by workload and metric.
type rankingIndex map[[2]string][]result.Ranking

func rankingsOf(run result.Run) rankingIndex {
	x := rankingIndex{}
	for _, r := range run.Rankings {
		k := [2]string{r.Workload, r.Metric}
		x[k] = append(x[k], r)
	}
	return x
}

// cleanRanking is a ranking without the modes that were not measured, and with letters only
// where letters belong, each mode with each of them once.
func cleanRanking(r result.Ranking, unfit map[string]bool) result.Ranking {
	r.Modes = fit(r.Modes, unfit, func(m result.Ranked) string { return m.Mode })
	for i := range r.Modes {
		var letters []byte
		for _, l := range []byte(r.Modes[i].Letters) {
			if ('a' <= l && l <= 'z' || 'A' <= l && l <= 'Z') && !slices.Contains(letters, l) {
				letters = append(letters, l)
			}
		}
		r.Modes[i].Letters = string(letters)
	}
	r.Unranked = slices.DeleteFunc(slices.Clone(r.Unranked), func(m result.Unranked) bool { return m.Mode == "" })
	return r
}

// tiesOf are the modes that have letters; nil if none has.
func tiesOf(rankings []result.Ranking) map[string]tie {
	var out map[string]tie
	for i, r := range rankings {
		for _, m := range r.Modes {
			if m.Letters == "" {
				continue
			}
			if out == nil {
				out = map[string]tie{}
			}
			out[m.Mode] = tie{i, m.Letters}
		}
	}
	return out
}

// tied says whether two modes of one ranking have a letter in common. known is false if they
// are in none together.
func (t table) tied(a, b string) (tied, known bool) {
	x, y := t.ties[a], t.ties[b]
	known = x.letters != "" && y.letters != "" && x.ranking == y.ranking
	return known && (a == b || strings.ContainsAny(x.letters, y.letters)), known
}

// letters are a mode's letters, or the sign of an unknown value.
func (t table) letters(mode string) string {
	if l := t.ties[mode].letters; l != "" {
		return l
	}
	return wording.Unknown
}

// withLetters adds the column of letters behind the values, where there are any.
func (t table) withLetters(out doc.Table) doc.Table {
	if len(t.ties) == 0 {
		return out
	}
	const at = 2
	out.Headed = true
	out.Columns = slices.Insert(out.Columns, at, doc.Column{Head: capital(tiesHead), Plain: tiesHead, Title: tiesMeaning})
	for _, g := range out.Groups {
		for i, r := range g.Rows {
			g.Rows[i].Cells = slices.Insert(r.Cells, at, doc.Cell{Text: t.letters(r.Cells[0].Text)})
		}
	}
	return out
}

// tieNotes say below a table which of its modes cannot be told apart, and which are not
// ranked. Of a metric that is not its workload's main one they say nothing without letters.
func (t table) tieNotes() (out []string) {
	if len(t.ties) == 0 && !t.Metric.Primary {
		return nil
	}
	for _, r := range t.Rankings {
		out = append(out, t.tieText(r))
		out = append(out, unrankedNotes(r)...)
	}
	if len(t.ties) > 0 {
		pairs := "all pairs"
		if len(t.Rankings) > 1 {
			pairs += " with one baseline"
		}
		out = append(out, tiesMeaning+"; "+pairs+" are compared, with Holm's correction.")
	}
	return out
}

// tieSentence says which modes of a ranking cannot be told apart.
func tieSentence(r result.Ranking) string {
	sets := tiedSets(r.Modes)
	switch {
	case r.Reason != "" || len(r.Modes) == 0:
		return "the modes are not ranked: " + strings.TrimRight(orUnknown(r.Reason), ".") + "."
	case !slices.ContainsFunc(r.Modes, func(m result.Ranked) bool { return m.Letters != "" }):
		return "the ties between the " + wording.Count(len(r.Modes), "mode", "modes") + " take more letters than there are."
	case len(sets) == 0:
		return fmt.Sprintf("all %d modes can be told apart.", len(r.Modes))
	}
	var names []string
	for _, s := range sets[:min(len(sets), mostTies)] {
		names = append(names, doc.Note{About: s}.Names())
	}
	text := names[0] + " cannot be told apart"
	for _, n := range names[1:] {
		text += "; neither can " + n
	}
	if n := len(sets) - len(names); n > 0 {
		text += "; the column of letters has " + wording.Count(n, "more set", "more sets")
	}
	return text + "."
}

// withTieSentences adds to the answer by a table which modes cannot be told apart, where the
// answer does not say it of all of them.
func (t table) withTieSentences(answer string) string {
	if strings.Contains(answer, "cannot be told apart") {
		return answer
	}
	for _, r := range t.Rankings {
		if len(tiedSets(r.Modes)) > 0 {
			answer += " " + t.tieText(r)
		}
	}
	return answer
}

// tieText is the sentence about a ranking. A capital begins it unless a mode's name does.
func (t table) tieText(r result.Ranking) string {
	text := t.amongst(r) + tieSentence(r)
	if slices.ContainsFunc(r.Modes, func(m result.Ranked) bool {
		return strings.HasPrefix(text, m.Mode+" ") || strings.HasPrefix(text, m.Mode+", ")
	}) {
		return text
	}
	return capital(text)
}

// amongst names the modes of a ranking where the table has several baselines.
func (t table) amongst(r result.Ranking) string {
	if len(t.Groups) > 1 && r.Baseline != "" {
		return "of the modes compared with " + r.Baseline + ", "
	}
	return ""
}

// tiedSets are the modes of each letter that several have, in the order of the ranking.
func tiedSets(modes []result.Ranked) (out [][]string) {
	var order []rune
	sets := map[rune][]string{}
	for _, m := range modes {
		for _, l := range m.Letters {
			if sets[l] == nil {
				order = append(order, l)
			}
			sets[l] = append(sets[l], m.Mode)
		}
	}
	for _, l := range order {
		if len(sets[l]) > 1 {
			out = append(out, sets[l])
		}
	}
	return out
}

// unrankedNotes say which modes are in no ranking, those with the same reason together.
func unrankedNotes(r result.Ranking) (out []string) {
	var notes []doc.Note
	for _, m := range r.Unranked {
		i := slices.IndexFunc(notes, func(n doc.Note) bool { return n.Text == m.Reason })
		if i < 0 {
			i = len(notes)
			notes = append(notes, doc.Note{Text: m.Reason})
		}
		notes[i].About = append(notes[i].About, m.Mode)
	}
	if r.Reason != "" && len(notes) == 1 && strings.HasSuffix(r.Reason, notes[0].Text) {
		return nil // it is the reason of all
	}
	for _, n := range notes {
		verb := " is"
		if len(n.About) > 1 {
			verb = " are"
		}
		out = append(out, n.Names()+verb+" not ranked: "+strings.TrimRight(n.Text, ".")+".")
	}
	return out
}

// withTies adds the letters of the leading column behind it, and what they say to the answer.
func withTies(o doc.Overview, columns []mainColumn) doc.Overview {
	at := slices.IndexFunc(columns, func(c mainColumn) bool { return c.rank == 0 })
	if at < 0 || len(columns[at].ties) == 0 {
		return o
	}
	lead := columns[at]
	column := doc.OverviewColumn{Workload: lead.name, Metric: tiesHead, Rank: len(columns), Legend: tiesHead + ": modes with a common letter cannot be told apart"}
	o.Columns = slices.Insert(o.Columns, at+1, column)
	for _, g := range o.Groups {
		for i, r := range g.Rows {
			if r.Out == "" {
				cell := doc.OverviewCell{Tone: chart.Plain, Change: lead.letters(r.Mode)}
				g.Rows[i].Cells = slices.Insert(r.Cells, at+1, cell)
			}
		}
	}
	return o
}
