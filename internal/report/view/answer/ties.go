package answer

import (
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
)

// withTieSentences adds to the answer by a table which modes cannot be told apart, where the
// answer does not say it of all of them.
func withTieSentences(t model.Table, answer string) string {
	if strings.Contains(answer, "cannot be told apart") {
		return answer
	}
	for _, r := range t.Rankings {
		if len(model.TiedSets(r.Modes)) > 0 {
			answer += " " + t.TieText(r)
		}
	}
	return answer
}

// withTies adds the letters of the leading column behind it, and what they say to the answer.
func withTies(o doc.Overview, columns []mainColumn) doc.Overview {
	at := slices.IndexFunc(columns, func(c mainColumn) bool { return c.rank == 0 })
	if at < 0 || len(columns[at].Ties) == 0 {
		return o
	}
	lead := columns[at]
	column := doc.OverviewColumn{Workload: lead.name, Metric: model.TiesHead, Rank: len(columns), Legend: model.TiesHead + ": modes with a common letter cannot be told apart"}
	o.Columns = slices.Insert(o.Columns, at+1, column)
	for _, g := range o.Groups {
		for i, r := range g.Rows {
			if r.Out == "" {
				cell := doc.OverviewCell{Tone: chart.Plain, Change: lead.Letters(r.Mode)}
				g.Rows[i].Cells = slices.Insert(r.Cells, at+1, cell)
			}
		}
	}
	return o
}
