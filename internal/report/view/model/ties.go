package model

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// TiesHead heads a column of letters, and tiesMeaning explains it.
const (
	TiesHead    = "ties"
	TiesMeaning = "Modes with a common letter cannot be told apart"
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

// TiesOf are the modes that have letters; nil if none has.
func TiesOf(rankings []result.Ranking) map[string]tie {
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

// Tied says whether two modes of one ranking have a letter in common. known is false if they
// are in none together.
func (t Table) Tied(a, b string) (tied, known bool) {
	x, y := t.Ties[a], t.Ties[b]
	known = x.letters != "" && y.letters != "" && x.ranking == y.ranking
	return known && (a == b || strings.ContainsAny(x.letters, y.letters)), known
}

// Letters are a mode's letters, or the sign of an unknown value.
func (t Table) Letters(mode string) string {
	if l := t.Ties[mode].letters; l != "" {
		return l
	}
	return wording.Unknown
}

// TieNotes say below a table which of its modes cannot be told apart, and which are not
// ranked. Of a metric that is not its workload's main one they say nothing without letters.
func (t Table) TieNotes() (out []string) {
	if len(t.Ties) == 0 && !t.Metric.Primary {
		return nil
	}
	for _, r := range t.Rankings {
		out = append(out, t.TieText(r))
		out = append(out, UnrankedNotes(r)...)
	}
	if len(t.Ties) > 0 {
		pairs := "all pairs"
		if len(t.Rankings) > 1 {
			pairs += " with one baseline"
		}
		out = append(out, TiesMeaning+"; "+pairs+" are compared, with Holm's correction.")
	}
	return out
}

// tieSentence says which modes of a ranking cannot be told apart.
func tieSentence(r result.Ranking) string {
	sets := TiedSets(r.Modes)
	switch {
	case r.Reason != "" || len(r.Modes) == 0:
		return "the modes are not ranked: " + strings.TrimRight(piece.OrUnknown(r.Reason), ".") + "."
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

// TieText is the sentence about a ranking. A capital begins it unless a mode's name does.
func (t Table) TieText(r result.Ranking) string {
	text := t.amongst(r) + tieSentence(r)
	if slices.ContainsFunc(r.Modes, func(m result.Ranked) bool {
		return strings.HasPrefix(text, m.Mode+" ") || strings.HasPrefix(text, m.Mode+", ")
	}) {
		return text
	}
	return piece.Capital(text)
}

// amongst names the modes of a ranking where the table has several baselines.
func (t Table) amongst(r result.Ranking) string {
	if len(t.Groups) > 1 && r.Baseline != "" {
		return "of the modes compared with " + r.Baseline + ", "
	}
	return ""
}

// TiedSets are the modes of each letter that several have, in the order of the ranking.
func TiedSets(modes []result.Ranked) (out [][]string) {
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

// UnrankedNotes say which modes are in no ranking, those with the same reason together.
func UnrankedNotes(r result.Ranking) (out []string) {
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
