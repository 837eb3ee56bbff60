package workloads

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/wording"
)

// besides are the secondary metrics on a terminal: value, ratio and the verdict's word.
func besides(tables []model.Table) []doc.Block {
	if len(tables) == 0 {
		return nil
	}
	g := doc.Grid{Apart: true}
	for _, r := range tables[0].Rows() {
		g.Least = max(g.Least, wording.Width(r.Mode.ID))
		if !model.Unmeasured(r.Mode) {
			g.Names = append(g.Names, r.Mode.ID)
		}
	}
	for _, t := range tables {
		c := doc.GridColumn{Head: columnHead(t), Uncut: true}
		width := 0
		for _, r := range t.Rows() {
			width = max(width, wording.Width(r.Bare(t)))
		}
		for _, r := range t.Rows() {
			if !model.Unmeasured(r.Mode) {
				c.Cells = append(c.Cells, summary(r, t, width))
			}
		}
		g.Columns = append(g.Columns, c)
	}
	out := []doc.Block{g}
	for _, text := range append(reasonsOf(tables), withNotes(tables)...) {
		out = append(out, doc.Paragraph{Text: text, Depth: 1})
	}
	return out
}

func columnHead(t model.Table) string {
	if t.Scale.Unit == "" || t.Scale.Unit == "segments" {
		return wording.Cut(t.Metric.Name, 30)
	}
	return wording.Cut(t.Metric.Name+", "+t.Scale.Unit, 30)
}

// summary is a row's value, its ratio and a word: "29.3  1.37 worse". The value is aligned to
// the right in so many columns.
func summary(r model.Row, t model.Table, width int) string {
	text := piece.Right(r.Bare(t), width)
	if r.Cell != nil && r.Cell.Unjudged != "" {
		return text + "  not judged"
	}
	// Without a ratio (a count of 0 has none) there is nothing to judge.
	if r.Cell == nil || r.Cell.Ratio == nil {
		return text
	}
	text += "  " + wording.BareRatio(*r.Cell.Ratio)
	if w := wording.Word(r.Cell.Verdict); r.Mode.Control && !r.Strange() {
		text += " A/A"
	} else if w != "" {
		text += " " + w
	}
	return text
}

// reasonsOf are the reasons why metrics have no verdict, each once.
func reasonsOf(tables []model.Table) []string {
	var out []string
	for _, t := range tables {
		for _, r := range t.Rows() {
			if r.Cell == nil || r.Cell.Unjudged == "" || model.Unmeasured(r.Mode) {
				continue
			}
			if text := t.Metric.Name + ": " + r.Cell.Unjudged; !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// withNotes are the remarks on the secondary metrics, grouped by text. Bands are only named;
// the full reports describe them.
func withNotes(tables []model.Table) []string {
	var out, banded []string
	for _, t := range tables {
		var texts []string
		modes := map[string][]string{}
		var split []string
		for _, r := range t.Rows() {
			if r.Cell == nil || model.Unmeasured(r.Mode) {
				continue
			}
			if r.Cell.Bands != nil {
				split = append(split, r.Mode.ID)
			}
			if l := r.Cell.Lossy; l != nil {
				text := wording.Lossy(l.Lossy, l.Trials, "trials")
				if !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
				modes[text] = append(modes[text], r.Mode.ID)
			}
		}
		for _, text := range texts {
			out = append(out, strings.Join(modes[text], ", ")+": "+text)
		}
		if len(split) > 0 {
			banded = append(banded, t.Metric.Name+" ("+strings.Join(split, ", ")+")")
		}
	}
	if len(banded) > 0 {
		out = append(out, "Trials in two bands, whose mean describes neither: "+strings.Join(banded, "; "))
	}
	return out
}
