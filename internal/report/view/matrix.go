package view

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/wording"
	"tare/internal/result"
)

// matrix is every mode by every main metric, with its verdict. A sweep has its own table; a
// metric without a value has no column.
func (b *builder) matrix() []doc.Block {
	m := doc.Matrix{By: "matrix", Caption: "Every mode by its main metrics"}
	var columns []table
	add := func(id string, tables []table) {
		n := 0
		for _, t := range tables {
			if t.Metric.Detail || strings.HasSuffix(t.Metric.Name, "_p999") || !t.worthAColumn() {
				continue // the far tail has a chart of its own
			}
			n++
			columns = append(columns, t)
			m.Columns = append(m.Columns, doc.MatrixColumn{Title: t.Metric.Title, Unit: t.unit(), To: b.anchorOf(t)})
		}
		if n > 0 {
			m.Works = append(m.Works, doc.MatrixWork{Name: id, N: n})
		}
	}
	for _, w := range b.Workloads {
		if !b.swept(w.ID) {
			add(w.ID, w.Tables)
		}
	}
	if p := b.Evidence.Pass; p != nil {
		add("at a fixed rate", p.costTables())
	}
	if len(columns) == 0 {
		return nil
	}
	for _, g := range columns[0].Groups {
		group := doc.MatrixGroup{Head: g.Heading}
		for _, r := range g.Rows {
			group.Rows = append(group.Rows, r.acrossMetrics(columns))
		}
		m.Groups = append(m.Groups, group)
	}
	return []doc.Block{doc.Section{ID: "matrix", Head: doc.Heading{Text: "All modes, all main metrics"}, Nav: "All modes", Blocks: []doc.Block{m}}}
}

// worthAColumn reports whether a table has any value other than 0, or trials without a value.
func (t table) worthAColumn() bool {
	for _, r := range t.rows() {
		if r.Cell != nil && r.Cell.Value != nil && (*r.Cell.Value != 0 || r.Cell.Ratio != nil) {
			return true
		}
		if r.Cell == nil && !unmeasured(r.Mode) && len(r.Trials) > 0 {
			return true
		}
	}
	return false
}

// acrossMetrics is a mode in the matrix.
func (r row) acrossMetrics(columns []table) doc.MatrixRow {
	out := doc.MatrixRow{Mode: r.Mode.ID, Group: r.No}
	if unmeasured(r.Mode) {
		out.Out = wording.Cut(fate(r.Mode), longReason)
		return out
	}
	for _, c := range columns {
		own, ok := c.of(r.Mode.ID)
		if !ok {
			out.Cells = append(out.Cells, doc.MatrixCell{Tone: chart.Plain, Text: wording.Unknown})
			continue
		}
		out.Cells = append(out.Cells, own.inMatrix(c.Scale))
	}
	return out
}

// inMatrix is a row of a table as one cell.
func (r row) inMatrix(s wording.Scale) doc.MatrixCell {
	c := doc.MatrixCell{Tone: r.tone(), Text: wording.Unknown}
	if r.Cell == nil {
		c.Words = wording.Cut(r.unjudged(), 60)
		if len(r.Trials) > 0 {
			c.Tone = chart.Absent
		}
		return c
	}
	text := r.value(s)
	if r.Cell.Ratio != nil {
		text = r.ratio()
	}
	c.Text, c.CI, _ = strings.Cut(text, " (")
	c.CI = strings.TrimSuffix(c.CI, ")")
	switch {
	case r.Baseline && r.Cell.Verdict == "":
		c.Words = "baseline"
	case r.Mode.Control:
		c.Words = "A/A control"
	case r.Cell.Verdict == result.Same && r.Cell.Margin > 0:
		c.Words = "same within " + wording.Percent(r.Cell.Margin)
	case r.Cell.Verdict == result.Small && r.Cell.Margin > 0:
		c.Words = "less than " + wording.Percent(r.Cell.Margin)
	case r.Cell.Verdict == result.CannotTell && r.Cell.BlocksNeeded != nil && *r.Cell.BlocksNeeded > 0 && !r.Noisy && !r.Cell.AtLeast:
		c.Words = "cannot tell: about " + wording.Count(*r.Cell.BlocksNeeded, "more block", "more blocks")
	case r.Cell.Ratio == nil && r.Cell.Verdict == result.CannotTell:
		c.Words = "cannot tell"
	default:
		c.Words = wording.Word(r.Cell.Verdict)
	}
	return c
}
